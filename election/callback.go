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

// callbacks run one at a time and in order. The election goes on meanwhile.
type callbacks struct {
	queue   []callback // the first one is under way
	queued  uint64     // in all
	done    uint64     // in all
	refused *term.Term // of which nobody has learnt; its OnRevoked is left out
}

func (e *election) enqueue(ctx actor.Context, c callback) {
	if c.reason != term.None && c.term == e.callbacks.refused {
		return
	}
	e.callbacks.queue = append(e.callbacks.queue, c)
	e.callbacks.queued++
	if len(e.callbacks.queue) == 1 {
		e.callNext(ctx)
	}
}

// callNext asks the host for the callback that heads the queue.
func (e *election) callNext(ctx actor.Context) {
	if len(e.callbacks.queue) == 0 {
		return
	}
	c := e.callbacks.queue[0]
	if c.reason == term.None {
		ctx.Send(e.Host, RunElected{ReplyTo: ctx.Self(), Term: c.term})
		return
	}
	ctx.Send(e.Host, RunRevoked{ReplyTo: ctx.Self(), Term: c.term, Reason: c.reason})
}

func (e *election) callbackDone(ctx actor.Context, m CallbackDone) {
	if len(e.callbacks.queue) == 0 {
		return
	}
	c := e.callbacks.queue[0]
	if m.Err != nil {
		e.lastErr = m.Err
		e.Sink(observe.CallbackFailed{Name: e.Name, Token: c.term.Token(), Err: m.Err})
	}
	e.shift(ctx)
	if c.reason == term.None && c.term == e.term {
		e.startTask(ctx)
	}
}

// shift removes the callback that has run, and goes on with the next.
func (e *election) shift(ctx actor.Context) {
	e.callbacks.queue[0] = callback{}
	if e.callbacks.queue = e.callbacks.queue[1:]; len(e.callbacks.queue) == 0 {
		e.callbacks.queue = nil
	}
	e.callbacks.done++
	e.callNext(ctx)
	e.answer(ctx)
}

// callbackRefused is for a term of which nobody has learnt. The task has not
// started and never will, and its OnRevoked is not delivered, also if it is
// queued already; somebody else shall lead for a while.
func (e *election) callbackRefused(ctx actor.Context, m CallbackRefused) {
	if len(e.callbacks.queue) == 0 || e.callbacks.queue[0].term != m.Term {
		return
	}
	e.lastErr = m.Err
	e.Sink(observe.CallbackRefused{Name: e.Name, Token: m.Term.Token(), Err: m.Err})
	e.callbacks.refused = m.Term
	if q := e.callbacks.queue; len(q) > 1 && q[1].term == m.Term {
		e.callbacks.queue = append(q[:1], q[2:]...)
		e.callbacks.done++
	}
	e.shift(ctx)
	if m.Term == e.term && e.machine.State() == Leader {
		e.stepDown(ctx, e.Params.Lease)
	}
}
