package term

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
)

// Bound is the arithmetic that turns a backend's answer into a local deadline.
type Bound struct {
	// Drift is the largest relative difference between the rates of this
	// process's clock and the backend's, in [0, 0.5).
	Drift float64
	// Margin is taken off on top, for whatever Drift does not cover. It is not
	// negative.
	Margin time.Duration
}

// Local returns for how long a grant of remaining, measured by the backend's
// clock, can be relied on here: remaining x (1 - Drift) - Margin, rounded down to
// the nanosecond. It may be zero or negative.
//
// Why it is safe: the backend measured remaining after we sent the request, so it
// gives the lease away at the earliest when its clock has advanced by remaining
// since then. While the clocks' rates differ by at most Drift, ours has advanced
// by at least remaining x (1 - Drift) at that moment.
func (b Bound) Local(remaining time.Duration) time.Duration {
	if remaining <= 0 {
		return -b.Margin
	}
	return remaining - b.loss(remaining) - b.Margin
}

// loss is remaining x Drift, rounded up, so that what is left is rounded down.
// Drift counts in whole parts per billion, rounded up, which makes the product an
// exact one of integers. A millionth of a part is what binary fractions miss
// decimal ones by: 0.000123 means 123,000 parts, and not one more.
func (b Bound) loss(remaining time.Duration) time.Duration {
	const billion = 1_000_000_000
	parts := math.Ceil(b.Drift*billion - 1e-6)
	hi, lo := bits.Mul64(uint64(remaining), uint64(parts))
	loss, rest := bits.Div64(hi, lo, billion) // hi < billion, because Drift < 1
	if rest > 0 {
		loss++
	}
	return time.Duration(loss)
}

// Deadline returns sentAt + Local(remaining). It counts from when the request was
// sent, so that a slow answer can only shorten it.
func (b Bound) Deadline(sentAt actor.Instant, remaining time.Duration) actor.Instant {
	return sentAt.Add(b.Local(remaining))
}

// passed is the latched value of a [Deadline]: no instant comes before it.
const passed = int64(actor.MinInstant)

// Deadline is the one word that a session shares with its terms. The session's
// actor extends it, anybody reads it, and whoever finds it passed latches it.
//
// Why no interleaving shows a term valid after it was seen invalid: a reader
// answers false only after the word was replaced by passed, with a
// compare-and-swap against the very deadline that it found passed. Extend is a
// compare-and-swap too, against the deadline that it saw in the future. So either
// the extension comes first, and the reader's swap fails and it looks again; or
// the latch comes first, and the extension fails. No write replaces passed.
type Deadline struct {
	clock actor.Clock
	word  atomic.Int64
}

// NewDeadline returns a deadline at the given instant of clock.
func NewDeadline(clock actor.Clock, at actor.Instant) *Deadline {
	d := &Deadline{clock: clock}
	d.word.Store(int64(at))
	return d
}

// Passed reports whether the deadline has passed. Once it has, it stays so.
func (d *Deadline) Passed() bool { return d.Remaining() == 0 }

// Remaining returns the time left, zero once the deadline has passed.
func (d *Deadline) Remaining() time.Duration {
	left, _ := d.remaining()
	return left
}

// remaining also returns the reading of the clock that it went by.
func (d *Deadline) remaining() (left time.Duration, now actor.Instant) {
	for {
		w := d.word.Load()
		now = d.clock.Now() // after the load: what is not past now was not past then
		if at := actor.Instant(w); now < at {
			return at.Sub(now), now
		}
		if d.word.CompareAndSwap(w, passed) {
			return 0, now
		}
	}
}

// At returns the deadline, and whether it is still open. An open deadline may lie
// in the past if nobody has looked since.
func (d *Deadline) At() (at actor.Instant, open bool) {
	w := d.word.Load()
	return actor.Instant(w), w != passed
}

// Extend moves the deadline to at, even to an earlier instant, and reports
// whether it could: a deadline that has passed is never moved.
func (d *Deadline) Extend(at actor.Instant) bool {
	for {
		w := d.word.Load()
		next, extended := int64(at), true
		if d.clock.Now() >= actor.Instant(w) {
			next, extended = passed, false
		}
		if d.word.CompareAndSwap(w, next) {
			return extended
		}
	}
}

// Latch ends the deadline now, whatever the clock says.
func (d *Deadline) Latch() { d.word.Store(passed) }
