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
	rest   uint64        // and by how much it was ahead of that, in billionths of a nanosecond
	rate   uint64        // nanoseconds by which it advances in a true second
}

// at returns what the clock reads at a true instant, rounded down.
func (c clock) at(t actor.Instant) actor.Instant {
	d, _ := scale(t.Sub(c.epoch), c.rate, billion, int64(c.rest))
	return c.origin.Add(d)
}

// when returns the first true instant at which the clock reads at least local.
func (c clock) when(local actor.Instant) actor.Instant {
	d, _ := scale(local.Sub(c.origin), billion, c.rate, int64(c.rate)-1-int64(c.rest))
	return c.epoch.Add(d)
}

// set returns the clock as it goes on from a true instant with another rate. It
// loses no fraction of a nanosecond: a clock whose rate is changed often would
// otherwise be slower than its rates.
func (c clock) set(t actor.Instant, rate uint64) clock {
	d, rest := scale(t.Sub(c.epoch), c.rate, billion, int64(c.rest))
	return clock{epoch: t, origin: c.origin.Add(d), rest: rest, rate: rate}
}

// scale returns (d x num + add) / den, and the remainder. It saturates, and is zero
// for a negative d. Add is above -num.
func scale(d time.Duration, num, den uint64, add int64) (time.Duration, uint64) {
	if d <= 0 {
		return 0, 0
	}
	hi, lo := bits.Mul64(uint64(d), num)
	if add >= 0 {
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(add), 0)
		hi += carry
	} else {
		var borrow uint64
		lo, borrow = bits.Sub64(lo, uint64(-add), 0)
		hi -= borrow
	}
	if hi >= den {
		return math.MaxInt64, 0
	}
	q, rest := bits.Div64(hi, lo, den)
	return time.Duration(min(q, math.MaxInt64)), rest
}
