//go:build linux || darwin

package child

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal is our controlling terminal while the group of a command is, or is about to be, in its foreground.
type terminal struct {
	fd    int
	own   int           // our process group
	group int           // the command's
	modes *unix.Termios // as they were before
	end   chan struct{}
	jobs  sync.WaitGroup
}

// terminalOf returns the terminal that a command with this stdin should get, if any, and whether stdin is our controlling
// terminal but we are in its background.
func terminalOf(stdin *os.File, group int) (t *terminal, background bool) {
	fd := int(stdin.Fd())
	front, err := foregroundOf(fd)
	if err != nil {
		return nil, false // not a terminal, or not the one that controls us: reading it stops nobody
	}
	if front != syscall.Getpgrp() {
		return nil, true
	}
	modes, _ := unix.IoctlGetTermios(fd, getModes)
	return &terminal{fd: fd, own: front, group: group, modes: modes, end: make(chan struct{})}, false
}

func foregroundOf(fd int) (pgid int, err error) {
	return unix.IoctlGetInt(fd, unix.TIOCGPGRP)
}

// lend notes that the command is in the foreground now.
func (t *terminal) lend(stopped func() bool) {
	// We are in the background now. Neither writing our log (stty tostop) nor taking the terminal back may stop us.
	// Not earlier: the command would inherit it.
	signal.Ignore(syscall.SIGTTOU)
	t.jobs.Go(func() { t.control(stopped) })
}

// takeBack ends what lend began. The modes are restored after a command that could not do so itself.
func (t *terminal) takeBack(broken bool) {
	close(t.end)
	t.jobs.Wait()
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	if !t.move(t.group, t.own) {
		return
	}
	if broken && t.modes != nil {
		_ = unix.IoctlSetTermios(t.fd, setModes, t.modes)
	}
}

// move puts one group into the foreground in place of another. It does nothing when a third one is there, such as the
// shell's: it is not ours to push away.
func (t *terminal) move(from, to int) bool {
	front, err := foregroundOf(t.fd)
	if err != nil || front != from {
		return false
	}
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, to) == nil
}

// control suspends us when the terminal suspends the command: the shell waits for us and cannot see the command, so with
// only the command stopped nobody could use the terminal any more.
func (t *terminal) control(stopped func() bool) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	for {
		if stopped() {
			t.suspend()
		}
		select {
		case <-t.end:
			return
		case <-children:
		}
	}
}

// suspend stops our own group, the way ^Z does, and lets the command continue when somebody continues us.
func (t *terminal) suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	// We may have the terminal already: the command stopped in the background, and then somebody typed fg.
	if front, _ := foregroundOf(t.fd); front != t.own {
		t.move(t.group, t.own)
		_ = syscall.Kill(0, syscall.SIGTSTP)
		select {
		case <-continued:
		case <-t.end:
		case <-time.After(100 * time.Millisecond):
			// The system does not stop a group that no shell could continue. Then the command just goes on.
		}
	}
	t.move(t.own, t.group) // not after bg: the shell has the terminal
	_ = syscall.Kill(-t.group, syscall.SIGCONT)
}
