//go:build linux || darwin

package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// bound is how long a test waits for what must happen before it gives up. No test depends on it being short.
const bound = 30 * time.Second

func TestMain(m *testing.M) {
	RunGuard()
	if os.Getenv(roleVar) == roleParent {
		parentMain()
		return
	}
	// Also if the tests were started by nohup, which ignores it, and what is ignored is inherited.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	goleak.VerifyTestMain(m)
}

// reader reads what the processes that hold the other end of a pipe write, line by line. Its end means that all of them
// are gone.
type reader struct {
	t *testing.T
	f *os.File
	b *bufio.Reader
}

func newPipe(t *testing.T) (*reader, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return &reader{t: t, f: r, b: bufio.NewReader(r)}, w
}

func (r *reader) line() string {
	r.t.Helper()
	r.f.SetReadDeadline(time.Now().Add(bound))
	line, err := r.b.ReadString('\n')
	if err != nil {
		r.t.Fatalf("no line after %q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (r *reader) expect(want string) {
	r.t.Helper()
	if got := r.line(); got != want {
		r.t.Fatalf("got line %q, want %q", got, want)
	}
}

// gone waits until nobody can write any more, and returns what was still written.
func (r *reader) gone() string {
	r.t.Helper()
	r.f.SetReadDeadline(time.Now().Add(bound))
	rest, err := io.ReadAll(r.b)
	if err != nil {
		r.t.Fatalf("somebody still lives: %v", err)
	}
	return string(rest)
}

// silent checks that there is no end in sight: somebody lives and has nothing to say.
func (r *reader) silent() {
	r.t.Helper()
	r.f.SetReadDeadline(time.Now())
	if b, err := r.b.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		r.t.Fatalf("got %q, %v, want nothing yet", b, err)
	}
}

// start starts a shell script whose output, and that of all it starts, the reader gets. Reading its input blocks, unless
// cfg says otherwise.
func start(t *testing.T, cfg Config, script string) (*Process, *reader) {
	t.Helper()
	out, w := newPipe(t)
	if cfg.Stdin == nil {
		in, _ := newPipe(t)
		cfg.Stdin = in.f
	}
	cfg.Args, cfg.Stdout = []string{"/bin/sh", "-c", script}, w
	p, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { stopNow(p) })
	return p, out
}

func stopNow(p *Process) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	p.Stop(now)
}

func wait(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(bound):
		t.Fatal("the command does not end")
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func TestExit(t *testing.T) {
	for script, want := range map[string]Exit{
		"exit 0":             {},
		"exit 1":             {Code: 1},
		"exit 75":            {Code: 75},
		"exit 255":           {Code: 255},
		"kill -TERM $$":      {Code: 143, Signal: syscall.SIGTERM},
		"kill -KILL $$":      {Code: 137, Signal: syscall.SIGKILL},
		"kill -INT $$":       {Code: 130, Signal: syscall.SIGINT}, // not Interrupted: it has no terminal
		"sleep 100 & exit 4": {Code: 4},
	} {
		t.Run(script, func(t *testing.T) {
			p, _ := start(t, Config{Grace: time.Hour}, script)
			if got := wait(t, p); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	folder := t.TempDir()
	file := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, says string
		code       int
		is         error
	}{
		{"no-such-command-anywhere", "not found in PATH", 127, exec.ErrNotFound},
		{filepath.Join(folder, "absent"), "no such file", 127, fs.ErrNotExist},
		{folder, "it is a folder", 126, syscall.EISDIR},
		{file("plain", 0o644, "#!/bin/sh\n"), "executable bit", 126, fs.ErrPermission},
		{file("lost", 0o755, "#!/no/such/interpreter\n"), "interpreter", 126, fs.ErrNotExist},
		{file("text", 0o755, "just text\n"), "#!", 126, syscall.ENOEXEC},
	} {
		t.Run(c.says, func(t *testing.T) {
			_, err := Start(t.Context(), Config{Args: []string{c.name}})
			var start *StartError
			if !errors.As(err, &start) {
				t.Fatalf("got %v, want a StartError", err)
			}
			if start.Code != c.code || !errors.Is(err, c.is) {
				t.Errorf("got code %d and %v, want %d and %v", start.Code, start.Err, c.code, c.is)
			}
			for _, part := range []string{"simba: ", strconv.Quote(c.name), c.says} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestStartRefuses(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(t.Context())
	why := errors.New("changed my mind")
	cancel(why)
	sh := []string{"/bin/sh", "-c", "exit 0"}
	for name, c := range map[string]struct {
		ctx  context.Context
		cfg  Config
		says string
	}{
		"no command":     {t.Context(), Config{}, "no command"},
		"empty command":  {t.Context(), Config{Args: []string{""}}, "no command"},
		"negative grace": {t.Context(), Config{Args: sh, Grace: -time.Second}, "-1s"},
		"no time left":   {t.Context(), Config{Args: sh, Remaining: func() time.Duration { return 0 }}, "no time left"},
		"cancelled":      {cancelled, Config{Args: sh}, why.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Start(c.ctx, c.cfg); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error that says %q", err, c.says)
			}
		})
	}
}

func TestEnvironmentAndStreams(t *testing.T) {
	t.Setenv("SIMBA_NAME", "overridden")
	t.Setenv("INHERITED", "yes")
	in, typed := newPipe(t)
	out, w := newPipe(t)
	errs, e := newPipe(t)
	p, err := Start(t.Context(), Config{
		Args: []string{"sh", "-c", `read line; echo "$line $SIMBA_NAME $SIMBA_TOKEN $INHERITED $1"; echo bad >&2`, "sh", "arg"},
		Env:  []string{"SIMBA_NAME=billing", "SIMBA_TOKEN=7"}, Stdin: in.f, Stdout: w, Stderr: e,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	e.Close()
	fmt.Fprintln(typed, "hello")
	out.expect("hello billing 7 yes arg")
	errs.expect("bad")
	if exit := wait(t, p); exit.Code != 0 {
		t.Error(exit)
	}
}

func TestOwnProcessGroup(t *testing.T) {
	p, out := start(t, Config{}, "echo ready; read never")
	out.expect("ready")
	pgid, err := syscall.Getpgid(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	if pgid == syscall.Getpgrp() || pgid != p.group.id {
		t.Errorf("the command is in group %d, we are in %d, its guard in %d", pgid, syscall.Getpgrp(), p.group.id)
	}
}
