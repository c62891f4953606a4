// Package election contends for one name, again and again. Each election is an
// actor with an explicit state machine; it asks its session for terms, and its
// host to run the user's callbacks and task.
package election

import (
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// Config is what an election needs: a Name, a Session that has joined it, and a Sink
// for its events, besides what follows.
type Config struct {
	Name    string
	Session actor.Ref
	// Host runs the user's code. It may be nil if there is none.
	Host actor.Ref
	// Listens and Works say whether the host has callbacks and a task to run.
	Listens, Works bool
	// AfterReturn and AfterFailure are the policies for a task that returned nil,
	// or an error or a panic.
	AfterReturn, AfterFailure Policy
	// Params are those of the session.
	Params session.Params
	Sink   observe.Sink
	// View receives a snapshot whenever something in it has changed.
	View *atomic.Pointer[Snapshot]
}

// New returns the behaviour of an election. It contends once it is told [Start].
// When it has stopped and nothing of it is left, its actor ends by itself.
func New(c Config) actor.Behavior {
	e := &election{Config: c, machine: actor.NewMachine(Table)}
	e.publish()
	return e
}

// election is the actor. Its files: election.go wins and loses, handover.go gives
// a term up, callback.go and task.go ask the host.
type election struct {
	Config
	machine   actor.Machine[Status, Event]
	started   bool   // the name is joined at the session
	left      bool   // and given back
	standing  bool   // a candidacy is entered at the session
	candidacy uint64 // the number of the last one
	term      *term.Term
	coolUntil actor.Instant
	cooling   bool // a cooldownOver is on its way
	handover  handover
	releasing *term.Term // released, and not settled yet
	callbacks callbacks
	task      task
	waiters   []waiter
	outbox    []letter
	lastErr   error
}

// letter is for somebody who may look at the election's snapshot when it arrives.
type letter struct {
	to  actor.Ref
	msg actor.Message
}

// Timers of the election itself. None is stopped: those of a term carry it, and mean
// nothing in another one, and the end of a cooldown is looked up when one is due.
type (
	cooldownOver struct{}
	handoverOver struct{ term *term.Term }
	restartNow   struct{ term *term.Term }
	overrunning  struct{ term *term.Term }
)

// Receive handles one message. What may follow from any of them is done here, once,
// so that no handler can forget it.
func (e *election) Receive(ctx actor.Context, msg actor.Message) {
	returned := false
	defer func() {
		if !returned {
			e.abort(ctx)
		}
	}()
	e.handle(ctx, msg)
	e.contend(ctx)
	e.leave(ctx)
	e.answer()
	e.publish()
	e.post(ctx)
	if e.finished() {
		ctx.Stop()
	}
	returned = true
}

func (e *election) handle(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case Start:
		e.started = true
	case *actor.Request:
		e.request(ctx, m)
	case session.Won:
		e.won(ctx, m)
	case session.Lost:
		e.lost(m)
	case session.Ended:
		e.ended(ctx, m)
	case session.Settled:
		e.settled(m)
	case CallbackDone:
		e.callbackDone(ctx, m)
	case CallbackRefused:
		e.callbackRefused(ctx, m)
	case TaskExited:
		e.taskExited(ctx, m)
	case cooldownOver:
		e.cooling = false
	case handoverOver:
		e.handoverOver(ctx, m)
	case restartNow:
		e.restart(ctx, m)
	case overrunning:
		e.overrunning(m)
	case actor.Stopping:
		if !e.finished() {
			e.abort(ctx)
		}
	}
}

func (e *election) request(ctx actor.Context, r *actor.Request) {
	switch m := r.Message.(type) {
	case Stop:
		e.stop(ctx, r.ReplyTo())
	case StepDown:
		e.stepDownAsked(ctx, m.Cooldown, r.ReplyTo())
	}
}

// step moves the state machine. An event that its table does not have is a bug,
// and reported as one.
func (e *election) step(ctx actor.Context, ev Event) {
	if err := e.machine.Step(ev); err != nil {
		ctx.Report(err)
	}
}

// contend enters a candidacy, unless something speaks against it.
func (e *election) contend(ctx actor.Context) {
	switch {
	case !e.started, e.machine.State() != Candidate, e.standing:
		return
	case e.task.term != nil:
		return // R31: two tasks of one election must never run in one process
	case ctx.Now() < e.coolUntil:
		// Timers need not follow the clock, and a second step-down may have moved
		// the end. So this looks again whenever the timer fires.
		if !e.cooling {
			e.cooling = true
			ctx.After(e.coolUntil.Sub(ctx.Now()), cooldownOver{})
		}
		return
	}
	e.coolUntil = 0
	e.candidacy++
	e.standing = true
	ctx.Send(e.Session, session.Contend{Name: e.Name, Candidacy: e.candidacy})
}

