//go:build linux || darwin

package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	roleVar      = "CHILD_TEST_ROLE"
	roleParent   = "parent"
	remainingVar = "CHILD_TEST_REMAINING"
	outputVar    = "CHILD_TEST_OUTPUT"
	quickExit    = "GORACE=atexit_sleep_ms=0" // the race detector would wait a second for late reports
)

// parentMain is a program that runs its arguments as a command, with descriptor 3 as its output if told so.
func parentMain() {
	cfg := Config{Args: os.Args[1:], Grace: time.Hour}
	if d, err := time.ParseDuration(os.Getenv(remainingVar)); err == nil {
		cfg.Remaining = func() time.Duration { return d }
	}
	if os.Getenv(outputVar) != "" {
		cfg.Stdout = os.NewFile(3, "output")
	}
	p, err := Start(context.Background(), cfg)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started", p.PID(), p.group.id, os.Getpid())
	exit, err := p.Wait()
	fmt.Println("exit", exit.Code, exit.Interrupted, err)
}

// parent is a running parentMain.
type parent struct {
	t   *testing.T
	cmd *exec.Cmd
	log *reader // what parentMain says
	out *reader // what its command says; ends when command, descendants, guard and parentMain are gone
}

func startParent(t *testing.T, env, script string) *parent {
	t.Helper()
	log, logEnd := newPipe(t)
	out, outEnd := newPipe(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), roleVar+"="+roleParent, outputVar+"=3", quickExit, env)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = logEnd, os.Stderr, []*os.File{outEnd}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	logEnd.Close()
	outEnd.Close()
	p := &parent{t: t, cmd: cmd, log: log, out: out}
	t.Cleanup(p.kill)
	return p
}

func (p *parent) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// started waits until the command runs, and returns its process id and that of its guard.
func (p *parent) started() (command, guard int) {
	p.t.Helper()
	line := p.log.line()
	if _, err := fmt.Sscanf(line, "started %d %d", &command, &guard); err != nil {
		p.t.Fatalf("%q: %v", line, err)
	}
	return command, guard
}

func (p *parent) signal(pid int, sig syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		p.t.Fatal(err)
	}
}

// stopped says whether a process is stopped, as by SIGSTOP.
func stopped(pid int) bool {
	pgid, _ := syscall.Getpgid(pid)
	for _, p := range groupProcs(pgid) {
		if p.pid == pid {
			return p.stopped
		}
	}
	return false
}

func TestParentKilled(t *testing.T) {
	p := startParent(t, "", stubborn)
	p.started()
	p.out.expect("ready")
	p.out.silent()
	p.kill()
	p.out.gone()
}

// What asks the group to end, us or the terminal, reaches the guard as well. It stays.
func TestParentKilledAfterGroupWasAsked(t *testing.T) {
	p := startParent(t, "", stubborn)
	_, guard := p.started()
	p.out.expect("ready")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p.signal(-guard, sig)
	}
	p.kill()
	p.out.gone()
}

// Wherever the parent is when it dies, nothing stays.
func TestParentKilledWhileStarting(t *testing.T) {
	for i := range 30 {
		p := startParent(t, "", stubborn)
		time.Sleep(time.Duration(i) * 2 * time.Millisecond) // not to wait for anything: any moment must do
		p.kill()
		if said := p.out.gone(); strings.TrimSpace(said) != "" && said != "ready\n" {
			t.Fatal(said)
		}
	}
}

// The group is stopped, its guard too, when the parent dies. The system continues a group that it orphans.
func TestParentKilledWhileGroupIsStopped(t *testing.T) {
	p := startParent(t, "", stubborn)
	command, guard := p.started()
	p.out.expect("ready")
	p.signal(-guard, syscall.SIGSTOP)
	eventually(t, "the command stops", func() bool { return stopped(command) })
	p.kill()
	p.out.gone()
}

// A parent that is frozen cannot end the command in time. The guard does.
func TestParentFrozen(t *testing.T) {
	t.Parallel()
	p := startParent(t, remainingVar+"=4s", stubborn)
	command, guard := p.started()
	p.out.expect("ready")
	p.signal(p.cmd.Process.Pid, syscall.SIGSTOP)
	eventually(t, "the guard ends the group", func() bool { return len(groupProcs(guard)) == 0 })
	p.out.silent() // the parent holds it, still frozen
	p.signal(p.cmd.Process.Pid, syscall.SIGCONT)
	p.log.expect("exit 137 false <nil>")
	p.out.gone()
	if err := syscall.Kill(command, 0); err != syscall.ESRCH {
		t.Errorf("command: %v", err)
	}
}
