package actor

import (
	"syscall"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2): monotonic, with the same
// origin for every process of the machine, and counting while it is suspended.
const clockBoottime = 7

// SystemClock counts time asleep. It reads CLOCK_BOOTTIME, so its instants are
// comparable between the processes of one boot of one machine.
type SystemClock struct{}

// SleepAware reports whether [SystemClock] counts the time that the machine
// spends suspended.
const SleepAware = true

// Now reads the clock. It makes the system call without telling the scheduler:
// the call never blocks, and the scheduler's bookkeeping would double its price.
func (SystemClock) Now() Instant {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		// Linux has had this clock since 2.6.39, and it cannot fail later.
		panic("actor: CLOCK_BOOTTIME is not available: " + errno.Error())
	}
	return Instant(ts.Nano())
}
