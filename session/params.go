package session

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/simba-go/simba/term"
)

// Params are the times by which a client lives. One is enough: the others derive
// from Lease.
type Params struct {
	// Lease is how long the backend keeps a session without a renewal.
	Lease time.Duration
	// RenewInterval is the time from one renewal to the next. If it does not fit twice
	// into what can be relied on of a lease, they come more often.
	RenewInterval time.Duration
	// Drift is the largest relative difference between the rates of this
	// machine's clock and the backend's, in [0, 0.5).
	Drift float64
	// Margin is taken off the local deadline on top of the drift.
	Margin time.Duration
	// RetryJitter is the largest random delay that is added to half a renew
	// interval between two attempts to acquire a lease.
	RetryJitter time.Duration
	// MinBackoff is the shortest pause after a failure.
	MinBackoff time.Duration
}

// Defaults returns the parameters that derive from a lease.
func Defaults(lease time.Duration) Params {
	renew := lease / 3
	return Params{
		Lease:         lease,
		RenewInterval: renew,
		Drift:         0.01,
		Margin:        50 * time.Millisecond,
		RetryJitter:   renew / 2,
		MinBackoff:    min(100*time.Millisecond, renew),
	}
}

// maxLease keeps sums of a few durations from overflowing.
const maxLease = math.MaxInt64 / 4

// Validate returns nil, or a [*ParamsError] that names every broken rule. A rule
// about several values is judged if each of them makes sense by itself.
func (p Params) Validate() error {
	var broken []error
	require := func(ok bool, format string, args ...any) bool {
		if !ok {
			broken = append(broken, fmt.Errorf(format, args...))
		}
		return ok
	}
	lease := require(p.Lease > 0 && p.Lease <= maxLease,
		"the lease is %v; it must be above zero and at most %v", p.Lease, time.Duration(maxLease))
	renew := require(p.RenewInterval > 0, "the renew interval is %v; it must be above zero", p.RenewInterval)
	backoff := require(p.MinBackoff > 0, "the minimum back-off is %v; it must be above zero", p.MinBackoff)
	margin := require(p.Margin >= 0, "the margin is %v; it must not be negative", p.Margin)
	drift := require(p.Drift >= 0 && p.Drift < 0.5, "the drift is %v; it must be at least 0 and below 0.5", p.Drift)
	require(p.RetryJitter >= 0 && p.RetryJitter <= maxLease,
		"the retry jitter is %v; it must not be negative and at most %v", p.RetryJitter, time.Duration(maxLease))
	if lease && renew {
		require(p.RenewInterval <= p.Lease/2, "the renew interval %v does not fit twice into the lease %v; it must be at most %v",
			p.RenewInterval, p.Lease, p.Lease/2)
	}
	if renew && backoff {
		require(p.MinBackoff <= p.RenewInterval, "the minimum back-off %v is longer than the renew interval %v; it must be at most that",
			p.MinBackoff, p.RenewInterval)
	}
	if lease && renew && margin && drift {
		local := p.Bound().Local(p.Lease)
		require(local > p.RenewInterval,
			"a lease of %v with drift %v and margin %v can be relied on for %v, which must be more than the renew interval %v",
			p.Lease, p.Drift, p.Margin, max(0, local), p.RenewInterval)
	}
	if len(broken) == 0 {
		return nil
	}
	return &ParamsError{Broken: broken}
}

// Bound returns the arithmetic of the local deadline.
func (p Params) Bound() term.Bound { return term.Bound{Drift: p.Drift, Margin: p.Margin} }

// ParamsError holds every rule that [Params] break, as Broken.
type ParamsError struct{ Broken []error }

// Error lists all broken rules, in one line.
func (e *ParamsError) Error() string {
	texts := make([]string, len(e.Broken))
	for i, err := range e.Broken {
		texts[i] = err.Error()
	}
	return "simba: invalid parameters: " + strings.Join(texts, "; ")
}

// Unwrap returns the broken rules.
func (e *ParamsError) Unwrap() []error { return e.Broken }
