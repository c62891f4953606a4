package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/term"
)

// Script is the user's code of one election, as far as the election can tell.
type Script struct {
	// Callback is how long each callback takes; nil means that there is no
	// listener.
	Callback func(t *term.Term, reason term.Reason) time.Duration
	// Refuse says which OnElected the executor does not take.
	Refuse func(t *term.Term) bool
	// Task is what a run of the task is like; nil means that there is no task.
	Task func(t *term.Term) Work
	// AfterReturn and AfterFailure are the election's policies.
	AfterReturn, AfterFailure election.Policy
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
}

// Quick is a listener whose callbacks take no time.
func Quick(*term.Term, term.Reason) time.Duration { return 0 }

// Diligent is a task that works until it is cancelled and returns at once then.
func Diligent(*term.Term) Work { return Work{} }

// errRefused is what the executor of a [Script] says.
var errRefused = errors.New("sim: the executor refuses")

// host is an election's host that acts out a script.
type host struct {
	world  *World
	script Script
	name   string

	calling bool       // a callback runs
	told    *term.Term // that was elected and not revoked
	running *term.Term // of the task
	exit    actor.Timer
	work    Work
	replyTo actor.Ref
}

// NewHost returns the behaviour of the host of an election of that name. It fails
// the world when the election asks for what it must not.
func NewHost(w *World, name string, s Script) actor.Behavior {
	return &host{world: w, name: name, script: s}
}

type (
	called struct {
		replyTo actor.Ref
		answer  election.CallbackDone
	}
	exited struct{ term *term.Term }
)

// Receive acts out what the election asks for.
func (h *host) Receive(ctx actor.Context, msg actor.Message) {
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
	case exited:
		h.running = nil
		ctx.Send(h.replyTo, election.TaskExited{Term: m.term, Err: h.work.Err})
	}
}

// must fails the world unless ok.
func (h *host) must(ok bool, format string, args ...any) {
	if !ok {
		h.world.Fail(fmt.Errorf("the user's code of %q: %s", h.name, fmt.Sprintf(format, args...)))
	}
}

func (h *host) elected(ctx actor.Context, m election.RunElected) {
	h.must(!h.calling, "OnElected of token %d during another callback", m.Term.Token())
	h.must(h.told == nil, "OnElected of token %d before OnRevoked of the term before", m.Term.Token())
	if h.script.Refuse != nil && h.script.Refuse(m.Term) {
		ctx.Send(m.ReplyTo, election.CallbackRefused{Term: m.Term, Err: errRefused})
		return
	}
	h.told = m.Term
	h.call(ctx, m.ReplyTo, m.Term, term.None)
}

func (h *host) revoked(ctx actor.Context, m election.RunRevoked) {
	h.must(!h.calling, "OnRevoked of token %d during another callback", m.Term.Token())
	h.must(h.told == m.Term, "OnRevoked of token %d without its OnElected", m.Term.Token())
	h.must(!m.Term.Valid(), "OnRevoked of token %d while the term is valid", m.Term.Token())
	h.told = nil
	h.call(ctx, m.ReplyTo, m.Term, m.Reason)
}

func (h *host) call(ctx actor.Context, replyTo actor.Ref, t *term.Term, reason term.Reason) {
	h.calling = true
	ctx.After(h.script.Callback(t, reason), called{replyTo, election.CallbackDone{Term: t}})
}

func (h *host) start(ctx actor.Context, m election.StartTask) {
	h.must(h.running == nil, "the task starts for token %d while it runs", m.Term.Token())
	h.running, h.replyTo, h.work, h.exit = m.Term, m.ReplyTo, h.script.Task(m.Term), nil
	if h.work.Lasts > 0 {
		h.exit = ctx.After(h.work.Lasts, exited{m.Term})
	}
}

func (h *host) cancel(ctx actor.Context, m election.CancelTask) {
	if h.running != m.Term || h.work.Deaf {
		return
	}
	if h.exit != nil {
		h.exit.Stop()
	}
	h.exit = ctx.After(h.work.Tidies, exited{m.Term})
}
