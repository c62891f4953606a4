//go:build linux || darwin

package child

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// A group is the process group of a command, with its guard as leader.
//
// The group's id is the guard's process id. The system gives neither number to anyone else before the guard is reaped,
// which close does last. So a signal to the group never hits a stranger, whatever in it has ended, the guard included.
type group struct {
	id      int
	guard   *exec.Cmd
	leash   *os.File // the guard ends the group when this closes, and learns the deadline through it
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the command itself has been reaped
	gone    chan struct{} // closed when the guard is gone
	expired bool          // why it is gone: time was up. Written before gone is closed.
	tty     *terminal     // nil unless the command has the terminal
}

// startGroup starts a guard, then cmd inside the guard's group.
//
// There is no moment at which this process can die and leave the command behind. The command's process is created with a
// copy of the leash's end that disappears when it starts the command's program, after it has joined the group. So the
// guard cannot see the leash closed before the group is complete.
func startGroup(ctx context.Context, cmd *exec.Cmd, remaining func() time.Duration) (*group, error) {
	g := &group{cmd: cmd, exited: make(chan struct{}), gone: make(chan struct{})}
	if err := g.startGuard(ctx); err != nil {
		return nil, err
	}
	if remaining != nil && g.extend(remaining) <= 0 {
		g.close(Exit{})
		return nil, errors.New("simba: no time left to run the command in")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	dieWithParent(cmd.SysProcAttr)
	switch tty, background := terminalOf(cmd.Stdin.(*os.File), g.id); {
	case background:
		cmd.Stdin = nil
	case tty != nil:
		g.tty = tty
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, tty.fd
	}
	if err := g.startCommand(); err != nil {
		g.close(Exit{})
		return nil, startError(cmd.Args[0], err)
	}
	if g.tty != nil {
		g.tty.lend(g.commandStopped)
	}
	return g, nil
}

// startCommand starts the command on a thread that stays until the command is gone. On Linux the parent-death signal is
// sent when the THREAD that created the command ends, and Go ends threads when it likes, unless one is locked to a
// goroutine. (That the parent dies before the signal is set up is covered by package syscall, which then ends the child.)
func (g *group) startCommand() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := g.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = g.cmd.Wait() // how it ended is in ProcessState
		close(g.exited)
	}()
	return <-started
}

// startGuard starts the guard and waits until it is ready.
func (g *group) startGuard(ctx context.Context) error {
	guards, leash, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("simba: cannot start the guard of the command: %w", err)
	}
	defer guards.Close()
	answers, out, err := os.Pipe()
	if err != nil {
		leash.Close()
		return fmt.Errorf("simba: cannot start the guard of the command: %w", err)
	}
	defer out.Close()

	g.guard = &exec.Cmd{
		Path: ownExecutable(), Args: []string{guardName, guardArg, strconv.Itoa(os.Getpid())},
		Dir: "/", Stdin: guards, Stdout: out, Stderr: out,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := g.guard.Start(); err != nil {
		leash.Close()
		answers.Close()
		return fmt.Errorf("simba: cannot start the guard of the command: %w", err)
	}
	g.id, g.leash = g.guard.Process.Pid, leash
	out.Close() // ours would keep answers from ending

	if err := awaitReady(ctx, answers); err != nil {
		answers.Close()
		close(g.gone)
		g.close(Exit{})
		return err
	}
	go g.listen(answers)
	return nil
}

// awaitReady reads the guard's first answer.
func awaitReady(ctx context.Context, answers *os.File) error {
	unblock := context.AfterFunc(ctx, func() { answers.SetReadDeadline(time.Unix(1, 0)) })
	defer unblock()
	var first [1]byte
	_, err := io.ReadFull(answers, first[:])
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("simba: gave up starting the guard of the command: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("simba: the guard of the command ended before it was ready: %w", err)
	case first[0] != guardReady:
		said, _ := io.ReadAll(io.LimitReader(answers, 500))
		return fmt.Errorf("simba: the guard of the command did not become ready, it said: %s%s", first[:], said)
	}
	return nil
}

// listen waits for the guard's last word, or for its end without one.
func (g *group) listen(answers *os.File) {
	defer close(g.gone)
	defer answers.Close()
	last := make([]byte, 1)
	n, _ := answers.Read(last)
	g.expired = n == 1 && last[0] == guardExpired
}

// extend asks how long the group may still run, tells the guard, and returns the answer.
func (g *group) extend(remaining func() time.Duration) time.Duration {
	// The clock comes first: should this process be stopped between the two lines, the deadline is early, never late.
	now := sleepAwareNow()
	left := remaining()
	order := binary.NativeEndian.AppendUint64(nil, uint64(now+int64(left)))
	// A guard that is stopped does not read. It must not stop us too, and it does not let the group run longer: it kills
	// it as soon as it continues.
	g.leash.SetWriteDeadline(time.Now().Add(minFeed))
	g.leash.Write(order) // a guard that is gone is noticed by listen
	return left
}

// terminate asks everything in the group to end. What is stopped continues, so that it can.
func (g *group) terminate() {
	g.signal(syscall.SIGTERM)
	g.signal(syscall.SIGCONT)
}

func (g *group) kill() { g.signal(syscall.SIGKILL) }

func (g *group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.id, sig) // fails only when nothing in the group is ours to signal: live tells
	// The command may have left the group, like an interactive shell. It must not get the signal twice, though: many
	// programs give up their orderly end at the second SIGTERM.
	pid := g.cmd.Process.Pid
	if pgid, err := syscall.Getpgid(pid); err == nil && pgid != g.id {
		_ = g.cmd.Process.Signal(sig) // never a stranger who got the pid: the os package knows that it was reaped
	}
}

// live returns what is left in the group, apart from the guard.
func (g *group) live() []int {
	var pids []int
	for _, p := range groupProcs(g.id) {
		if p.pid != g.id {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func (g *group) commandStopped() bool {
	for _, p := range groupProcs(g.id) {
		if p.pid == g.cmd.Process.Pid {
			return p.stopped
		}
	}
	return false
}

func (g *group) foreground() bool { return g.tty != nil }

// close ends whatever is left of the group, the guard last, and gives back what it held.
func (g *group) close(exit Exit) {
	if g.tty != nil {
		g.tty.takeBack(exit.Signal != 0)
	}
	_ = syscall.Kill(-g.id, syscall.SIGKILL)
	g.leash.Close()
	<-g.gone
	_ = g.guard.Wait()
}
