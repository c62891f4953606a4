// Package term is what a win yields: a [Term] with its fencing token, its
// validity and the reason for its end. A term has no goroutine and no lock; it is
// a pure function of a clock, the deadline that it shares with its session, and
// one word of its own.
package term

import (
	"context"
	"fmt"
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

// String returns the reason's name, as it is in logs and metrics.
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
	limit    atomic.Int64 // an instant, which only ever gets earlier
	reason   atomic.Uint32
	scope    atomic.Pointer[scope] // nil until somebody wants the context
}

// scope is the context of a term.
type scope struct {
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
	if t.ended() {
		return 0
	}
	left, now := t.deadline.remaining()
	limit := actor.Instant(t.limit.Load())
	switch {
	case left == 0:
		return 0
	case now >= limit:
		t.limit.Store(passed) // and so it stays, like the deadline
		return 0
	}
	return min(left, limit.Sub(now))
}

func (t *Term) ended() bool { return t.Reason() != None }

// EnsureValid returns nil if the term is valid and more than least remains of it,
// an [*EndedError] if it is not valid, and a [*ShortError] otherwise.
func (t *Term) EnsureValid(least time.Duration) error {
	remaining := t.Remaining()
	switch {
	case remaining == 0: // which a negative least does not change
		return t.endedError()
	case remaining <= least:
		return &ShortError{Name: t.name, Token: t.token, Remaining: remaining, Least: least}
	}
	return nil
}

// Reason returns why the term has ended, or [None]. A term whose deadline has
// passed is invalid at once, and has its reason as soon as its session notices.
func (t *Term) Reason() Reason { return Reason(t.reason.Load()) }

// Context returns a context that is cancelled when the term has ended, with an
// [*EndedError] as its cause. It is always the same one. That the deadline has
// passed cancels it as soon as the term's session notices; [Term.Valid] knows at
// once.
func (t *Term) Context() context.Context {
	s := t.scope.Load()
	if s == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		s = &scope{ctx, cancel}
		if !t.scope.CompareAndSwap(nil, s) {
			s = t.scope.Load()
		}
	}
	// End gives the reason first and looks for a scope then; here it is the other
	// way round. So at least one of the two sees what the other did.
	if t.ended() {
		s.cancel(t.endedError())
	}
	return s.ctx
}

// Done returns a channel that is closed when the term has ended: that of Context.
func (t *Term) Done() <-chan struct{} { return t.Context().Done() }

func (t *Term) endedError() *EndedError {
	return &EndedError{Name: t.name, Token: t.token, Reason: t.Reason()}
}

// End ends the term for the given reason and reports whether this call did it:
// the first one wins. It panics if the reason is [None]. It is for the term's
// session and its owner alone, and therefore not a method.
func End(t *Term, r Reason) bool {
	if r == None {
		panic("term: the end of a term has a reason")
	}
	if !t.reason.CompareAndSwap(uint32(None), uint32(r)) {
		return false
	}
	if s := t.scope.Load(); s != nil {
		s.cancel(t.endedError())
	}
	return true
}

// Limit ends the term's validity at the given instant at the latest, without a
// reason of its own. A voluntary handover sets it to the deadline as it stood when
// the handover began: renewals go on but do not move it. Of several limits the
// earliest holds.
func Limit(t *Term, at actor.Instant) {
	for {
		limit := t.limit.Load()
		if int64(at) >= limit || t.limit.CompareAndSwap(limit, int64(at)) {
			return
		}
	}
}

// Until returns the instant from which on the term is not valid, as things stand:
// a renewal may move it. Once the term has ended, or somebody has seen that instant
// pass, it is [actor.MinInstant]. Unlike [Term.Valid] it only looks, and latches
// nothing; it is for those who watch over terms.
func Until(t *Term) actor.Instant {
	if t.ended() {
		return actor.MinInstant
	}
	at, _ := t.deadline.At()
	return min(at, actor.Instant(t.limit.Load()))
}

// EndedError says that a term is not valid any more. It is also the cause of its
// context.
type EndedError struct {
	Name   string // of the lease
	Token  uint64 // of the term
	Reason Reason // None if the deadline passed a moment ago
}

// Error says which term has ended, and why.
func (e *EndedError) Error() string {
	reason := e.Reason
	if reason == None {
		reason = DeadlinePassed
	}
	return fmt.Sprintf("simba: the term of %q with token %d has ended: %s", e.Name, e.Token, reason)
}

// ShortError says that less of a term remains than was asked for.
type ShortError struct {
	Name      string        // of the lease
	Token     uint64        // of the term
	Remaining time.Duration // above zero
	Least     time.Duration // more than this was asked for
}

// Error says how much remains of which term.
func (e *ShortError) Error() string {
	return fmt.Sprintf("simba: the term of %q with token %d has %v left, and more than %v is needed",
		e.Name, e.Token, e.Remaining, e.Least)
}
