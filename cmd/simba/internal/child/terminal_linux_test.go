package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// console is a person in front of a terminal on which a shell runs.
type console struct {
	t    *testing.T
	pty  *os.File
	seen bytes.Buffer
}

// newConsole opens a terminal and starts a program there, which leads the session. $PARENT runs parentMain.
func newConsole(t *testing.T, args ...string) *console {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pty.Close() })
	fd := rawFd(t, pty)
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PS1=", "ENV=", "PARENT="+exe, roleVar+"="+roleParent, quickExit)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &console{t: t, pty: pty}
}

// rawFd returns the descriptor of a file that stays in the poller, which Fd would take it from.
func rawFd(t *testing.T, f *os.File) (fd int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(n uintptr) { fd = int(n) })
	return fd
}

func (c *console) typed(keys string) {
	c.t.Helper()
	if _, err := c.pty.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// shows waits until the terminal has shown a text, and forgets what it showed up to there.
func (c *console) shows(text string) {
	c.t.Helper()
	c.until(text)
}

// started waits until parentMain says that its command runs, and returns parentMain's process id. It forgets only that
// line: the command may have spoken first.
func (c *console) started() (parent int) {
	c.t.Helper()
	before := c.until("started ")
	line := c.until("\r\n")
	after := c.seen.String()
	c.seen.Reset()
	c.seen.WriteString(before + after)
	if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &parent); err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	return parent
}

// until is shows, and returns what was shown before the text.
func (c *console) until(text string) string {
	c.t.Helper()
	c.pty.SetReadDeadline(time.Now().Add(bound))
	buf := make([]byte, 1024)
	for {
		if before, after, found := strings.Cut(c.seen.String(), text); found {
			c.seen.Reset()
			c.seen.WriteString(after)
			return before
		}
		n, err := c.pty.Read(buf)
		c.seen.Write(buf[:n])
		if err != nil && !errors.Is(err, syscall.EINTR) {
			c.t.Fatalf("the terminal does not show %q but %q: %v", text, &c.seen, err)
		}
	}
}

// The sums tell what programs answer from what the terminal echoes.
const asks = `'echo ready $((0+0)); read a; echo got $a $((1+1)); read b; echo got $b $((2+2))'`

func TestTerminalIsTheCommands(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-i")
	c.typed("$PARENT sh -c " + asks + "\n")
	c.shows("ready 0")
	c.typed("one\n")
	c.shows("got one 2")
	c.typed("two\n")
	c.shows("got two 4")
	c.shows("exit 0 false <nil>")
	c.typed("echo shell $((3+3))\n")
	c.shows("shell 6")
}

func TestSuspendAndContinue(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-i")
	c.typed("$PARENT sh -c " + asks + "\n")
	parent := c.started()
	c.shows("ready 0")
	c.typed("one\n")
	c.shows("got one 2")
	c.typed("\x1a")
	eventually(t, "we stop too", func() bool { return stopped(parent) })
	c.typed("echo shell $((3+3))\n")
	c.shows("shell 6")
	c.typed("fg\n")
	c.typed("two\n")
	c.shows("got two 4")
	c.shows("exit 0 false <nil>")
}

// Continued in the background, the command does not get the terminal, and a read of it suspends both again.
func TestSuspendAndContinueInBackground(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-i")
	c.typed("$PARENT sh -c " + asks + "\n")
	parent := c.started()
	c.shows("ready 0")
	c.typed("\x1a")
	eventually(t, "we stop too", func() bool { return stopped(parent) })
	c.typed("bg; echo shell $((3+3))\n")
	c.shows("shell 6")
	eventually(t, "we stop too", func() bool { return stopped(parent) })
	c.typed("echo shell $((4+4))\n")
	c.shows("shell 8")
	c.typed("fg\n")
	c.typed("one\n")
	c.shows("got one 2")
	c.typed("two\n")
	c.shows("got two 4")
	c.shows("exit 0 false <nil>")
}

// Without a shell that could continue us nothing is suspended.
func TestSuspendWithoutJobControl(t *testing.T) {
	c := newConsole(t, os.Args[0], "sh", "-c", strings.Trim(asks, "'"))
	c.shows("ready 0")
	c.typed("\x1a")
	c.typed("one\n")
	c.shows("got one 2")
	c.typed("two\n")
	c.shows("got two 4")
}

func TestInterrupted(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-i")
	c.typed("$PARENT sh -c " + asks + "\n")
	c.shows("ready 0")
	c.typed("\x03")
	c.shows("exit 130 true <nil>")
}

// A shell script does not take the terminal back as an interactive shell does.
func TestTerminalIsGivenBack(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-c", `$PARENT sh -c 'read a; echo got $a $((1+1))'; read b; echo script $b $((2+2))`)
	c.shows("started")
	c.typed("one\n")
	c.shows("got one 2")
	c.shows("exit 0")
	c.typed("two\n")
	c.shows("script two 4")
}

func TestTerminalIsGivenBackWhenTheCommandCannotStart(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-c", `$PARENT /proc/version; $PARENT "$0"; read b; echo script $b $((2+2))`, textFile(t))
	c.shows("cannot be executed")
	c.shows("cannot be executed")
	c.typed("two\n")
	c.shows("script two 4")
}

// textFile is something that only execve finds out not to be a program.
func textFile(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/text"
	if err := os.WriteFile(path, []byte("just text\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A command that is killed cannot put the terminal's modes back.
func TestTerminalModesAreRestored(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-c", `$PARENT sh -c 'read a; stty raw -echo; kill -9 $$'; read b; echo script $b $((2+2))`)
	c.shows("started")
	before, err := unix.IoctlGetTermios(rawFd(t, c.pty), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	c.typed("one\n")
	c.shows("exit 137")
	after, err := unix.IoctlGetTermios(rawFd(t, c.pty), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Errorf("modes are %+v, before they were %+v", *after, *before)
	}
}

func TestBackgroundGetsEmptyInput(t *testing.T) {
	c := newConsole(t, "/bin/sh", "-i")
	c.typed(`$PARENT sh -c 'read a; echo end of input $((1+1))' &` + "\n")
	c.shows("end of input 2")
	c.shows("exit 0")
}
