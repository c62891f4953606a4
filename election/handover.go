package election

import (
	"cmp"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// handover is a voluntary one that is under way (R32).
type handover struct {
	reason term.Reason
	stop   bool // the election stops afterwards
}

// waiter is a caller of Stop or StepDown. It waits until its term has ended and
// the lease is free, and until the callbacks that were due by then have run.
type waiter struct {
	replyTo actor.Ref
	term    *term.Term // nil if there was none
	due     uint64     // callbacks
}

func (e *election) stop(ctx actor.Context, replyTo actor.Ref) {
	was := e.machine.State()
	e.await(replyTo)
	e.step(ctx, StopAsked)
	switch was {
	case Candidate:
		e.withdraw(ctx)
		e.coolUntil = 0
	case Leader:
		e.begin(ctx, term.Stopped, true)
	case SteppingDown:
		e.handover.stop = true
	}
}

func (e *election) stepDownAsked(ctx actor.Context, cooldown time.Duration, replyTo actor.Ref) {
	switch {
	case cooldown < 0:
		e.later(replyTo, &CooldownError{Cooldown: cooldown})
	case e.machine.State() == Stopped:
		e.later(replyTo, &StoppedError{Name: e.Name})
	default:
		e.await(replyTo)
		e.stepDown(ctx, cooldown)
	}
}

// stepDown starts a cooldown, or extends the one that runs, and hands the term
// over if there is one.
func (e *election) stepDown(ctx actor.Context, cooldown time.Duration) {
	e.coolUntil = max(e.coolUntil, ctx.Now().Add(cooldown))
	was := e.machine.State()
	e.step(ctx, StepDownAsked)
	switch {
	case was == Leader:
		e.begin(ctx, term.SteppedDown, false)
	case was == Candidate && ctx.Now() < e.coolUntil:
		e.withdraw(ctx)
	}
}

// begin starts a handover. The term stays valid for the task to finish under its
// token, but only until D0, the deadline as it stands now: renewals go on, so the
// task of this leader could otherwise keep the lease for ever.
func (e *election) begin(ctx actor.Context, reason term.Reason, stop bool) {
	e.handover = handover{reason: reason, stop: stop}
	now := ctx.Now() // read first: D0 may come out a little before the deadline, never after it
	left := e.term.Remaining()
	term.Limit(e.term, now.Add(left))
	e.Sink(observe.HandoverStarted{Name: e.Name, Token: e.term.Token(), Remaining: left})
	e.cancelTask(reason)
	if e.task.term == nil {
		e.endTerm(ctx)
		return
	}
	ctx.After(left, handoverOver{e.term})
}

// handoverOver is for a task that has not exited in time.
func (e *election) handoverOver(ctx actor.Context, m handoverOver) {
	if m.term != e.term {
		return
	}
	if left := e.term.Remaining(); left > 0 {
		// Timers need not follow the clock. Until D0 the task may rely on its term, so
		// releasing the lease now would let two of them act at once.
		ctx.After(left, m)
		return
	}
	e.Sink(observe.HandoverTimedOut{Name: e.Name, Token: e.term.Token()})
	e.endTerm(ctx)
}

// endTerm ends the term here, and only then releases its lease (R23).
func (e *election) endTerm(ctx actor.Context) {
	t := e.term
	if !term.End(t, e.handover.reason) {
		// The session ended it at the same moment, and its word is on the way.
		e.finishHandover(ctx, t.Reason())
		return
	}
	e.releasing = t
	ctx.Send(e.Session, session.Release{Term: t})
	e.finishHandover(ctx, e.handover.reason)
}

// finishHandover is the same whether the handover went as planned or the term was
// lost meanwhile.
func (e *election) finishHandover(ctx actor.Context, reason term.Reason) {
	if e.handover.stop {
		e.step(ctx, HandedOverLast)
		e.coolUntil = 0
	} else {
		e.step(ctx, HandedOver)
	}
	e.handover = handover{}
	e.over(ctx, reason)
}

// await notes a caller, who waits for what is under way or about to begin.
func (e *election) await(replyTo actor.Ref) {
	e.waiters = append(e.waiters, waiter{
		replyTo: replyTo,
		term:    cmp.Or(e.term, e.releasing),
		due:     e.callbacks.queued,
	})
}

// dueNow says that the last callback of a term was enqueued.
func (e *election) dueNow(t *term.Term) {
	for i := range e.waiters {
		if e.waiters[i].term == t {
			e.waiters[i].due = e.callbacks.queued
		}
	}
}

// answer answers the callers for whom everything is done.
func (e *election) answer() {
	rest := e.waiters[:0]
	for _, w := range e.waiters {
		if e.waits(w) {
			rest = append(rest, w)
			continue
		}
		e.later(w.replyTo, session.Done{})
	}
	clear(e.waiters[len(rest):])
	if e.waiters = rest; len(rest) == 0 {
		e.waiters = nil
	}
}

func (e *election) waits(w waiter) bool {
	open := w.term != nil && (w.term == e.term || w.term == e.releasing)
	return open || w.due > e.callbacks.done
}
