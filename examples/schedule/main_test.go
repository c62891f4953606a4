//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVariable makes this program the example.
const roleVariable = "SIMBA_EXAMPLE_SCHEDULE"

func TestMain(m *testing.M) {
	if path := os.Getenv(roleVariable); path != "" {
		if err := takePart(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// process is one that takes part.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // closed at the end of its output
}

func start(t *testing.T, path string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 1000)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+path)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

// until waits for a line that begins so, and returns the rest of it.
func (p *process) until(prefix string) string {
	p.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("process %d has ended without %q", p.cmd.Process.Pid, prefix)
			}
			p.t.Logf("%d: %s", p.cmd.Process.Pid, line)
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return rest
			}
		case <-late:
			p.t.Fatalf("process %d does not say %q", p.cmd.Process.Pid, prefix)
		}
	}
}

// tick waits for the next run.
func (p *process) tick() time.Time {
	p.t.Helper()
	tick, err := time.Parse(time.RFC3339Nano, p.until("run for "))
	if err != nil {
		p.t.Fatal(err)
	}
	return tick
}

// end sends a signal, and waits for the end.
func (p *process) end(s syscall.Signal) error {
	_ = p.cmd.Process.Signal(s)
	for line := range p.lines { // before Wait
		p.t.Logf("%d: %s", p.cmd.Process.Pid, line)
	}
	return p.cmd.Wait()
}

// One process is killed during a run, and another one ends as asked. Whoever goes on
// repeats no tick, and keeps the rhythm.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	first := start(t, path)
	ticks := []time.Time{first.tick(), first.tick()}
	_ = first.end(syscall.SIGKILL)

	second := start(t, path)
	ticks = append(ticks, second.tick(), second.tick())
	third := start(t, path)
	third.until("process ")
	if err := second.end(syscall.SIGTERM); err != nil {
		t.Errorf("the second process ends with %v", err)
	}
	ticks = append(ticks, third.tick())
	if err := third.end(syscall.SIGTERM); err != nil {
		t.Errorf("the third process ends with %v", err)
	}
	for i, tick := range ticks[1:] {
		if passed := tick.Sub(ticks[i]); passed <= 0 || passed%interval != 0 {
			t.Errorf("after the tick %v comes %v", ticks[i], tick)
		}
	}
}
