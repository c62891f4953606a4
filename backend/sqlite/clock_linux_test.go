package sqlite

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestBoottimeShift(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"monotonic           0         0\nboottime            0         0\n", 0},
		{"monotonic         -30         0\nboottime         1000       500\n", 1000*time.Second + 500},
		{"monotonic           5         0\nboottime           -1 999999999\n", -1},
		{"1         7         0\n7        -7         0\n", -7 * time.Second},
	} {
		if got, err := boottimeShift(c.text); err != nil || got != c.want {
			t.Errorf("%q: got %v, %v in place of %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "monotonic 0 0\n", "boottime x 0\n", "boottime 0\n"} {
		if got, err := boottimeShift(text); err == nil {
			t.Errorf("%q: got %v and no error", text, got)
		}
	}
}

// In a container whose clock is shifted, deadlines mean the same.
func TestTimeNamespace(t *testing.T) {
	unshare := []string{"unshare", "--user", "--map-root-user", "--time", "--boottime", "1000000", "--fork", "--kill-child"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("this system makes no time namespace: %v: %s", err, out)
	}
	s := fresh(t, system())
	session := s.session(time.Minute)
	s.win(session, "name")

	cmd := command(s.path, "name", "1m")
	cmd.Args = append(unshare, cmd.Args...)
	cmd.Path, _ = exec.LookPath("unshare")
	inside := startCommand(t, "hold", cmd)
	line := inside.hear()
	left, err := time.ParseDuration(strings.TrimPrefix(line, "held for "))
	if err != nil || left <= 0 || left > time.Minute {
		t.Errorf("inside the namespace: %q", line)
	}
	s.renew(session)
}
