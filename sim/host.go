package sim

import (
	"errors"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/schedule"
	"github.com/simba-go/simba/term"
)

// Script is the user's code of one election, as far as the election can tell.
type Script struct {
	// Callback is what each callback is like; nil means that there is no listener.
	Callback func(t *term.Term, reason term.Reason) Call
	// Refuse says which OnElected the executor does not take.
	Refuse func(t *term.Term) bool
	// Task is what a run of the task is like; nil means that there is no task.
	Task func(t *term.Term) Work
	// Plan makes the task one that runs again and again, by a schedule; nil for none.
	Plan *schedule.Plan
	// AfterReturn and AfterFailure are the election's policies.
	AfterReturn, AfterFailure election.Policy
}

// Call is one run of a callback. The zero value takes no time.
type Call struct {
	Lasts  time.Duration // until it returns
	Inline bool          // on the engine's own step, without a detour
	Panics bool          // instead of a return
	Then   func()        // what it does first, calls from inside, if any
}

// Work is one run of a task.
type Work struct {
	// Lasts is when the task returns by itself; zero means never.
	Lasts time.Duration
	// Deaf tasks do not heed that their context is cancelled. Others return Tidies
	// after that.
	Deaf   bool
	Tidies time.Duration // from the cancellation to the return
	// Err is what the task returns.
	Err error
	// Panics is a panic instead of the return.
	Panics bool
	// Writes is how often the task writes to the protected resource, without asking
	// whether its term is valid; zero means never.
	Writes time.Duration
	// Then is what it does first, calls from inside, if any.
	Then func()
}

// Quick is a listener whose callbacks take no time.
func Quick(*term.Term, term.Reason) Call { return Call{} }

// Diligent is a task that works until it is cancelled and returns at once then.
func Diligent(*term.Term) Work { return Work{} }

var (
	errRefused          = errors.New("sim: the executor refuses")
	errCallbackPanicked = errors.New("sim: the callback panicked")
)

// Host is an election's host that acts out a script, and watches over what users
// rely on.
type Host struct {
	cluster *Cluster
	script  Script
	name    string

	calling   bool       // a callback runs
	told      *term.Term // that was elected and not revoked
	stopped   bool       // the wait of Stop has ended
	running   *term.Term // of the task
	run       int        // of the task
	exit      actor.Timer
	cancelled bool // the task's context, which is done once and for all
	work      Work
	replyTo   actor.Ref
}

// NewHost returns the behaviour of the host of an election of that name.
func NewHost(c *Cluster, name string, s Script) *Host {
	return &Host{cluster: c, name: name, script: s}
}

type (
	called struct {
		replyTo actor.Ref
		answer  election.CallbackDone
	}
	exited  struct{ term *term.Term }
	writeAt struct{ run int }
)

// Receive acts out what the election asks for.
func (h *Host) Receive(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case election.RunElected:
		h.elected(ctx, m)
	case election.RunRevoked:
		h.revoked(ctx, m)
	case called:
		h.calling = false
		ctx.Send(m.replyTo, m.answer)
	case election.StartTask:
		h.start(ctx, m)
	case election.CancelTask:
		h.cancel(ctx, m)
	case writeAt:
		h.write(ctx, m)
	case exited:
		h.running = nil
		ctx.Send(h.replyTo, election.TaskExited{Term: m.term, Err: h.work.Err})
	}
}

// must is what callbacks can rely on.
func (h *Host) must(ok bool, what string, t *term.Term) {
	if !ok {
		h.cluster.Monitor.violate(PairedCallbacks, "of %q with token %d: %s", h.name, t.Token(), what)
	}
}

func (h *Host) elected(ctx actor.Context, m election.RunElected) {
	h.must(!h.calling, "OnElected runs during another callback", m.Term)
	h.must(h.told == nil, "OnElected runs before OnRevoked of the term before", m.Term)
	h.must(!h.stopped, "OnElected runs after Stop has come back", m.Term)
	if h.script.Refuse != nil && h.script.Refuse(m.Term) {
		ctx.Send(m.ReplyTo, election.CallbackRefused{Term: m.Term, Err: errRefused})
		return
	}
	h.told = m.Term
	h.call(ctx, m.ReplyTo, m.Term, term.None)
}

func (h *Host) revoked(ctx actor.Context, m election.RunRevoked) {
	h.must(!h.calling, "OnRevoked runs during another callback", m.Term)
	h.must(h.told == m.Term, "OnRevoked runs without its OnElected", m.Term)
	h.must(!h.stopped, "OnRevoked runs after Stop has come back", m.Term)
	h.must(!m.Term.Valid(), "OnRevoked runs while the term is valid", m.Term)
	h.told = nil
	h.call(ctx, m.ReplyTo, m.Term, m.Reason)
}

// stopHasComeBack says that nothing is left to be heard of.
func (h *Host) stopHasComeBack() {
	if t := h.told; t != nil {
		h.must(false, "Stop has come back before OnRevoked", t)
	}
	if h.calling {
		h.cluster.Monitor.violate(PairedCallbacks, "of %q: Stop has come back during a callback", h.name)
	}
	h.stopped = true
}

func (h *Host) call(ctx actor.Context, replyTo actor.Ref, t *term.Term, reason term.Reason) {
	c := h.script.Callback(t, reason)
	answer := election.CallbackDone{Term: t}
	if c.Panics {
		answer.Err = errCallbackPanicked
	}
	if c.Then != nil {
		h.cluster.Monitor.Met[CalledFromInside]++
		c.Then()
	}
	if c.Inline {
		h.cluster.Monitor.Met[CallbackInline]++
		ctx.Send(replyTo, answer)
		return
	}
	h.calling = true
	ctx.After(c.Lasts, called{replyTo, answer})
}

func (h *Host) start(ctx actor.Context, m election.StartTask) {
	h.starts(m)
	h.running, h.replyTo, h.work, h.exit = m.Term, m.ReplyTo, h.script.Task(m.Term), nil
	h.cancelled = false
	h.run++
	if h.work.Panics {
		h.work.Err = errTaskPanicked
	}
	if h.work.Lasts > 0 {
		h.exit = ctx.After(h.work.Lasts, exited{m.Term})
	}
	if h.work.Writes > 0 {
		h.write(ctx, writeAt{h.run})
	}
	if h.work.Then != nil {
		h.cluster.Monitor.Met[CalledFromInside]++
		h.work.Then()
	}
}

func (h *Host) cancel(ctx actor.Context, m election.CancelTask) {
	if h.running != m.Term || h.work.Deaf || h.cancelled {
		return
	}
	h.cancelled = true
	if h.exit != nil {
		h.exit.Stop()
	}
	h.exit = ctx.After(h.work.Tidies, exited{m.Term})
}

func (h *Host) write(ctx actor.Context, m writeAt) {
	if h.running == nil || h.run != m.run {
		return
	}
	w := Write{Name: h.name, Token: h.running.Token()}
	ctx.Send(h.cluster.guarded, w)
	ctx.Send(h.cluster.unguarded, w)
	ctx.After(h.work.Writes, m)
}
