package sim

import (
	"math"
	"math/bits"
	"time"

	"github.com/simba-go/simba/actor"
)

const billion = 1_000_000_000

// clock is a machine's clock as a function of true time. It is linear, and exact:
// a clock that computes in floating point would stumble after a few months.
type clock struct {
	epoch  actor.Instant // in true time
	origin actor.Instant // what the clock read then
	rate   uint64        // nanoseconds by which it advances in a true second
}

// at returns what the clock reads at a true instant, rounded down.
func (c clock) at(t actor.Instant) actor.Instant {
	return c.origin.Add(scale(t.Sub(c.epoch), c.rate, billion, 0))
}

// when returns the first true instant at which the clock reads at least local.
func (c clock) when(local actor.Instant) actor.Instant {
	return c.epoch.Add(scale(local.Sub(c.origin), billion, c.rate, c.rate-1))
}

// scale returns (d x num + round) / den, saturating, and zero for a negative d.
func scale(d time.Duration, num, den, round uint64) time.Duration {
	if d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(d), num)
	lo, carry := bits.Add64(lo, round, 0)
	if hi += carry; hi >= den {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, den)
	return time.Duration(min(q, math.MaxInt64))
}
