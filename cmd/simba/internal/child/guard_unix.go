//go:build linux || darwin

package child

import (
	"encoding/binary"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	guardName = "lease-guard" // what process lists show
	guardArg  = "__guard-process-group-for"

	guardReady   = 'R' // the guard's answers
	guardExpired = 'X'

	guardMisuse = 64
)

// RunGuard turns this process into the guard of a command's process group if it was started as one, and then never
// returns. Programs that use [Start] call it first thing in main, tests in TestMain.
//
// The guard sits in a group of its own making, ignores what the terminal and [Process.Stop] send there, and does one
// thing: when its leash, a pipe held by the process that started it, closes or the deadline passes, it kills the group
// and itself.
func RunGuard() {
	if len(os.Args) != 3 || os.Args[1] != guardArg {
		return
	}
	if syscall.Getpgrp() != os.Getpid() {
		os.Stderr.WriteString("simba: " + guardArg + " is for simba's own use\n")
		os.Exit(guardMisuse) // killing this group would kill who knows whom
	}
	signal.Ignore()
	renameSelf(guardName)
	os.Stdout.Write([]byte{guardReady})
	if holdLeash(int(os.Stdin.Fd())) {
		os.Stdout.Write([]byte{guardExpired})
	}
	for {
		_ = syscall.Kill(0, syscall.SIGKILL) // the group, and ourselves with it
	}
}

// holdLeash returns when the leash is closed (false) or the deadline last read from it has passed (true).
func holdLeash(leash int) (expired bool) {
	// Timers stop while the machine sleeps; looking at the clock every second bounds what that can add to the deadline.
	const longest = time.Second
	deadline := int64(math.MaxInt64)
	buf := make([]byte, 4096) // a whole number of orders, as all writes are
	for {
		wait := -1
		if deadline != math.MaxInt64 {
			left := min(max(time.Duration(deadline-sleepAwareNow()), 0), longest)
			wait = int((left + time.Millisecond - 1) / time.Millisecond)
		}
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(leash), Events: unix.POLLIN}}, wait)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return false
		case ready == 0:
			// Only a leash with nothing to read can expire: a new deadline may have waited there for us to be scheduled.
			if sleepAwareNow() >= deadline {
				return true
			}
		default:
			n, err := unix.Read(leash, buf)
			if err == unix.EINTR || err == unix.EAGAIN {
				continue
			}
			if err != nil || n == 0 {
				return false
			}
			deadline = int64(binary.NativeEndian.Uint64(buf[n-8 : n]))
		}
	}
}
