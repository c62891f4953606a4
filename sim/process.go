package sim

import (
	"context"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/simba-go/simba/actor"
)

// process is an actor of a node, and its own context.
type process struct {
	node     *Node
	name     string
	id       uint64 // in the order in which actors were spawned
	behavior actor.Behavior
	parent   *process
	random   *rand.Rand // nil as long as nothing was drawn
	stopping bool
	ended    bool
	crashed  bool          // ended with its machine
	ready    actor.Instant // when it gets to what is last in its mailbox
}

var _ actor.Context = (*process)(nil)

// stop is the message behind [Node.Stop].
type stop struct{}

// receive handles one message like the production runtime does: a panic ends this
// actor only, one that was stopped hears of it last, and its parent after that.
func (p *process) receive(msg actor.Message) {
	if _, ok := msg.(stop); ok {
		p.stopping = true
	} else if err := p.call(msg); err != nil {
		p.finish(err)
		refuse(p, msg)
		return
	}
	if p.stopping {
		p.finish(p.call(actor.Stopping{}))
	}
}

// call lets the behaviour handle one message, and returns its panic.
func (p *process) call(msg actor.Message) (err error) {
	defer func() {
		v := recover()
		switch {
		case p.node.world.gaveUp:
			panic(v)
		case v != nil:
			err = &actor.PanicError{Where: p.name, Value: v, Stack: debug.Stack()}
		}
	}()
	p.behavior.Receive(p, msg)
	return nil
}

func (p *process) finish(err error) {
	p.ended = true
	delete(p.node.actors, p)
	if err != nil {
		p.Report(err)
	}
	if p.parent != nil {
		p.Send(p.parent, actor.Exited{Ref: p, Err: err})
	}
	p.behavior = nil
}

// Tell sends from outside of any actor: at once, and without a network.
func (p *process) Tell(msg actor.Message) {
	w := p.node.world
	w.post(w.now, p, msg)
}

func (p *process) String() string     { return p.name }
func (p *process) Self() actor.Ref    { return p }
func (p *process) Now() actor.Instant { return p.node.Now() }
func (p *process) Stop()              { p.stopping = true }
func (p *process) Report(err error)   { p.node.world.OnReport(p, err) }

// Random draws from a sequence of the actor's own: what others draw, or do not, changes
// nothing of what it does.
func (p *process) Random(n int64) int64 {
	if p.random == nil {
		p.random = rand.New(rand.NewPCG(p.node.world.random, p.id))
	}
	return p.random.Int64N(n)
}

func (p *process) Send(to actor.Ref, msg actor.Message) {
	w := p.node.world
	if a, ok := to.(*Address); ok {
		to = a.ref
	}
	for _, f := range w.onSend {
		f(p, to, msg)
	}
	q, ok := to.(*process)
	switch {
	case !ok:
		to.Tell(msg)
	case q.node == p.node:
		q.Tell(msg)
	default:
		w.carry(p.node, q, msg)
	}
}

// carry takes a message from one machine to an actor on another.
func (w *World) carry(from *Node, to *process, msg actor.Message) {
	w.arrival = w.Network(w.arrival[:0], from, to.node, msg)
	for _, f := range w.onTravel {
		f(from, to.node, msg, w.arrival)
	}
	for _, d := range w.arrival {
		w.post(w.now.Add(d), to, msg)
	}
}

func (p *process) Spawn(name string, b actor.Behavior) actor.Ref {
	return p.node.spawn(name, b, p)
}

// Go runs work at once: virtual time stands still meanwhile, and the answer comes
// like any message.
func (p *process) Go(work func(ctx context.Context) actor.Message) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if answer := p.contain(ctx, work); answer != nil {
		p.Tell(answer)
	}
}

func (p *process) contain(ctx context.Context, work func(ctx context.Context) actor.Message) (answer actor.Message) {
	defer func() {
		if v := recover(); v != nil {
			answer = &actor.PanicError{Where: p.name, Value: v, Stack: debug.Stack()}
		}
	}()
	return work(ctx)
}

func (p *process) After(d time.Duration, msg actor.Message) actor.Timer {
	e := &event{to: p, msg: msg, timer: true}
	p.node.world.push(p.node.when(d), e)
	return e
}
