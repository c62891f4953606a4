package election

import (
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// handover is a voluntary one that is under way.
type handover struct {
	reason term.Reason
	stop   bool // the election stops afterwards
	timer  actor.Timer
}

// waiter is a caller of Stop or StepDown. It waits until the callbacks that were
// due when its handover ended have run, and the lease is free.
type waiter struct {
	replyTo actor.Ref
	due     uint64 // callbacks; 0 until the handover has ended
}

func (e *election) stop(ctx actor.Context, replyTo actor.Ref) {
	was := e.machine.State()
	e.step(ctx, StopAsked)
	switch was {
	case Candidate:
		e.withdraw(ctx)
		e.stopped(ctx)
	case Leader:
		e.begin(ctx, term.Stopped, true)
	case SteppingDown:
		e.handover.stop = true
	}
	e.await(ctx, replyTo)
}

func (e *election) stepDownAsked(ctx actor.Context, cooldown time.Duration, replyTo actor.Ref) {
	switch {
	case cooldown < 0:
		ctx.Send(replyTo, &CooldownError{Cooldown: cooldown})
		return
	case e.machine.State() == Stopped:
		ctx.Send(replyTo, &StoppedError{Name: e.Name})
		return
	}
	e.stepDown(ctx, cooldown)
	e.await(ctx, replyTo)
}

// stepDown starts a cooldown, or extends the one that runs, and hands the term
// over if there is one.
func (e *election) stepDown(ctx actor.Context, cooldown time.Duration) {
	e.coolUntil = max(e.coolUntil, ctx.Now().Add(cooldown))
	was := e.machine.State()
	e.step(ctx, StepDownAsked)
	switch was {
	case Candidate:
		e.withdraw(ctx)
		e.contend(ctx) // once the cooldown is over
	case Leader:
		e.begin(ctx, term.SteppedDown, false)
	}
}

// begin starts a handover. The term stays valid for the task to finish under its
// token, but only until the deadline as it stands now: renewals go on, so the
// task of this leader could otherwise hold the lease for ever.
func (e *election) begin(ctx actor.Context, reason term.Reason, stop bool) {
	e.handover = handover{reason: reason, stop: stop}
	left := e.term.Remaining()
	term.Limit(e.term, ctx.Now().Add(left))
	e.Sink(observe.HandoverStarted{Name: e.Name, Token: e.term.Token(), Remaining: left})
	e.cancelTask(ctx, reason)
	if !e.task.running {
		e.endTerm(ctx)
		return
	}
	e.handover.timer = ctx.After(left, handoverOver{e.term})
}

// handoverOver is for a task that has not exited in time.
func (e *election) handoverOver(ctx actor.Context, m handoverOver) {
	if m.term != e.term || e.machine.State() != SteppingDown {
		return
	}
	e.Sink(observe.HandoverTimedOut{Name: e.Name, Token: e.term.Token()})
	e.endTerm(ctx)
}

// endTerm ends the term here, and only then releases its lease.
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
	if e.handover.timer != nil {
		e.handover.timer.Stop()
		e.handover.timer = nil
	}
	if e.handover.stop {
		e.step(ctx, HandedOverLast)
	} else {
		e.step(ctx, HandedOver)
	}
	e.over(ctx, reason)
	for i := range e.waiters {
		e.waiters[i].due = e.callbacks.queued
	}
	if e.machine.State() == Stopped {
		e.stopped(ctx)
	}
	e.contend(ctx)
	e.answer(ctx)
}

// stopped is the end of the election. Its name is free for another one at once:
// the session itself holds back attempts while a release is pending.
func (e *election) stopped(ctx actor.Context) {
	if e.coolTimer != nil {
		e.coolTimer.Stop()
	}
	e.coolUntil = 0
	e.leave(ctx)
}

// await answers a caller as soon as there is nothing to wait for.
func (e *election) await(ctx actor.Context, replyTo actor.Ref) {
	w := waiter{replyTo: replyTo, due: e.callbacks.queued}
	e.waiters = append(e.waiters, w)
	e.answer(ctx)
}

func (e *election) answer(ctx actor.Context) {
	if e.machine.State() == SteppingDown || e.releasing != nil {
		return
	}
	rest := e.waiters[:0]
	for _, w := range e.waiters {
		if w.due > e.callbacks.done {
			rest = append(rest, w)
			continue
		}
		ctx.Send(w.replyTo, session.Done{})
	}
	clear(e.waiters[len(rest):])
	e.waiters = rest
}
