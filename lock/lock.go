// Package lock takes one term of a name, or one of each of several names
// together. When such a term ends, for whatever reason, it is over for good.
package lock

import (
	"errors"
	"fmt"
	"slices"
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

// Acquired is the answer to [Acquire]: Terms has one for each name, in order.
type Acquired struct{ Terms []*term.Term }

// ErrNotAcquired is matched by every error that says that a lock is not held.
var ErrNotAcquired = errors.New("simba: the lock was not acquired")

// HeldError says by whom a name is held, its Holder, and for how long at most unless its
// holder renews.
type HeldError struct{ Holder backend.Holder }

// Error names the lease, its holder and the time that is left, to a tenth of a second.
func (e *HeldError) Error() string {
	return fmt.Sprintf("simba: lease %q is held by %q for up to %v more",
		e.Holder.Name, e.Holder.Label, e.Holder.Remaining.Round(100*time.Millisecond))
}

// Is makes the error match [ErrNotAcquired].
func (e *HeldError) Is(target error) bool { return target == ErrNotAcquired }

// AbortedError says that a lock of Names has ended without finishing what was asked of it,
// by a bug of the engine. It matches [ErrNotAcquired].
type AbortedError struct{ Names []string }

// Error names the lock.
func (e *AbortedError) Error() string {
	return fmt.Sprintf("simba: the lock of %q was aborted by a bug of the engine", e.Names)
}

// Is makes the error match [ErrNotAcquired].
func (e *AbortedError) Is(target error) bool { return target == ErrNotAcquired }

// Config is what a lock needs: the Session at which its names were joined, and a
// Sink for its events.
type Config struct {
	// Names are distinct, and joined at the session for this lock.
	Names   []string
	Session actor.Ref
	Sink    observe.Sink
}

// New returns the behaviour of a lock. When it is over and nothing of it is left,
// its actor ends by itself.
func New(c Config) actor.Behavior {
	return &lock{Config: c, machine: actor.NewMachine(Table)}
}

type lock struct {
	Config
	machine   actor.Machine[State, Event]
	once      bool
	asker     actor.Ref    // of Acquire, until it was answered
	contends  bool         // Acquire was asked, so the names are surely joined
	left      bool         // the names are given back
	terms     []*term.Term // that have not ended
	releasing []*term.Term // released, and not settled yet
	waiters   []actor.Ref  // of Release
	last      session.Lost // why it is not ours yet
}

// candidacy is the only one of a lock (R34).
const candidacy = 1

// Receive handles one message.
func (l *lock) Receive(ctx actor.Context, msg actor.Message) {
	returned := false
	defer func() {
		if !returned {
			l.abort(ctx)
		}
	}()
	l.handle(ctx, msg)
	l.finish(ctx)
	returned = true
}

func (l *lock) handle(ctx actor.Context, msg actor.Message) {
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
		l.settled(m)
	case actor.Stopping:
		if l.machine.State() != Over {
			l.abort(ctx)
		}
	}
}

func (l *lock) request(ctx actor.Context, r *actor.Request) {
	switch m := r.Message.(type) {
	case Acquire:
		l.once, l.asker, l.contends = m.Once, r.ReplyTo(), true
		ctx.Send(l.Session, session.Contend{Name: l.Names[0], Candidacy: candidacy, Report: true})
	case Release:
		l.waiters = append(l.waiters, r.ReplyTo())
		l.letGo(ctx, &session.ClosedError{})
	case Abandon:
		l.letGo(ctx, &session.ClosedError{})
		ctx.Send(r.ReplyTo(), l.why())
	}
}

// why is the answer to a caller that has waited in vain: the last thing that was
// heard, if anything was.
func (l *lock) why() actor.Message {
	if l.last.Err != nil {
		return l.last.Err
	}
	if h, ok := holder(l.last.Holders); ok {
		return &HeldError{Holder: h}
	}
	return session.Done{}
}

