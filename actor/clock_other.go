//go:build !linux && !darwin && !windows

package actor

import "time"

// SystemClock reads Go's monotonic clock, because this platform offers no
// portable clock that counts time asleep. A machine that may be suspended must
// not hold leases with it; see [SleepAware].
type SystemClock struct{}

// SleepAware reports whether [SystemClock] counts the time that the machine
// spends suspended.
const SleepAware = false

var base = time.Now()

// Now returns the time since this process started.
func (SystemClock) Now() Instant { return Instant(time.Since(base)) }
