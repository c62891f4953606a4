package election

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// callback is OnElected or, with a reason, OnRevoked of a term.
type callback struct {
	term   *term.Term
	reason term.Reason
}

// callbacks run one at a time and in order (R38). The election goes on meanwhile.
type callbacks struct {
	queue   []callback // the first one is under way
	queued  uint64     // in all
	done    uint64     // in all
	refused *term.Term // of which nobody has learnt; its OnRevoked is left out
}

// enqueue makes a callback due. A term's OnElected is enqueued when it is won and
// its OnRevoked when it has ended, each once, which pairs them (R37).
func (e *election) enqueue(ctx actor.Context, c callback) {
	if c.reason != term.None && c.term == e.callbacks.refused {
		return
	}
	e.callbacks.queue = append(e.callbacks.queue, c)
	e.callbacks.queued++
	if len(e.callbacks.queue) == 1 {
		e.callFirst(ctx)
	}
}

// callFirst asks the host for the callback that heads the queue.
func (e *election) callFirst(ctx actor.Context) {
	c := e.callbacks.queue[0]
	if c.reason == term.None {
		e.later(e.Host, RunElected{ReplyTo: ctx.Self(), Term: c.term})
		return
	}
	e.later(e.Host, RunRevoked{ReplyTo: ctx.Self(), Term: c.term, Reason: c.reason})
}

// underWay reports whether a callback of t is the one that the host runs now.
func (c *callbacks) underWay(t *term.Term) bool {
	return len(c.queue) > 0 && c.queue[0].term == t
}

func (e *election) callbackDone(ctx actor.Context, m CallbackDone) {
	if !e.callbacks.underWay(m.Term) {
		return
	}
	if m.Err != nil {
		e.lastErr = m.Err
		e.Sink(observe.CallbackFailed{Name: e.Name, Token: m.Term.Token(), Err: m.Err})
	}
	elected := e.callbacks.queue[0].reason == term.None
	e.shift(ctx)
	if elected && m.Term == e.term {
		e.startTask(ctx)
	}
}

// shift removes the callback that has run, and goes on with the next.
func (e *election) shift(ctx actor.Context) {
	e.callbacks.queue[0] = callback{}
	e.callbacks.queue = e.callbacks.queue[1:]
	e.callbacks.done++
	if len(e.callbacks.queue) == 0 {
		e.callbacks.queue = nil
		return
	}
	e.callFirst(ctx)
}

// callbackRefused is for a term of which nobody has learnt (R42). Its task has not
// started and never will, and its OnRevoked is not delivered, also if it is queued
// already; somebody else shall lead for a while.
func (e *election) callbackRefused(ctx actor.Context, m CallbackRefused) {
	if !e.callbacks.underWay(m.Term) {
		return
	}
	e.lastErr = m.Err
	e.Sink(observe.CallbackRefused{Name: e.Name, Token: m.Term.Token(), Err: m.Err})
	if q := e.callbacks.queue; len(q) > 1 && q[1].term == m.Term {
		e.callbacks.queue = append(q[:1], q[2:]...)
		e.callbacks.done++
	}
	e.callbacks.refused = m.Term
	e.shift(ctx)
	// A later term that was won meanwhile has its own OnElected, to be refused or not.
	if e.machine.State() == Candidate || m.Term == e.term {
		e.stepDown(ctx, e.Params.Lease)
	}
}
