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

// Config is what an election needs.
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
	started   bool
	candidacy uint64 // the number of the last one
	standing  bool   // a candidacy is entered at the session
	term      *term.Term
	coolUntil actor.Instant
	coolTimer actor.Timer
	handover  handover
	callbacks callbacks
	task      task
	releasing *term.Term // released, and not settled yet
	waiters   []waiter
	lastErr   error
}

// Timers of the election itself.
type (
	cooldownOver struct{}
	handoverOver struct{ term *term.Term }
	restartNow   struct{ term *term.Term }
)

func (e *election) Receive(ctx actor.Context, msg actor.Message) {
	defer func() {
		if v := recover(); v != nil {
			e.abort(ctx)
			panic(v)
		}
	}()
	switch m := msg.(type) {
	case Start:
		e.started = true
		e.contend(ctx)
	case *actor.Request:
		e.request(ctx, m)
	case session.Won:
		e.won(ctx, m)
	case session.Lost:
		e.lost(m)
	case session.Ended:
		e.ended(ctx, m)
	case session.Settled:
		e.settled(ctx, m)
	case CallbackDone:
		e.callbackDone(ctx, m)
	case CallbackRefused:
		e.callbackRefused(ctx, m)
	case TaskExited:
		e.taskExited(ctx, m)
	case cooldownOver:
		e.coolTimer = nil
		e.contend(ctx)
	case handoverOver:
		e.handoverOver(ctx, m)
	case restartNow:
		e.restart(ctx, m)
	}
	e.publish()
	if e.finished() {
		ctx.Stop()
	}
}

// finished reports whether nothing is left to come. Whoever asks the election for
// anything later learns that it has stopped.
func (e *election) finished() bool {
	return e.machine.State() == Stopped && len(e.callbacks.queue) == 0 &&
		!e.task.running && e.releasing == nil && len(e.waiters) == 0
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

// contend enters a candidacy, unless something speaks against it. Every change
// that may have removed the last obstacle calls it.
func (e *election) contend(ctx actor.Context) {
	switch {
	case !e.started, e.machine.State() != Candidate, e.standing:
		return
	case e.task.running:
		return // two tasks of one election must never run in one process
	case ctx.Now() < e.coolUntil:
		e.armCooldown(ctx)
		return
	}
	e.candidacy++
	e.standing = true
	ctx.Send(e.Session, session.Contend{Name: e.Name, Candidacy: e.candidacy})
}

func (e *election) armCooldown(ctx actor.Context) {
	if e.coolTimer != nil {
		e.coolTimer.Stop()
	}
	e.coolTimer = ctx.After(e.coolUntil.Sub(ctx.Now()), cooldownOver{})
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
		// Withdrawn while the answer was on its way here. Nobody has seen the term.
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

// ended is the involuntary end: the session has ended the term already.
func (e *election) ended(ctx actor.Context, m session.Ended) {
	if m.Term != e.term {
		return // it ended here first
	}
	e.cancelTask(ctx, m.Reason)
	if e.machine.State() == SteppingDown {
		e.finishHandover(ctx, m.Reason)
		return
	}
	e.step(ctx, Lose)
	e.over(ctx, m.Reason)
	e.contend(ctx)
}

// over is what follows the end of a term, whatever its reason.
func (e *election) over(ctx actor.Context, reason term.Reason) {
	t := e.term
	e.term = nil
	e.Sink(observe.Revoked{Name: e.Name, Token: t.Token(), Reason: reason})
	if e.task.running {
		e.Sink(observe.TaskOverrunning{Name: e.Name, Token: t.Token()})
	}
	if e.Listens {
		e.enqueue(ctx, callback{term: t, reason: reason})
	}
}

func (e *election) settled(ctx actor.Context, m session.Settled) {
	if m.Term == e.releasing {
		e.releasing = nil
		e.answer(ctx)
	}
}

// leave gives the name back once the election has stopped.
func (e *election) leave(ctx actor.Context) { ctx.Send(e.Session, session.Leave{Name: e.Name}) }

// publish shows the election's state to whoever looks.
func (e *election) publish() {
	if e.View == nil {
		return
	}
	e.View.Store(&Snapshot{
		Name: e.Name, Status: e.machine.State(), Term: e.term, Cooldown: e.coolUntil,
		Running: e.task.running, Restarts: e.task.restarts, LastErr: e.lastErr,
	})
}

// abort is the end after a bug: nobody acts under the term any longer.
func (e *election) abort(ctx actor.Context) {
	if e.term != nil {
		term.End(e.term, term.Stopped)
		e.cancelTask(ctx, term.Stopped)
	}
	e.leave(ctx)
}

// backoff doubles from MinBackoff to RenewInterval.
func (e *election) backoff(failures int) time.Duration {
	d := e.Params.RenewInterval
	if shift := uint(min(failures, 62)); e.Params.MinBackoff <= d>>shift {
		d = e.Params.MinBackoff << shift
	}
	return d
}
