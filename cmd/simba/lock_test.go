//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestLockExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for script, want := range map[string]int{
		"exit 0":        0,
		"exit 7":        7,
		"kill -USR2 $$": 128 + 12,
		"kill -9 $$":    128 + 9,
		"exec /dev/nul": 127, // not simba's business, but the shell's
	} {
		p := w.start("lock", "x", "--", "sh", "-c", script)
		p.exits(want)
	}
	if !w.vacant("x") {
		t.Error("the lock was not released")
	}
}

func TestCommandIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "the.name", "--", "sh", "-c", `echo $SIMBA_NAME; echo $SIMBA_TOKEN; echo $SIMBA_SESSION; read line; cat; echo "$1" >&2`, "sh", "an argument")
		p.expect("the.name")
		token, session := p.line(), p.line()
		h := w.status("the.name")
		if fmt.Sprint(h.Token) != token || h.Session != session || h.Holder == "" {
			t.Errorf("CMD has token %s and session %s, and the status is %+v", token, session, h)
		}
		p.say("")
		p.say("stdin")
		p.in.Close()
		if got := p.rest(); got != "stdin\n" {
			t.Errorf("stdin and stdout: got %q", got)
		}
		p.exits(0)
		if got := p.stderr.String(); got != "an argument" {
			t.Errorf("stderr: got %q", got)
		}
	}
}

func TestLockNotAcquired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.start("lock", "x", "--id", "the holder", "--", "sh", "-c", patient)
	holder.begins()
	for _, timeout := range []string{"0", "300ms"} {
		p := w.start("lock", "x", "--timeout", timeout, "--", "sh", "-c", "echo ran")
		p.exits(75)
		if got := p.rest(); got != "" {
			t.Errorf("CMD has run: %q", got)
		}
		says := p.stderr.String()
		if !strings.HasPrefix(says, "simba: ") || !strings.Contains(says, `held by "the holder"`) || strings.Contains(says, "\n") {
			t.Errorf("--timeout %s: got %q", timeout, says)
		}
	}
	other := w.start("lock", "y", "--timeout", "0", "--", "true")
	other.exits(0)
	holder.say("0")
	holder.exits(0)
}

// A timeout bounds the wait, and not CMD.
func TestLockTimeoutIsOverWhenAcquired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("lock", "x", "--timeout", "30s", "--", "sh", "-c", obedient)
	p.begins()
	p.signal(syscall.SIGTERM)
	p.expect("asked")
	p.exits(3)
}

func TestLockWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("lock", "x", "--", "sh", "-c", patient)
	token := first.begins()
	second := w.start("lock", "x", "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"`)
	first.say("4")
	first.exits(4)
	if next := second.begins(); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	second.exits(0)
}

// Many processes increment a number in a plain file. Nothing is lost, and everybody
// gets their turn.
func TestLockCounts(t *testing.T) {
	const processes, rounds = 16, 3
	const longest = "4m" // who wins next is left to chance, so a wait may be much longer than a turn
	w := newWorld(t)
	if err := os.WriteFile(w.path("counter"), []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Reading and writing takes several processes, so that an overlap would show.
	const script = `n=$(cat counter); sleep 0.002; echo $((n + 1)) >counter`
	var all sync.WaitGroup
	waits := make([]time.Duration, processes)
	for i := range processes {
		all.Go(func() {
			for range rounds {
				begin := time.Now()
				cmd := exec.Command(binary, "lock", "counter", "--timeout", longest, "--", "sh", "-c", script)
				cmd.Env, cmd.Dir = w.env, w.home
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("process %d: %v: %s", i, err, out)
					return
				}
				waits[i] = max(waits[i], time.Since(begin))
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(filepath.Join(w.home, "counter"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(text)); got != strconv.Itoa(processes*rounds) {
		t.Errorf("the counter is %s, want %d", got, processes*rounds)
	}
	t.Logf("the longest waits: %v", waits)
}

// A stand-by says today that it could not do the work, and not when it is needed.
func TestMissingCommandIsNoticedEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.start("lock", "x", "--", "sh", "-c", patient)
	holder.begins()
	for _, command := range []string{"lock", "run"} {
		standby := w.start(command, "x", "--", "no-such-command")
		standby.exits(127)
	}
	holder.say("0")
	holder.exits(0)
}

// A store that nobody else can see is good for trying a command out, and simba says
// so.
func TestLockInMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		code, stdout, stderr := w.run(command, "x", "--backend", "memory:", "--", "echo", "ran")
		if code != 0 || stdout != "ran\n" || !strings.Contains(stderr, "memory: is private to this process") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", command, code, stdout, stderr)
		}
	}
}