func (e *election) withdraw(ctx actor.Context) {
	if e.standing {
		e.standing = false
		ctx.Send(e.Session, session.Withdraw{Name: e.Name})
	}
}

func (e *election) won(ctx actor.Context, m session.Won) {
	t := m.Terms[0]
	if !e.standing || m.Candidacy != e.candidacy {
		// R29: withdrawn while the answer was on its way here. Nobody has seen the
		// term, and it ends before its lease is released (R23).
		term.End(t, term.Stopped)
		ctx.Send(e.Session, session.Release{Term: t})
		return
	}
	e.step(ctx, Win)
	e.standing = false
	e.term = t
	e.Sink(observe.Elected{Name: e.Name, Token: t.Token()})
	if e.Listens {
		e.enqueue(ctx, callback{term: t})
		return // the task starts once OnElected has run
	}
	e.startTask(ctx)
}

func (e *election) lost(m session.Lost) {
	if m.Err != nil && m.Candidacy == e.candidacy {
		e.lastErr = m.Err
	}
}

// ended is the involuntary end: the session has ended the term already, and with
// it the task's context. The lease may be another's by now, so nothing waits for
// the task but this election's next candidacy (R31).
func (e *election) ended(ctx actor.Context, m session.Ended) {
	if m.Term != e.term {
		return // it ended here first
	}
	e.cancelTask(m.Reason)
	if e.machine.State() == SteppingDown {
		e.finishHandover(ctx, m.Reason)
		return
	}
	e.step(ctx, Lose)
	e.over(ctx, m.Reason)
}

// over is what follows the end of a term, whatever its reason.
func (e *election) over(ctx actor.Context, reason term.Reason) {
	t := e.term
	e.term = nil
	e.Sink(observe.Revoked{Name: e.Name, Token: t.Token(), Reason: reason})
	if e.task.term != nil {
		// A task that heeds its context is about to return.
		ctx.After(e.Params.MinBackoff, overrunning{t})
	}
	if e.Listens {
		e.enqueue(ctx, callback{term: t, reason: reason})
	}
	e.dueNow(t)
}

func (e *election) settled(m session.Settled) {
	if m.Term == e.releasing {
		e.releasing = nil
	}
}

// leave gives the name back, once: it may be somebody else's afterwards. The lease
// need not be free yet, because the session itself holds back attempts while a
// release is pending. But a task that still runs keeps the name, so that nothing
// of this client acts under it at the same time (R31).
func (e *election) leave(ctx actor.Context) {
	if e.machine.State() != Stopped || !e.started || e.left || e.task.term != nil {
		return
	}
	e.left = true
	ctx.Send(e.Session, session.Leave{Name: e.Name, Owner: ctx.Self()})
}

// finished reports whether nothing is left to come. Whoever asks the election for
// anything later learns that it has stopped. What the session may still send, a win
// that was under way or its settlement, it has dealt with itself when the name was
// given back.
func (e *election) finished() bool {
	return e.machine.State() == Stopped && len(e.callbacks.queue) == 0 &&
		e.task.term == nil && e.releasing == nil && len(e.waiters) == 0
}

// later posts msg at the end of this step, when the step's outcome can be seen.
func (e *election) later(to actor.Ref, msg actor.Message) {
	e.outbox = append(e.outbox, letter{to, msg})
}

func (e *election) post(ctx actor.Context) {
	for _, l := range e.outbox {
		ctx.Send(l.to, l.msg)
	}
	e.outbox = nil
}

// publish shows the election's state to whoever looks.
func (e *election) publish() {
	if e.View == nil {
		return
	}
	e.View.Store(&Snapshot{
		Name: e.Name, Status: e.machine.State(), Term: e.term, Cooldown: e.coolUntil,
		Running: e.task.term != nil, Restarts: e.task.restarts, LastErr: e.lastErr,
	})
}

// abort is the end after a bug, or with a system that is shut down too early:
// nobody acts under the term any longer, and nobody waits for an answer. A task
// may still be on its way out, and nobody is left to wait for it; so the lease
// stays with the session, because no leader is better than two.
func (e *election) abort(ctx actor.Context) {
	if e.term != nil {
		term.End(e.term, term.Stopped) // which cancels the task's context
	}
	for _, w := range e.waiters {
		ctx.Send(w.replyTo, &AbortedError{Name: e.Name})
	}
	e.waiters = nil
	if e.started && !e.left && e.task.term == nil {
		e.left = true
		ctx.Send(e.Session, session.Leave{Name: e.Name, Owner: ctx.Self()})
	}
}

// backoff doubles from MinBackoff to RenewInterval.
func (e *election) backoff(failures int) time.Duration {
	d := e.Params.RenewInterval
	if shift := uint(min(failures, 62)); e.Params.MinBackoff <= d>>shift {
		d = e.Params.MinBackoff << shift
	}
	return d
}
