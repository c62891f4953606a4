package fencefile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Other processes are this test binary once more, which plays a role.
const roleVariable = "SIMBA_FENCEFILE_TEST_ROLE"

// bound is for what happens soon, or never.
const bound = 30 * time.Second

var roles = map[string]func(path string) error{
	"journal": func(path string) error { return journal(path, uint64(os.Getpid()), 20) },
	"hold":    hold,
}

func play(role string) int {
	if err := roles[role](os.Args[1]); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// hold writes under the guard once it is told to.
func hold(path string) error {
	return New(path).Do(context.Background(), 5, func(context.Context) error {
		fmt.Println("inside")
		bufio.NewScanner(os.Stdin).Scan()
		return os.WriteFile(path, []byte("old"), 0o600)
	})
}

// process is another process.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, role, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	// Nothing here waits for ever: a process that hangs is killed, and its output ends.
	timer := time.AfterFunc(bound, func() { cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	return &process{cmd, in, bufio.NewScanner(out)}
}

// hear returns the next line, "" at the end.
func (p *process) hear() string {
	p.out.Scan()
	return p.out.Text()
}

// end waits until it has ended by itself, and returns what it said.
func (p *process) end(t *testing.T) string {
	t.Helper()
	said := p.hear()
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return said
}

// Processes keep the order too.
func TestProcesses(t *testing.T) {
	path := t.TempDir() + "/journal"
	var all []*process
	for range 3 {
		all = append(all, start(t, "journal", path))
	}
	for _, p := range all {
		p.end(t)
	}
	checkJournal(t, path)
}

// A process that is killed within the guard leaves it free.
func TestKilledWithin(t *testing.T) {
	path := t.TempDir() + "/f"
	p := start(t, "hold", path)
	if got := p.hear(); got != "inside" {
		t.Fatalf("it says %q", got)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := New(path).WriteFile(ctx, 6, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if read(t, path) != "new" {
		t.Errorf("the file says %q", read(t, path))
	}
}
