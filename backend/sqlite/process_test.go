package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// Tests need other processes, to stop and to kill. Those are this test binary once
// more, which plays a role. It reads commands from its input, line by line, and
// reports by lines on its output; the end of its input ends it.
const roleVariable = "SIMBA_SQLITE_TEST_ROLE"

type player struct {
	in   *bufio.Scanner
	args []string
}

var roles = map[string]func(p *player) error{
	"lock":    lockRole,
	"hold":    holdRole,
	"first":   firstRole,
	"count":   countRole,
	"traffic": trafficRole,
}

func play(role string) int {
	p := &player{in: bufio.NewScanner(os.Stdin), args: os.Args[1:]}
	if err := roles[role](p); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		return 1
	}
	return 0
}

func (p *player) say(words ...any) { fmt.Println(words...) }

// await reads a command; "" is the end of the input.
func (p *player) await() string {
	p.in.Scan()
	return p.in.Text()
}

func (p *player) duration(i int) time.Duration {
	d, err := time.ParseDuration(p.args[i])
	if err != nil {
		panic(err)
	}
	return d
}

func (p *player) number(i int) int {
	n, err := strconv.Atoi(p.args[i])
	if err != nil {
		panic(err)
	}
	return n
}

// process is another process, seen from the test.
type process struct {
	tb    testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	errs  strings.Builder
	once  sync.Once
	err   error
}

// start starts a process that is gone when the test ends.
func start(tb testing.TB, role string, args ...any) *process {
	tb.Helper()
	return startCommand(tb, role, command(args...))
}

// command is this test binary with the arguments.
func command(args ...any) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	for _, arg := range args {
		cmd.Args = append(cmd.Args, fmt.Sprint(arg))
	}
	return cmd
}

func startCommand(tb testing.TB, role string, cmd *exec.Cmd) *process {
	tb.Helper()
	p := &process{tb: tb, cmd: cmd, lines: make(chan string, 1000)}
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = &p.errs
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	tb.Cleanup(func() {
		p.in.Close()
		cmd.Process.Kill()
		p.wait()
	})
	return p
}

// hear waits for the next line.
func (p *process) hear() string {
	p.tb.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.tb.Fatalf("the process ended: %v: %s", p.wait(), p.errs.String())
		}
		return line
	case <-time.After(bound):
		p.tb.Fatalf("the process says nothing; so far: %s", p.errs.String())
	}
	return ""
}

// expect waits for a certain line.
func (p *process) expect(line string) {
	p.tb.Helper()
	if got := p.hear(); got != line {
		p.tb.Fatalf("the process says %q in place of %q", got, line)
	}
}

func (p *process) tell(line string) {
	p.tb.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.tb.Fatal(err)
	}
}

// wait waits for the end.
func (p *process) wait() error {
	p.once.Do(func() {
		for range p.lines { // what is left must be read before Wait
		}
		p.err = p.cmd.Wait()
	})
	return p.err
}

func (p *process) kill() {
	p.tb.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.tb.Fatal(err)
	}
	p.wait()
}

// lockRole: PATH. It begins a transaction and stays in it.
func lockRole(p *player) error {
	c, err := dial(p.args[0], "rw")
	if err != nil {
		return err
	}
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	p.say("locked")
	p.await()
	return c.close()
}

// holdRole: PATH NAME LEASE. It acquires a name and says the token; on "release",
// it releases it.
func holdRole(p *player) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	s, err := open(ctx, p.args[0], system())
	if err != nil {
		return err
	}
	defer s.Close()
	grant, err := s.Open(ctx, p.duration(2), "holder")
	if err != nil {
		return err
	}
	outcomes, err := s.Acquire(ctx, grant.Session, p.args[1:2], false)
	if err != nil {
		return err
	}
	o := outcomes[0]
	if !o.Won {
		p.say("held for", o.Holder.Remaining)
	} else {
		p.say("token", o.Token)
	}
	for p.await() == "release" {
		if err := s.Release(ctx, grant.Session, []backend.Lease{{Name: o.Name, Token: o.Token}}); err != nil {
			return err
		}
		p.say("released")
	}
	return nil
}

// firstRole: PATH NAME. On command it opens the store, which may not exist yet, and
// acquires a name.
func firstRole(p *player) error {
	p.say("ready")
	p.await()
	return holdRole(&player{in: p.in, args: append(p.args, "1m")})
}
