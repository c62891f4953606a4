// Package term is what a win yields: a [Term] with its fencing token, its
// validity and the reason for its end. A term has no goroutine and no lock; it is
// a pure function of a clock, the deadline that it shares with its session, and
// one word of its own.
package term

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
)

// Reason says why a term has ended.
type Reason uint8

// The reasons. A term ends once, for one of them.
const (
	// None is the reason of a term that has not ended.
	None Reason = iota
	// Stopped: the election was stopped, the lock released, or the client closed.
	Stopped
	// SteppedDown: the election stepped down and stays started.
	SteppedDown
	// DeadlinePassed: no renewal succeeded in time.
	DeadlinePassed
	// SessionExpired: the backend said that it has let the session expire.
	SessionExpired
	// TakenOver: the backend no longer lists the lease as ours.
	TakenOver
)

var reasonNames = [...]string{"NONE", "STOPPED", "STEPPED_DOWN", "DEADLINE_PASSED", "SESSION_EXPIRED", "TAKEN_OVER"}

func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Voluntary reports whether the owner wanted the term to end.
func (r Reason) Voluntary() bool { return r == Stopped || r == SteppedDown }

// Term is one stretch of time in which this process owns one lease. All methods
// are safe for concurrent use. A term that has ended stays ended, also when the
// same name is won again: that is another Term.
type Term struct {
	name     string
	session  string
	token    uint64
	deadline *Deadline
	limit    atomic.Int64 // an instant: the end of a voluntary handover
	reason   atomic.Uint32

	once   sync.Once
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// New returns the term of a lease that was won under the session's deadline.
func New(name, session string, token uint64, deadline *Deadline) *Term {
	t := &Term{name: name, session: session, token: token, deadline: deadline}
	t.limit.Store(int64(actor.MaxInstant))
	return t
}

// Name returns the name of the lease.
func (t *Term) Name() string { return t.name }

// Session returns the id of the session that won the term.
func (t *Term) Session() string { return t.session }

// Token returns the fencing token: greater than zero, constant within the term,
// and greater than that of every earlier term of the name. Hand it to the
// protected resource, which must refuse a smaller one after a larger one.
func (t *Term) Token() uint64 { return t.token }

// Valid reports whether the term has neither ended nor passed its deadline. It
// needs no goroutine to have run first: the first call after a long pause is
// false already. Once false, it stays false.
func (t *Term) Valid() bool { return t.Remaining() > 0 }

// Remaining returns the time to the term's deadline, zero once it has ended. In a
// voluntary handover this is what is left for the task to finish.
func (t *Term) Remaining() time.Duration {
	if t.reason.Load() != 0 {
		return 0
	}
	return t.deadline.remaining(actor.Instant(t.limit.Load()))
}

// EnsureValid returns nil if more than least remains, an [*EndedError] if the term
// has ended, and a [*ShortError] otherwise.
func (t *Term) EnsureValid(least time.Duration) error {
	remaining := t.Remaining()
	switch {
	case remaining > least:
		return nil
	case remaining == 0:
		return &EndedError{Name: t.name, Token: t.token, Reason: t.Reason()}
	}
	return &ShortError{Name: t.name, Token: t.token, Remaining: remaining, Least: least}
}

// Reason returns why the term has ended, or [None]. A term whose deadline has
// passed is invalid at once, and has its reason as soon as its session notices.
func (t *Term) Reason() Reason { return Reason(t.reason.Load()) }

// Context returns a context that is cancelled when the term has ended, with an
// [*EndedError] as its cause.
func (t *Term) Context() context.Context {
	t.once.Do(func() {
		t.ctx, t.cancel = context.WithCancelCause(context.Background())
	})
	if t.reason.Load() != 0 {
		t.cancelContext()
	}
	return t.ctx
}

// Done returns a channel that is closed when the term has ended.
func (t *Term) Done() <-chan struct{} { return t.Context().Done() }

func (t *Term) cancelContext() {
	t.once.Do(func() { t.ctx, t.cancel = context.WithCancelCause(context.Background()) })
	t.cancel(&EndedError{Name: t.name, Token: t.token, Reason: t.Reason()})
}

// End ends the term for the given reason and reports whether this call did it:
// the first one wins. It is for the term's session and its owner alone, and
// therefore not a method.
func End(t *Term, r Reason) bool {
	if !t.reason.CompareAndSwap(0, uint32(r)) {
		return false
	}
	// A context made after the swap sees the reason itself.
	t.cancelContext()
	return true
}

// Limit ends the term's validity at the given instant at the latest, without a
// reason of its own. A voluntary handover sets it, once, to the deadline as it
// stood when the handover began: renewals go on but do not move it.
func Limit(t *Term, at actor.Instant) { t.limit.Store(int64(at)) }

// EndedError says that the term of Name with Token has ended. It is also the cause of
// the term's context.
type EndedError struct {
	Name   string
	Token  uint64
	Reason Reason // None if the deadline passed a moment ago
}

func (e *EndedError) Error() string {
	reason := e.Reason
	if reason == None {
		reason = DeadlinePassed
	}
	return fmt.Sprintf("simba: the term of %q with token %d has ended: %s", e.Name, e.Token, reason)
}

// ShortError says that of the term of Name with Token only Remaining is left, which
// is not more than Least.
type ShortError struct {
	Name             string
	Token            uint64
	Remaining, Least time.Duration
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("simba: the term of %q with token %d has %v left, and more than %v is needed",
		e.Name, e.Token, e.Remaining, e.Least)
}
