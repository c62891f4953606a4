// Package lock takes one term of a name, or one of each of several names
// together. When such a term ends, for whatever reason, it is over for good.
package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// What a user asks of a lock, each as an [actor.Request].
type (
	// Acquire asks for the terms. It is answered by [Acquired], or by an error:
	// a [*HeldError] if Once is set and a name is held by somebody else, or why
	// the attempt failed. Without Once it is answered when the lock was won.
	Acquire struct{ Once bool }
	// Release gives back whatever the lock has or may still get. It is answered by
	// [session.Done] when the backend has confirmed or the session has ended, and
	// the lock is over then. It may be asked again and again.
	Release struct{}
	// Abandon is like Release, but answered at once: the lock goes on to release
	// what it has.
	Abandon struct{}
)

// Acquired is the answer to [Acquire]: one term for each name, in order.
type Acquired struct{ Terms []*term.Term }

// ErrNotAcquired is matched by every error that says that a lock is not held.
var ErrNotAcquired = errors.New("simba: the lock was not acquired")

// HeldError says by whom a name is held, and for how long at most unless its
// holder renews.
type HeldError struct{ Holder backend.Holder }

func (e *HeldError) Error() string {
	return fmt.Sprintf("simba: lease %q is held by %q for up to %v more",
		e.Holder.Name, e.Holder.Label, e.Holder.Remaining.Round(100*time.Millisecond))
}

// Is makes the error match [ErrNotAcquired].
func (e *HeldError) Is(target error) bool { return target == ErrNotAcquired }

// Config is what a lock needs.
type Config struct {
	Names   []string // joined at the session, for this lock
	Session actor.Ref
	Sink    observe.Sink
}

// New returns the behaviour of a lock.
func New(c Config) actor.Behavior {
	return &lock{Config: c, machine: actor.NewMachine(Table)}
}

type lock struct {
	Config
	machine   actor.Machine[State, Event]
	once      bool
	asker     actor.Ref    // of Acquire, until it was answered
	terms     []*term.Term // that have not ended
	unsettled int          // releases
	waiters   []actor.Ref  // of Release
	last      session.Lost // why it is not ours yet
}

// candidacy is the only one of a lock.
const candidacy = 1

func (l *lock) Receive(ctx actor.Context, msg actor.Message) {
	defer func() {
		if v := recover(); v != nil {
			for _, t := range l.terms {
				term.End(t, term.Stopped)
			}
			l.leave(ctx)
			panic(v)
		}
	}()
	switch m := msg.(type) {
	case *actor.Request:
		l.request(ctx, m)
	case session.Won:
		l.won(ctx, m)
	case session.Lost:
		l.lost(ctx, m)
	case session.Ended:
		l.ended(ctx, m)
	case session.Settled:
		l.settled(ctx)
	}
}

func (l *lock) request(ctx actor.Context, r *actor.Request) {
	switch m := r.Message.(type) {
	case Acquire:
		l.once, l.asker = m.Once, r.ReplyTo()
		ctx.Send(l.Session, session.Contend{Name: l.Names[0], Candidacy: candidacy, Report: true})
	case Release:
		l.waiters = append(l.waiters, r.ReplyTo())
		l.letGo(ctx)
	case Abandon:
		l.letGo(ctx)
		ctx.Send(r.ReplyTo(), l.why())
	}
}

// why is the answer to a caller that has waited in vain: the last thing that was
// heard, if anything was.
func (l *lock) why() actor.Message {
	switch {
	case l.last.Err != nil:
		return l.last.Err
	case len(l.last.Holders) > 0:
		return heldBy(l.last.Holders)
	}
	return session.Done{}
}

// heldBy blames the first name that is held; others may be free, if all were
// wanted together.
func heldBy(holders []backend.Holder) *HeldError {
	for _, h := range holders {
		if h.Held {
			return &HeldError{Holder: h}
		}
	}
	return &HeldError{Holder: holders[0]}
}

// step moves the state machine. An event that its table does not have is a bug,
// and reported as one.
func (l *lock) step(ctx actor.Context, e Event) {
	if err := l.machine.Step(e); err != nil {
		ctx.Report(err)
	}
}

func (l *lock) won(ctx actor.Context, m session.Won) {
	if l.machine.State() != Waiting {
		// Nobody wants it any more, and nobody has seen it.
		for _, t := range m.Terms {
			l.giveBack(ctx, t)
		}
		return
	}
	l.step(ctx, Win)
	l.terms = append(l.terms, m.Terms...)
	for _, t := range m.Terms {
		l.Sink(observe.Elected{Name: t.Name(), Token: t.Token()})
	}
	l.reply(ctx, Acquired{Terms: m.Terms})
}

func (l *lock) reply(ctx actor.Context, answer actor.Message) {
	if l.asker != nil {
		ctx.Send(l.asker, answer)
		l.asker = nil
	}
}

func (l *lock) lost(ctx actor.Context, m session.Lost) {
	if l.machine.State() != Waiting {
		return
	}
	l.last = m
	if !l.once {
		if _, closed := m.Err.(*session.ClosedError); !closed {
			return // the candidacy goes on
		}
	}
	// The answer comes last: whoever has it may ask for the same names at once.
	answer, asker := l.why(), l.asker
	l.asker = nil
	l.letGo(ctx)
	if asker != nil {
		ctx.Send(asker, answer)
	}
}

// ended is the involuntary end of one term. The others go on.
func (l *lock) ended(ctx actor.Context, m session.Ended) {
	for i, t := range l.terms {
		if t != m.Term {
			continue
		}
		l.terms = append(l.terms[:i], l.terms[i+1:]...)
		l.Sink(observe.Revoked{Name: t.Name(), Token: t.Token(), Reason: m.Reason})
		if len(l.terms) == 0 {
			l.step(ctx, LoseLast)
			l.leave(ctx)
			l.finish(ctx)
		}
		return
	}
}

// letGo ends the lock from whichever state it is in.
func (l *lock) letGo(ctx actor.Context) {
	switch l.machine.State() {
	case Waiting:
		l.step(ctx, GiveUp)
		l.reply(ctx, &session.ClosedError{})
		l.leave(ctx)
	case Held:
		l.step(ctx, ReleaseAsked)
		for _, t := range l.terms {
			l.giveBack(ctx, t)
		}
		l.terms = nil
		l.leave(ctx)
	}
	l.finish(ctx)
}

// leave makes the names free for other locks of this client at once: the session
// itself holds back attempts while a release is pending.
func (l *lock) leave(ctx actor.Context) { ctx.Send(l.Session, session.Leave{Name: l.Names[0]}) }

// giveBack ends a term here, and only then releases its lease.
func (l *lock) giveBack(ctx actor.Context, t *term.Term) {
	if term.End(t, term.Stopped) {
		l.Sink(observe.Revoked{Name: t.Name(), Token: t.Token(), Reason: term.Stopped})
	}
	l.unsettled++
	ctx.Send(l.Session, session.Release{Term: t})
}

func (l *lock) settled(ctx actor.Context) {
	l.unsettled--
	l.finish(ctx)
}

// finish answers those who wait for the end, once it is there. It is the end of
// the actor as well; whoever asks it for anything later learns that it has stopped.
func (l *lock) finish(ctx actor.Context) {
	if l.unsettled > 0 {
		return
	}
	if l.machine.State() == Releasing {
		l.step(ctx, Settle)
	}
	if l.machine.State() != Over {
		return
	}
	for _, ref := range l.waiters {
		ctx.Send(ref, session.Done{})
	}
	l.waiters = nil
	ctx.Stop()
}
