package child

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)

// dieWithParent makes the kernel kill the new process when the thread that creates it ends: see startCommand.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// ownExecutable is this very program, even when its file has been replaced by another version since.
func ownExecutable() string { return "/proc/self/exe" }

// renameSelf changes what ps and killall take for our name.
func renameSelf(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }

// sleepAwareNow is an instant in nanoseconds, the same for all processes, on a clock that counts time asleep.
func sleepAwareNow() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("simba: no CLOCK_BOOTTIME: " + err.Error()) // every Linux since 2.6.39 has it
	}
	return ts.Nano()
}

type proc struct {
	pid     int
	stopped bool
}

// groupProcs lists the processes of a group, without zombies. There is no system call for that, so it reads all of /proc;
// a process it misses, being started meanwhile, is missed for a moment only, and killed with the group in the end.
func groupProcs(pgid int) []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var procs []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it ended
		}
		// pid (name) state parent group ...; the name may hold anything, parentheses and spaces too.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || string(fields[2]) != strconv.Itoa(pgid) {
			continue
		}
		switch state := fields[0][0]; state {
		case 'Z', 'X':
		default:
			procs = append(procs, proc{pid: pid, stopped: state == 'T'})
		}
	}
	return procs
}