// holder returns the first name that is held. Others may be free, if all were
// wanted together.
func holder(holders []backend.Holder) (backend.Holder, bool) {
	for _, h := range holders {
		if h.Held {
			return h, true
		}
	}
	return backend.Holder{}, false
}

// step moves the state machine. An event that its table does not have is a bug,
// and reported as one.
func (l *lock) step(ctx actor.Context, e Event) {
	if err := l.machine.Step(e); err != nil {
		ctx.Report(err)
	}
}

// won takes the terms. There is nobody else to take them: once the lock is let go
// it is over, and what comes later is the session's to give back.
func (l *lock) won(ctx actor.Context, m session.Won) {
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

// lost is for an attempt that did not win. The candidacy goes on, unless it was to
// be the only attempt. One that found nobody in the way was refused for another
// reason, like a release of our own that overlapped it, and does not count.
func (l *lock) lost(ctx actor.Context, m session.Lost) {
	if l.machine.State() != Waiting {
		return
	}
	_, held := holder(m.Holders)
	if m.Err == nil && !held {
		return
	}
	l.last = m
	_, closed := m.Err.(*session.ClosedError)
	if l.once || closed {
		l.letGo(ctx, l.why())
	}
}

// ended is the involuntary end of one term. The others go on.
func (l *lock) ended(ctx actor.Context, m session.Ended) {
	i := slices.Index(l.terms, m.Term)
	if i < 0 {
		return // it ended here first
	}
	l.terms = slices.Delete(l.terms, i, i+1)
	l.Sink(observe.Revoked{Name: m.Term.Name(), Token: m.Term.Token(), Reason: m.Reason})
	if len(l.terms) == 0 {
		l.step(ctx, LoseLast)
		l.leave(ctx)
	}
}

// letGo ends the lock from whichever state it is in. The answer is for a caller
// who still waits for it.
func (l *lock) letGo(ctx actor.Context, answer actor.Message) {
	switch l.machine.State() {
	case Waiting:
		l.step(ctx, GiveUp)
		// In this order, so that whoever hears that it is over can try again.
		l.leave(ctx)
		l.reply(ctx, answer)
	case Held:
		l.step(ctx, ReleaseAsked)
		for _, t := range l.terms {
			l.giveBack(ctx, t)
		}
		l.terms = nil
		l.leave(ctx)
	}
}

// leave makes the names free for other locks of this client at once: the session
// itself holds back attempts while a release is pending. It is done once, because
// the names may be somebody else's afterwards.
func (l *lock) leave(ctx actor.Context) {
	l.left = true
	ctx.Send(l.Session, session.Leave{Name: l.Names[0], Owner: ctx.Self()})
}

// giveBack ends a term here, and only then releases its lease (R23). If the session
// has ended it at the same moment, that is the reason which counts (R22).
func (l *lock) giveBack(ctx actor.Context, t *term.Term) {
	term.End(t, term.Stopped)
	l.Sink(observe.Revoked{Name: t.Name(), Token: t.Token(), Reason: t.Reason()})
	l.releasing = append(l.releasing, t)
	ctx.Send(l.Session, session.Release{Term: t})
}

func (l *lock) settled(m session.Settled) {
	l.releasing = slices.DeleteFunc(l.releasing, func(t *term.Term) bool { return t == m.Term })
}

// finish answers those who wait for the end, once it is there. It is the end of
// the actor as well; whoever asks it for anything later learns that it has stopped.
func (l *lock) finish(ctx actor.Context) {
	if l.machine.State() == Releasing && len(l.releasing) == 0 {
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

// abort is the end after a bug, or with a system that is shut down too early:
// nobody acts under the terms any longer, and nobody waits for an answer.
func (l *lock) abort(ctx actor.Context) {
	for _, t := range l.terms {
		term.End(t, term.Stopped)
	}
	l.reply(ctx, &AbortedError{Names: l.Names})
	for _, ref := range l.waiters {
		ctx.Send(ref, &AbortedError{Names: l.Names})
	}
	l.waiters = nil
	if l.contends && !l.left {
		l.leave(ctx)
	}
}
