package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// within returns a command that runs this test binary in namespaces of its own, in
// which a script may mount what it likes. Nothing of that is seen outside.
func within(tb testing.TB, script string, args ...any) *exec.Cmd {
	tb.Helper()
	unshare := []string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "mount -t tmpfs tmpfs /tmp")...).CombinedOutput(); err != nil {
		tb.Skipf("this system mounts nothing in a namespace: %v: %s", err, out)
	}
	cmd := command(args...)
	cmd.Args = append(append(unshare, script+` && exec "$0" "$@"`), cmd.Args...)
	cmd.Path, _ = exec.LookPath("unshare")
	return cmd
}

func init() {
	roles["open"] = openRole
	roles["fill"] = fillRole
}

// openRole: PATH. It opens a store and a session, and says "ok" or what is wrong.
func openRole(p *player) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	s, err := open(ctx, p.args[0], system())
	if err == nil {
		defer s.Close()
		_, err = s.Open(ctx, time.Hour, "label")
	}
	if err != nil {
		p.say(errors.Is(err, ErrReadOnly), err)
	} else {
		p.say("ok")
	}
	return nil
}

// What may not be written is an error when the store is opened, and not only when
// something is wanted of it.
func TestReadOnly(t *testing.T) {
	const readOnly = "mount --bind %[1]s %[1]s && mount -o remount,bind,ro %[1]s"
	for _, c := range []struct {
		name         string
		file, folder os.FileMode
		mounted      bool // read-only
		create       bool // a file beside the one that is there
		want         string
	}{
		{"mount", 0o600, 0o700, true, false, "true simba: sqlite: "},
		{"mount of a new file", 0o600, 0o700, true, true, "false simba: sqlite: "},
		{"file", 0o400, 0o700, false, false, "true simba: sqlite: "},
		{"folder", 0o600, 0o500, false, false, "true simba: sqlite: "},
		{"folder of a new file", 0o600, 0o500, false, true, "false simba: sqlite: "},
		{"nothing", 0o600, 0o700, false, false, "ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fresh(t, system())
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			path, folder := s.path, filepath.Dir(s.path)
			if c.create {
				path += ".new"
			}
			if err := errors.Join(os.Chmod(s.path, c.file), os.Chmod(folder, c.folder)); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(folder, 0o700)
			// In a user namespace that does not map it, root may do what the bits of
			// the mode say, and no more.
			cmd := command(path)
			cmd.Args = append([]string{"unshare", "--user"}, cmd.Args...)
			cmd.Path, _ = exec.LookPath("unshare")
			if c.mounted {
				cmd = within(t, fmt.Sprintf(readOnly, folder), path)
			}
			line := startCommand(t, "open", cmd).hear()
			if !strings.HasPrefix(line, c.want) || c.want != "ok" && !strings.Contains(line, "writable") {
				t.Errorf("got %q", line)
			}
			if _, err := os.Stat(path + "-wal"); c.want != "ok" && err == nil {
				t.Error("it left a file behind that nobody may write")
			}
		})
	}
}

// fillRole: FOLDER. It fills the file system, and looks what is left when there is
// space again.
func fillRole(p *player) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	ballast := filepath.Join(p.args[0], "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	s, err := open(ctx, filepath.Join(p.args[0], "leases.db"), system())
	if err != nil {
		return err
	}
	defer s.Close()
	grant, err := s.Open(ctx, time.Hour, "label")
	if err != nil {
		return err
	}
	var owned []backend.Lease
	take := func() error {
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprintf("%0*d", backend.MaxName, len(owned)+i)
		}
		outcomes, err := s.Acquire(ctx, grant.Session, names, true)
		for _, o := range outcomes {
			owned = append(owned, backend.Lease{Name: o.Name, Token: o.Token})
		}
		return err
	}
	for err == nil {
		err = take()
	}
	if !errors.Is(err, ErrFull) {
		return fmt.Errorf("on a full disk: %w", err)
	}
	p.say("full after", len(owned))
	if err := os.Remove(ballast); err != nil {
		return err
	}
	r, err := s.Renew(ctx, grant.Session, 0, true)
	if err != nil {
		return err
	}
	slices.SortFunc(r.Leases, func(a, b backend.Lease) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(r.Leases, owned) {
		return fmt.Errorf("there are %d leases in place of %d", len(r.Leases), len(owned))
	}
	if err := take(); err != nil {
		return err
	}
	p.say("ok")
	return nil
}

// On a full disk calls fail, nothing is lost, and all goes on when there is space
// again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	p := startCommand(t, "fill", within(t, "mount -t tmpfs -o size=4m tmpfs "+dir, dir))
	t.Log(p.hear())
	p.expect("ok")
}

// A file that is mounted alone has nothing in common with the same file elsewhere
// but its contents.
func TestMountedAlone(t *testing.T) {
	s := fresh(t, system())
	target := filepath.Join(t.TempDir(), "with a blank.db")
	script := fmt.Sprintf("touch '%[2]s' && mount --bind %[1]s '%[2]s'", s.path, target)
	line := startCommand(t, "open", within(t, script, target)).hear()
	if !strings.Contains(line, "mount its folder") {
		t.Errorf("got %q", line)
	}
}

// The file systems of this machine's disks are none that others may use.
func TestLocalFileSystem(t *testing.T) {
	for _, folder := range []string{t.TempDir(), "/dev/shm", "/"} {
		if kind, err := network(folder); err != nil || kind != "" {
			t.Errorf("%s is on %q: %v", folder, kind, err)
		}
	}
	if _, err := network(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
