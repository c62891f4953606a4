package actor

import "golang.org/x/sys/unix"

// SystemClock counts time asleep. It reads CLOCK_MONOTONIC_RAW, which on macOS
// goes on while the machine sleeps and has one origin for all processes.
type SystemClock struct{}

// SleepAware reports whether [SystemClock] counts the time that the machine
// spends suspended.
const SleepAware = true

// Now reads the clock.
func (SystemClock) Now() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		panic("actor: CLOCK_MONOTONIC_RAW is not available: " + err.Error())
	}
	return Instant(ts.Nano())
}
