package sim

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
)

// A clock is exact at any distance: floating point has 53 bits, and a few months
// have more nanoseconds than that.
func TestClockIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock{
			epoch:  actor.Instant(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "epoch")),
			origin: actor.Instant(rapid.Int64Range(math.MinInt64/4, math.MaxInt64/4).Draw(t, "origin")),
			rate:   uint64(rapid.Int64Range(1, 1000*billion).Draw(t, "rate")),
		}
		since := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, math.MaxInt64/4)).Draw(t, "since")
		at := c.epoch + actor.Instant(since)

		want := new(big.Int).Mul(big.NewInt(since), new(big.Int).SetUint64(c.rate))
		want.Div(want, big.NewInt(billion))
		saturated := !want.IsInt64()
		want.Add(want, big.NewInt(int64(c.origin)))
		if saturated || !want.IsInt64() {
			if got := c.at(at); got < c.origin {
				t.Fatalf("reads %d, want it not to wrap", got)
			}
			return
		}
		if got := c.at(at); int64(got) != want.Int64() {
			t.Fatalf("reads %d, want %v", got, want)
		}
		// when is the first instant with that reading.
		first := c.when(c.at(at))
		if first > at || c.at(first) != c.at(at) || first > c.epoch && c.at(first-1) >= c.at(at) {
			t.Fatalf("the clock reads %d at %d, and first at %d", c.at(at), at, first)
		}
	})
}

// A timer is due when the machine's own clock says so, and not a nanosecond before.
func TestTimersFollowTheClock(t *testing.T) {
	for _, rate := range []float64{1, 0.9, 1.1, 0.999999999, 1.000000001, 3} {
		w := NewWorld(Random(1))
		w.RunFor(100 * 24 * time.Hour)
		n := w.NewNode("n", -time.Hour, rate)
		w.RunFor(100 * 24 * time.Hour)
		from := n.Now()
		var due actor.Instant
		n.Spawn("a", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if _, ok := msg.(actor.Started); ok {
				ctx.After(24*time.Hour+7, "due")
				return
			}
			due = ctx.Now()
			if early := n.machine.clock.at(w.now - 1).Sub(from); early >= 24*time.Hour+7 {
				t.Errorf("rate %v: it was due a nanosecond before already", rate)
			}
		}))
		w.RunFor(36 * time.Hour)
		if got := due.Sub(from); got < 24*time.Hour+7 || got > 24*time.Hour+7+time.Duration(rate) {
			t.Errorf("rate %v: a timer of 24h0m0.000000007s took %v", rate, got)
		}
	}
}

func TestNodeRefusesRates(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-10, 1001} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a clock with the rate %v was accepted", rate)
				}
			}()
			NewWorld(Random(1)).NewNode("n", 0, rate)
		}()
	}
}
