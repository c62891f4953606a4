package actor

import "time"

// GoClock reads Go's own monotonic clock. That clock may stand still while the
// machine is asleep, so it must not decide about leases; it is for tests under
// testing/synctest, whose virtual time it follows, and for platforms without
// anything better.
type GoClock struct{ base time.Time }

// NewGoClock returns a clock whose origin is now.
func NewGoClock() GoClock { return GoClock{base: time.Now()} }

// Now returns the time since the clock was made.
func (c GoClock) Now() Instant { return Instant(time.Since(c.base)) }
