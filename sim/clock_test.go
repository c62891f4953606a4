package sim

import (
	"math"
	"math/big"
	"math/rand/v2"
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

// Scale is exact in the middle and at the ends.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.OneOf(rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 2, math.MaxInt64 - 1, math.MaxInt64}), rapid.Int64()).Draw(t, "d"))
		rate := rapid.OneOf(rapid.SampledFrom([]uint64{1, 2, billion - 1, billion, billion + 1, 1000 * billion}), rapid.Uint64Range(1, 1000*billion)).Draw(t, "rate")
		rest := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, billion - 1}), rapid.Int64Range(0, billion-1)).Draw(t, "rest")
		num, den, add := rate, uint64(billion), rest // as clock.at does it
		if rapid.Bool().Draw(t, "the other way") {
			num, den, add = billion, rate, int64(rate)-1-rest // as clock.when does it
		}
		got, gotRest := scale(d, num, den, add)
		if d <= 0 {
			if got != 0 || gotRest != 0 {
				t.Fatalf("scale(%d) = %d and %d, want 0", d, got, gotRest)
			}
			return
		}
		want := new(big.Int).Mul(big.NewInt(int64(d)), new(big.Int).SetUint64(num))
		want.Add(want, big.NewInt(add))
		wantRest := new(big.Int)
		want.DivMod(want, new(big.Int).SetUint64(den), wantRest)
		if !want.IsInt64() {
			if got != math.MaxInt64 {
				t.Fatalf("scale(%d, %d, %d, %d) = %d, want the end of time", d, num, den, add, got)
			}
			return
		}
		if int64(got) != want.Int64() || gotRest != wantRest.Uint64() {
			t.Fatalf("scale(%d, %d, %d, %d) = %d and %d, want %v and %v", d, num, den, add, got, gotRest, want, wantRest)
		}
	})
}

// A clock whose rate is changed often loses no fraction of a nanosecond.
func TestClockLosesNoFraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const changes = 10_000
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		longest := rapid.Int64Range(1, int64(time.Minute)).Draw(t, "longest")
		w := NewWorld(Calm())
		n := w.NewNode("n", 0, 1)
		exact, rate := new(big.Int), uint64(billion) // exact is in billionths of a nanosecond
		for range changes {
			d := 1 + random.Int64N(longest)
			w.now = w.now.Add(time.Duration(d))
			exact.Add(exact, new(big.Int).Mul(big.NewInt(d), new(big.Int).SetUint64(rate)))
			rate = billion - 20_000_000 + uint64(random.Int64N(40_000_001))
			n.SetRate(float64(rate) / billion)
		}
		want, rest := exact.DivMod(exact, big.NewInt(billion), new(big.Int))
		if got := n.Now(); int64(got) != want.Int64() || n.machine.clock.rest != rest.Uint64() {
			t.Fatalf("after %d changes the clock reads %d and %d billionths, want %v and %v", changes, got, n.machine.clock.rest, want, rest)
		}
	})
}

// A timer follows ten thousand changes of the rate: it is never early, and late by
// what its clock may skip at each of them.
func TestTimersFollowManyChanges(t *testing.T) {
	const changes = 10_000
	w := NewWorld(Random(3))
	n := w.NewNode("n", 0, 1)
	var due actor.Instant
	n.Spawn("a", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if _, ok := msg.(actor.Started); ok {
			ctx.After(time.Hour, "due")
			return
		}
		due = ctx.Now()
	}))
	for range changes {
		w.RunFor(time.Hour / 2 / changes)
		n.SetRate(0.98 + float64(w.Choose("rate", 41))/1000)
	}
	w.RunFor(time.Hour)
	if late := due.Sub(actor.Instant(time.Hour)); late < 0 || late > changes {
		t.Errorf("a timer of 1h is due %v late", late)
	}
}

