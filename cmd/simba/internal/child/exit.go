package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// Signal numbers as shells add them to 128.
const (
	interruptSignal = 2
	quitSignal      = 3
	killSignal      = 9
)

// Exit codes that shells use for a command that could not be started.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// ErrGuardLost is matched by the error of a [Process] that was stopped because its guard process had been killed: nothing
// would have ended the command together with this process any more.
var ErrGuardLost = errors.New("simba: the guard process of the command was killed, so the command was stopped: " +
	"leave the process lease-guard alone")

// An Exit says how a command ended.
type Exit struct {
	// Code is the command's exit code, or 128 and the number of the signal that ended it.
	Code int
	// Signal is the signal that ended the command, or 0 when it ended by itself. Always 0 on Windows.
	Signal syscall.Signal
	// Interrupted says that the command had the terminal and ended from ^C or ^\, which did not reach this process: the
	// person at the terminal most likely wants this process to end too.
	Interrupted bool
}

func exitOf(state *os.ProcessState) Exit {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}
	}
	return Exit{Code: state.ExitCode()}
}

// A StartError says why a command could not be started. It unwraps to the cause.
type StartError struct {
	// Name is the command as it was given.
	Name string
	// Code is what a shell would exit with: 127 for a command that was not found, 126 for one that cannot be executed.
	Code int
	// Err is the cause.
	Err error

	advice string
}

// Error says which command could not be started, and why.
func (e *StartError) Error() string {
	return fmt.Sprintf("simba: command %q %s", e.Name, e.advice)
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

func startError(name string, err error) *StartError {
	e := &StartError{Name: name, Code: codeNotExecutable, Err: err}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		e.Code, e.advice = codeNotFound, "not found in PATH: check the spelling, or give its path"
	case errors.Is(err, exec.ErrDot):
		e.Code, e.advice = codeNotFound, "found in the current folder only, which is not searched: give its path, like ./"+name
	case errors.Is(err, fs.ErrNotExist) && lookPathFailed(err):
		e.Code, e.advice = codeNotFound, "not found: there is no such file"
	case errors.Is(err, fs.ErrNotExist):
		// The file was there a moment ago; what execve misses is the interpreter that it names.
		e.advice = "cannot be executed: the interpreter that it names does not exist"
	case errors.Is(err, syscall.EISDIR):
		e.advice = "cannot be executed: it is a folder"
	case errors.Is(err, fs.ErrPermission):
		e.advice = "cannot be executed: permission denied; is its executable bit set?"
	case errors.Is(err, syscall.ENOEXEC):
		e.advice = "cannot be executed: neither a program of this system nor a script that starts with #!"
	default:
		e.advice = "cannot be executed: " + err.Error()
	}
	return e
}

func lookPathFailed(err error) bool {
	var lookup *exec.Error
	return errors.As(err, &lookup)
}

// A SurvivorError names the processes of the command's group that were still there some seconds after SIGKILL, because
// they are not ours to kill or are blocked inside the kernel. Their work may still go on.
type SurvivorError struct {
	// PIDs are their process ids.
	PIDs []int
}

// Error says what outlived its end.
func (e *SurvivorError) Error() string {
	return fmt.Sprintf("simba: the command is not over: of its processes, %v are still there %v after SIGKILL "+
		"(blocked in the kernel, or another user's)", e.PIDs, reapBound)
}
