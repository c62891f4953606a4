//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba"
)

// roleVariable makes this program the example.
const roleVariable = "SIMBA_EXAMPLE_TASK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(roleVariable); dir != "" {
		if err := takePart(dir); err != nil {
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

func start(t *testing.T, dir string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 1000)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+dir)
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
	t.Cleanup(func() { _, _ = p.end(syscall.SIGKILL) })
	p.until("process ")
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

// count waits for a line that ends with a number.
func (p *process) count(prefix string) int {
	p.t.Helper()
	n, err := strconv.Atoi(p.until(prefix))
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// end sends a signal, waits for the end, and returns what was said last.
func (p *process) end(s syscall.Signal) (last string, err error) {
	_ = p.cmd.Process.Signal(s)
	for last = range p.lines { // before Wait
		p.t.Logf("%d: %s", p.cmd.Process.Pid, last)
	}
	return last, p.cmd.Wait()
}

// One process ends as asked, and the next one goes on where it has stopped. Another one is
// killed, and what it has sent for certain is not sent again.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	if n := first.count("goes on after "); n != 0 {
		t.Errorf("the first one goes on after %d", n)
	}
	sent := first.count("has sent ")
	second := start(t, dir)
	last, err := first.end(syscall.SIGTERM)
	if err != nil {
		t.Errorf("the first process ends with %v", err)
	}
	n := second.count("goes on after ")
	stopped, inOrder := strings.CutSuffix(last, ": "+simba.ErrHandover.Error())
	if inOrder && stopped != fmt.Sprint("stops after ", n) {
		t.Errorf("the second one goes on after %d, and the first one has said: %s", n, last)
	}
	if n < sent { // also if the machine was so slow that the first one had lost its term
		t.Errorf("the second one goes on after %d, and %d were sent", n, sent)
	}
	sent = second.count("has sent ")
	third := start(t, dir)
	_, _ = second.end(syscall.SIGKILL)
	if n := third.count("goes on after "); n < sent {
		t.Errorf("the third one goes on after %d, and %d were sent", n, sent)
	}
	third.count("has sent ")
	if _, err := third.end(syscall.SIGTERM); err != nil {
		t.Errorf("the third process ends with %v", err)
	}
}
