package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is the job object of a command. What the command starts belongs to it too, and cannot leave it.
type group struct {
	job     windows.Handle
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the command itself has ended
	gone    chan struct{} // nil: there is no guard to lose
	expired bool
}

// RunGuard does nothing on Windows: the system itself ends the command's job together with this process.
func RunGuard() {}

// startGroup starts cmd in a job that the system ends when this process does.
func startGroup(_ context.Context, cmd *exec.Cmd, remaining func() time.Duration) (*group, error) {
	if remaining != nil && remaining() <= 0 {
		return nil, errors.New("simba: no time left to run the command in")
	}
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("simba: cannot create a job for the command: %w", err)
	}
	g := &group{job: job, cmd: cmd, exited: make(chan struct{})}
	// Suspended until it is in the job, so that nothing it starts is outside. A process group of its own, so that
	// CTRL_BREAK can be sent to it and not to us.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return nil, startError(cmd.Args[0], err)
	}
	if err := g.adopt(); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		windows.CloseHandle(job)
		return nil, fmt.Errorf("simba: cannot put the command into its job: %w", err)
	}
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(g.exited)
	}()
	return g, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// adopt puts the suspended command into the job and lets it run.
func (g *group) adopt() error {
	var assigned error
	err := g.cmd.Process.WithHandle(func(process uintptr) {
		assigned = windows.AssignProcessToJobObject(g.job, windows.Handle(process))
	})
	if err := errors.Join(err, assigned); err != nil {
		return err
	}
	return resume(uint32(g.cmd.Process.Pid))
}

// resume lets the only thread of a process that was created suspended run.
func resume(pid uint32) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(thread)
		_, err = windows.ResumeThread(thread)
		return err
	}
	return err
}

// extend asks how long the group may still run. Nobody else enforces it on Windows.
func (g *group) extend(remaining func() time.Duration) time.Duration { return remaining() }

// terminate sends CTRL_BREAK. It reaches console programs that share our console; others are not asked, and killed when the
// grace is over.
func (g *group) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.cmd.Process.Pid))
}

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 128+killSignal) }

// live returns what is left in the job, at most as many as fit the list.
func (g *group) live() []int {
	var list struct { // JOBOBJECT_BASIC_PROCESS_ID_LIST
		assigned, listed uint32
		pids             [256]uintptr
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil
	}
	pids := make([]int, 0, list.listed)
	for _, pid := range list.pids[:list.listed] {
		pids = append(pids, int(pid))
	}
	return pids
}

func (g *group) foreground() bool { return false }

func (g *group) close(Exit) {
	g.kill()
	windows.CloseHandle(g.job)
}
