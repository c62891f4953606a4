package actor

import (
	"math"
	"time"
)

// Instant is a reading of a [Clock] in nanoseconds. Only the difference of two
// instants of the same clock means anything; an instant must never leave the
// machine that read it.
type Instant int64

// The ends of the time line. Arithmetic saturates at them instead of wrapping.
const (
	MinInstant Instant = math.MinInt64
	MaxInstant Instant = math.MaxInt64
)

// Add returns t+d, saturating at the ends of the time line.
func (t Instant) Add(d time.Duration) Instant {
	sum := t + Instant(d)
	switch {
	case d > 0 && sum < t:
		return MaxInstant
	case d < 0 && sum > t:
		return MinInstant
	}
	return sum
}

// Sub returns t-u, saturating at the ends of [time.Duration].
func (t Instant) Sub(u Instant) time.Duration {
	diff := t - u
	switch {
	case t > u && diff < 0:
		return math.MaxInt64
	case t < u && diff > 0:
		return math.MinInt64
	}
	return time.Duration(diff)
}

// Before reports whether t comes before u.
func (t Instant) Before(u Instant) bool { return t < u }

// Clock yields the instants of one process. Implementations are safe for
// concurrent use, and never go backwards.
type Clock interface {
	// Now reads the clock.
	Now() Instant
}
