package term_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/term"
)

func TestLocalIsExactToTheNanosecond(t *testing.T) {
	const ms, longest = time.Millisecond, time.Duration(math.MaxInt64)
	half, least := math.Nextafter(0.5, 0), math.SmallestNonzeroFloat64 // the ends of what drift may be
	tests := []struct {
		remaining time.Duration
		drift     float64
		margin    time.Duration
		want      time.Duration
	}{
		{15 * time.Second, 0.01, 50 * ms, 14800 * ms},
		{6250 * ms, 0.01, 50 * ms, 6137500 * time.Microsecond},
		{15 * time.Second, 0, 0, 15 * time.Second},
		{15 * time.Second, 0, 50 * ms, 14950 * ms},
		{15 * time.Second, 0.07, 0, 13950 * ms},
		{time.Second, 0.000123, 0, 999877 * time.Microsecond},
		{time.Second, 0.499999999, 0, 500000001},

		// What is lost to drift is rounded up.
		{1, 0.01, 0, 0},
		{100, 0.01, 0, 99},
		{101, 0.01, 0, 99},
		{200, 0.01, 0, 198},
		{1, 1e-9, 0, 0},
		{time.Second, 1e-10, 0, 999999999},

		{0, 0.01, 50 * ms, -50 * ms},
		{-1, 0.01, 50 * ms, -50 * ms},
		{-15 * time.Second, 0.01, 50 * ms, -50 * ms},
		{math.MinInt64, 0.01, 50 * ms, -50 * ms},
		{10 * ms, 0.01, 50 * ms, -40100 * time.Microsecond},
		{0, 0.01, 0, 0},
		{0, 0.01, longest, -longest},

		{longest, 0, 0, longest},
		{longest, 0, longest, 0},
		{longest, 0.01, 50 * ms, 9131138316436228048},
		{longest, 0.499999999, 0, 4611686027650759940},
		{longest, half, 0, longest / 2},
		{longest - 1, half, 0, longest / 2},
		{longest, half, longest, -longest/2 - 1},
		{longest, least, 0, longest},
		{longest, 1e-9, 0, 9223372027631403770},

		// Leases of a nanosecond or two, and margins above the lease.
		{1, 0, 0, 1},
		{1, least, 0, 1},
		{1, half, 0, 0},
		{2, half, 0, 1},
		{3, half, 0, 1},
		{1, 0, 1, 0},
		{1, 0, 2, -1},
		{1, half, 1, -1},
		{1, half, longest, -longest},
		{math.MinInt64, half, longest, -longest},
		{time.Second, half, time.Second, -500 * ms},
	}
	for _, test := range tests {
		b := term.Bound{Drift: test.drift, Margin: test.margin}
		if got := b.Local(test.remaining); got != test.want {
			t.Errorf("Local(%d) of %+v is %d, want %d", test.remaining, b, got, test.want)
		}
	}
}

// For a drift in whole parts per billion the formula holds exactly: remaining x
// (1 - drift) - margin, rounded down.
func TestLocalAgreesWithUnboundedIntegers(t *testing.T) {
	const billion = 1_000_000_000
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.Int64Range(0, billion/2-1).Draw(rt, "parts per billion")
		remaining := rapid.Int64Min(1).Draw(rt, "remaining")
		margin := rapid.Int64Min(0).Draw(rt, "margin")
		want := new(big.Int).Mul(big.NewInt(remaining), big.NewInt(billion-parts))
		want.Div(want, big.NewInt(billion)) // which rounds down
		want.Sub(want, big.NewInt(margin))
		b := term.Bound{Drift: float64(parts) / billion, Margin: time.Duration(margin)}
		if got := b.Local(time.Duration(remaining)); !want.IsInt64() || int64(got) != want.Int64() {
			rt.Errorf("Local(%d) of %+v is %d, want %d", remaining, b, got, want)
		}
	})
}

// A drift between two parts per billion counts as the larger one, so that the
// deadline is never later than the formula says.
func TestLocalNeverPromisesMoreThanTheFormula(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		drift := rapid.Float64Range(0, 0.4999).Draw(rt, "drift")
		remaining := rapid.Int64Range(1, int64(1000*time.Hour)).Draw(rt, "remaining")
		got := term.Bound{Drift: drift}.Local(time.Duration(remaining))

		exact := new(big.Rat).SetFloat64(drift)
		exact.Sub(big.NewRat(1, 1), exact)
		exact.Mul(exact, new(big.Rat).SetInt64(remaining))
		excess, _ := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(got)), exact).Float64()
		// A millionth of a part per billion is put down to binary fractions.
		if most := float64(remaining) * 1e-15; excess > most {
			rt.Errorf("with drift %v, Local(%d) is %d: %v too much", drift, remaining, got, excess)
		}
		if least := -float64(remaining)*1e-9 - 1; excess < least {
			rt.Errorf("with drift %v, Local(%d) is %d: %v too little", drift, remaining, got, -excess)
		}
	})
}

func TestDeadlineCountsFromWhenTheRequestWasSent(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	usual := term.Bound{Drift: 0.01, Margin: 50 * time.Millisecond}
	exact, distrustful := term.Bound{}, term.Bound{Drift: 0.01, Margin: longest}
	tests := []struct {
		b         term.Bound
		sentAt    actor.Instant
		remaining time.Duration
		want      actor.Instant
	}{
		{usual, 0, 15 * time.Second, 14_800_000_000},
		{usual, 1_000, 15 * time.Second, 14_800_001_000},
		{usual, -1_000, 15 * time.Second, 14_799_999_000},
		{usual, 1_000, 0, 1_000 - 50_000_000},

		// The ends of the time line: a deadline saturates at them, and never wraps.
		{usual, actor.MaxInstant - 5, 15 * time.Second, actor.MaxInstant},
		{usual, actor.MaxInstant - 14_800_000_001, 15 * time.Second, actor.MaxInstant - 1},
		{usual, actor.MaxInstant, 0, actor.MaxInstant - 50_000_000},
		{usual, actor.MinInstant, 0, actor.MinInstant},
		{usual, actor.MinInstant + 50_000_001, 0, actor.MinInstant + 1},
		{usual, actor.MinInstant, 15 * time.Second, actor.MinInstant + 14_800_000_000},
		{exact, 0, longest, actor.MaxInstant},
		{exact, 1, longest, actor.MaxInstant},
		{exact, -1, longest, actor.MaxInstant - 1},
		{exact, actor.MinInstant, longest, -1},
		{exact, actor.MaxInstant, longest, actor.MaxInstant},
		{exact, actor.MaxInstant, 1, actor.MaxInstant},
		{exact, actor.MaxInstant - 1, 1, actor.MaxInstant},
		{exact, 0, math.MinInt64, 0},
		{distrustful, 0, 15 * time.Second, 14_850_000_000 - actor.MaxInstant},
		{distrustful, -1, 0, actor.MinInstant},
		{distrustful, -2, 0, actor.MinInstant},
		{distrustful, actor.MinInstant, 15 * time.Second, actor.MinInstant},
		{distrustful, actor.MaxInstant, 0, 0},
	}
	for _, test := range tests {
		if got := test.b.Deadline(test.sentAt, test.remaining); got != test.want {
			t.Errorf("Deadline(%d, %d) of %+v is %d, want %d", test.sentAt, test.remaining, test.b, got, test.want)
		}
	}
}
