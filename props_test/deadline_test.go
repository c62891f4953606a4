package props_test

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/session"
)

const billion = 1_000_000_000

// reading is what a clock shows that showed epoch at true time zero and runs at a
// rate in parts per billion, rounded down, like every clock of whole nanoseconds.
func reading(epoch actor.Instant, rate int64, at time.Duration) actor.Instant {
	n := new(big.Int).Mul(big.NewInt(int64(at)), big.NewInt(rate))
	n.Div(n, big.NewInt(billion)) // towards minus infinity
	return epoch.Add(time.Duration(n.Int64()))
}

// TestDeadlineComesBeforeExpiry is R9, for all parameters that are accepted: while the
// rates of the two clocks differ by at most drift, the client's deadline has passed
// on its own clock when the backend lets the session expire on its own, however long
// the request and its answer took, and whatever the clocks show. Margin is not needed
// for that.
func TestDeadlineComesBeforeExpiry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const century = 100 * 365 * 24 * time.Hour
		drift := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, billion/2-1), rapid.Just[int64](billion/2-1)).Draw(t, "drift")
		lease := rapid.OneOf(rapid.Int64Range(2, 100), rapid.Int64Range(2, int64(time.Hour)), rapid.Int64Range(2, int64(century))).Draw(t, "lease")
		p := session.Params{Lease: time.Duration(lease), RenewInterval: 1, MinBackoff: 1, Drift: float64(drift) / billion}
		if p.Validate() != nil {
			t.Skip("not accepted")
		}
		granted := time.Duration(rapid.Int64Range(1, lease).Draw(t, "granted"))
		epochs := rapid.Int64Range(-int64(century), int64(century))
		ours, theirs := actor.Instant(epochs.Draw(t, "our clock")), actor.Instant(epochs.Draw(t, "their clock"))
		rate := rapid.Int64Range(billion-drift, billion).Draw(t, "our rate, against theirs")
		took := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "request"))

		deadline := p.Bound().Deadline(ours, granted) // sent at true time zero
		// The backend's clock is the true one. It may show a nanosecond less than has
		// passed, which lets a session expire late, never early.
		expires := reading(theirs, billion, took).Add(granted)
		at := expires.Sub(theirs)
		if now := reading(ours, rate, at); now.Before(deadline) {
			t.Fatalf("when the backend lets it expire, after %d ns, the client's clock shows %d, and its deadline is %d", at, now, deadline)
		}
	})
}
