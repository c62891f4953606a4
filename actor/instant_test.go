package actor_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
)

func TestInstantsSaturate(t *testing.T) {
	const longest, shortest = time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
	adds := []struct {
		t    actor.Instant
		d    time.Duration
		want actor.Instant
	}{
		{0, 0, 0},
		{5, 7, 12},
		{5, -7, -2},
		{actor.MaxInstant, 0, actor.MaxInstant},
		{actor.MaxInstant, 1, actor.MaxInstant},
		{actor.MaxInstant, -1, actor.MaxInstant - 1},
		{actor.MaxInstant - 1, 1, actor.MaxInstant},
		{actor.MaxInstant, longest, actor.MaxInstant},
		{actor.MaxInstant, shortest, -1},
		{actor.MinInstant, -1, actor.MinInstant},
		{actor.MinInstant, shortest, actor.MinInstant},
		{actor.MinInstant, longest, -1},
		{-1, shortest, actor.MinInstant},
		{0, shortest, actor.MinInstant},
		{1, longest, actor.MaxInstant},
	}
	for _, a := range adds {
		if got := a.t.Add(a.d); got != a.want {
			t.Errorf("%d + %d is %d, want %d", a.t, a.d, got, a.want)
		}
	}
	subs := []struct {
		t, u actor.Instant
		want time.Duration
	}{
		{12, 5, 7},
		{5, 12, -7},
		{actor.MaxInstant, actor.MinInstant, longest},
		{actor.MinInstant, actor.MaxInstant, shortest},
		{actor.MaxInstant, -1, longest},
		{actor.MaxInstant, 0, longest},
		{0, actor.MinInstant, longest},
		{-1, actor.MinInstant, longest},
		{actor.MinInstant, 0, shortest},
		{actor.MinInstant, 1, shortest},
		{actor.MinInstant, actor.MinInstant, 0},
	}
	for _, s := range subs {
		if got := s.t.Sub(s.u); got != s.want {
			t.Errorf("%d - %d is %d, want %d", s.t, s.u, got, s.want)
		}
	}
}

func TestBefore(t *testing.T) {
	ascending := []actor.Instant{actor.MinInstant, -1, 0, 1, actor.MaxInstant}
	for i, x := range ascending {
		for j, y := range ascending {
			if got := x.Before(y); got != (i < j) {
				t.Errorf("%d before %d: %t", x, y, got)
			}
		}
	}
}

// The sums and differences are those of unbounded integers, cut off at the ends.
func TestInstantsAgreeWithUnboundedIntegers(t *testing.T) {
	ends := rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64})
	number := rapid.OneOf(rapid.Int64(), ends)
	cut := func(n *big.Int) int64 {
		switch {
		case n.IsInt64():
			return n.Int64()
		case n.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	rapid.Check(t, func(rt *rapid.T) {
		x, y := number.Draw(rt, "x"), number.Draw(rt, "y")
		a, b := big.NewInt(x), big.NewInt(y)
		if got, want := int64(actor.Instant(x).Add(time.Duration(y))), cut(new(big.Int).Add(a, b)); got != want {
			rt.Errorf("%d + %d is %d, want %d", x, y, got, want)
		}
		if got, want := int64(actor.Instant(x).Sub(actor.Instant(y))), cut(new(big.Int).Sub(a, b)); got != want {
			rt.Errorf("%d - %d is %d, want %d", x, y, got, want)
		}
	})
}
