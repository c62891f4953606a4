package actor

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// SystemClock counts time asleep. It reads the precise interrupt time, which
// includes sleep and has one origin for all processes.
type SystemClock struct{}

// SleepAware reports whether [SystemClock] counts the time that the machine
// spends suspended.
const SleepAware = true

// The procedure exists since Windows 10, which is Go's own minimum.
var queryInterruptTimePrecise = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")

// Now reads the clock, whose unit is 100 ns.
func (SystemClock) Now() Instant {
	var t uint64
	queryInterruptTimePrecise.Call(uintptr(unsafe.Pointer(&t)))
	return Instant(t * 100)
}