// However far away something is, there is an instant for it.
func TestWhenIsFarAway(t *testing.T) {
	for _, rate := range []float64{1e-9, 0.5, 0.98, 1, 1.02, 3, 1000} {
		for _, offset := range []time.Duration{-math.MaxInt64, -time.Hour, 0, time.Hour, math.MaxInt64} {
			for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64 / 1000, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64} {
				w := NewWorld(Calm())
				w.RunFor(time.Hour)
				n := w.NewNode("n", offset, rate)
				w.RunFor(time.Minute)
				got := n.when(d)
				c := n.machine.clock
				target := min(n.Now().Add(max(d, 0)), c.origin.Add(math.MaxInt64)) // where the clock ends
				if got < w.now || got < actor.MaxInstant && c.at(got) < target || got > w.now && c.at(got-1) >= target {
					t.Errorf("rate %v, offset %v: %v from %v on is at %v, when the clock reads %v", rate, offset, d, n.Now(), got, c.at(got))
				}
			}
		}
	}
}

// TestAwake: time awake is without sleep and jumps, which timers do not count either.
func TestAwake(t *testing.T) {
	w := NewWorld(Calm())
	n := w.NewNode("n", time.Hour, 2)
	want := func(read time.Duration) {
		t.Helper()
		if got := time.Duration(n.awake()); got != read {
			t.Errorf("at %v it has been awake until %v, want %v", time.Duration(w.now), got, read)
		}
	}
	w.RunFor(time.Second)
	want(time.Hour + 2*time.Second)
	n.Suspend()
	w.RunFor(time.Minute)
	n.Jump(time.Hour)
	w.RunFor(time.Minute)
	n.Wake()
	n.Wake()
	want(time.Hour + 2*time.Second)
	n.Jump(time.Hour)
	want(time.Hour + 2*time.Second)
	w.RunFor(time.Second)
	want(time.Hour + 4*time.Second)
}

// TestArrival: a message has arrived when its node's mailbox got it, also if its actor
// gets to it later: in time awake, or less if it slept meanwhile.
func TestArrival(t *testing.T) {
	type arrival struct{ arrived, awake time.Duration }
	arrivals := func(prepare func(w *World, n *Node)) (got []arrival) {
		w := NewWorld(Calm())
		n := w.NewNode("n", 0, 1)
		a := n.Spawn("a", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
			if msg == "message" {
				got = append(got, arrival{time.Duration(n.arrival()), time.Duration(n.awake())})
			}
		}))
		prepare(w, n)
		w.In(time.Second, func() { a.Tell("message") })
		w.RunFor(time.Minute)
		return got
	}
	const s = time.Second
	for name, tt := range map[string]struct {
		prepare func(w *World, n *Node)
		want    arrival
	}{
		"at once": {func(*World, *Node) {}, arrival{s, s}},
		"lag":     {func(w *World, _ *Node) { w.Lag = func(actor.Ref) time.Duration { return s } }, arrival{s, 2 * s}},
		"pause":   {func(w *World, n *Node) { n.Pause(); w.In(4*s, n.Resume) }, arrival{s, 4 * s}},
		"pause and sleep": {func(w *World, n *Node) {
			n.Pause()
			w.In(2*s, n.Suspend)
			w.In(3*s, n.Wake)
			w.In(4*s, n.Resume)
		}, arrival{0, 3 * s}},
		"pause and another rate": {func(w *World, n *Node) {
			n.Pause()
			w.In(2*s, func() { n.SetRate(2) })
			w.In(3*s, func() { n.SetRate(1) })
			w.In(4*s, n.Resume)
		}, arrival{s, 5 * s}},
		"after a sleep": {func(w *World, n *Node) { n.Suspend(); w.In(s/2, n.Wake) }, arrival{s / 2, s / 2}},
	} {
		if got := arrivals(tt.prepare); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: it has arrived and is handled at %v, want %v", name, got, tt.want)
		}
	}
}
