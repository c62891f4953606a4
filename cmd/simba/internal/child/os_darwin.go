package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA

	stateStopped = 4 // SSTOP of <sys/proc.h>
	stateZombie  = 5 // SZOMB
)

// dieWithParent does nothing: macOS has no parent-death signal. The guard does the work.
func dieWithParent(*syscall.SysProcAttr) {}

func ownExecutable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// renameSelf does nothing: macOS takes the name from the file.
func renameSelf(string) {}

// sleepAwareNow is an instant in nanoseconds, the same for all processes, on a clock that counts time asleep.
func sleepAwareNow() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil { // on macOS this one goes on during sleep
		panic("simba: no CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}

type proc struct {
	pid     int
	stopped bool
}

// groupProcs lists the processes of a group, without zombies.
func groupProcs(pgid int) []proc {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", pgid)
	if err != nil {
		return nil
	}
	var procs []proc
	for _, info := range infos {
		if info.Proc.P_stat != stateZombie {
			procs = append(procs, proc{pid: int(info.Proc.P_pid), stopped: info.Proc.P_stat == stateStopped})
		}
	}
	return procs
}
