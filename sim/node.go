package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
)

// Node is a machine: a clock, and the processes on it. It is the [actor.Clock] of
// its actors.
type Node struct {
	world  *World
	name   string
	offset actor.Instant // of its clock from true time
	rate   float64       // of its clock against true time, 1 for a perfect one
	paused bool
	held   []*event // that came while it was paused
	actors []*process
}

// NewNode adds a machine whose clock reads offset now, and advances by rate
// seconds in each true second.
func (w *World) NewNode(name string, offset time.Duration, rate float64) *Node {
	if rate <= 0 {
		panic(fmt.Sprintf("sim: the clock of %s has the rate %v; it must be positive", name, rate))
	}
	return &Node{world: w, name: name, offset: actor.Instant(offset) - actor.Instant(float64(w.now)*rate), rate: rate}
}

// String returns the node's name.
func (n *Node) String() string { return n.name }

// Now reads the node's clock.
func (n *Node) Now() actor.Instant { return n.offset + actor.Instant(float64(n.world.now)*n.rate) }

// when returns the first true instant at which the node's clock has advanced by d.
func (n *Node) when(d time.Duration) actor.Instant {
	if d <= 0 {
		return n.world.now
	}
	due := n.Now().Add(d)
	at := n.world.now.Add(time.Duration(float64(d) / n.rate))
	for n.offset+actor.Instant(float64(at)*n.rate) < due {
		at++
	}
	return at
}

// Pause stops the node's processes, like SIGSTOP. Messages and timers wait.
func (n *Node) Pause() { n.paused = true }

// Resume lets them go on, with everything that has waited, in order.
func (n *Node) Resume() {
	n.paused = false
	held := n.held
	n.held = nil
	for _, e := range held {
		e.at = n.world.now
		n.world.push(e)
	}
}

// Crash ends the node's processes without a word.
func (n *Node) Crash() {
	for _, p := range n.actors {
		p.ended = true
	}
	n.actors, n.held = nil, nil
}

// Spawn starts an actor on the node.
func (n *Node) Spawn(name string, b actor.Behavior) actor.Ref {
	p := &process{node: n, name: n.name + "/" + name, behavior: b}
	n.actors = append(n.actors, p)
	n.world.push(&event{at: n.world.now, to: p, msg: actor.Started{}})
	return p
}

// process is an actor of a node, and its own context.
type process struct {
	node     *Node
	name     string
	behavior actor.Behavior
	parent   actor.Ref
	stopping bool
	ended    bool
}

var _ actor.Context = (*process)(nil)

func (p *process) receive(msg actor.Message) {
	p.behavior.Receive(p, msg)
	if p.stopping && !p.ended {
		p.behavior.Receive(p, actor.Stopping{})
		p.ended = true
		if p.parent != nil {
			p.Send(p.parent, actor.Exited{Ref: p})
		}
	}
}

// Tell sends from outside of any actor, without a network.
func (p *process) Tell(msg actor.Message) {
	w := p.node.world
	w.push(&event{at: w.now, to: p, msg: msg})
}

func (p *process) String() string             { return p.name }
func (p *process) Self() actor.Ref            { return p }
func (p *process) Now() actor.Instant         { return p.node.Now() }
func (p *process) Stop()                      { p.stopping = true }
func (p *process) Report(err error)           { p.node.world.OnReport(p, err) }
func (p *process) Random(n int64) int64       { return p.node.world.chooser.Choose(p.name, n) }
func (p *process) Send(to actor.Ref, msg any) { p.send(to, msg) }

func (p *process) send(to actor.Ref, msg actor.Message) {
	q, ok := to.(*process)
	if !ok || q.node == p.node {
		to.Tell(msg)
		return
	}
	w := p.node.world
	for _, d := range w.Network(p.node, q.node, msg) {
		w.push(&event{at: w.now.Add(d), to: q, msg: msg})
	}
}

func (p *process) Spawn(name string, b actor.Behavior) actor.Ref {
	q := p.node.Spawn(name, b).(*process)
	q.parent = p
	return q
}

// Go runs work at once: virtual time stands still meanwhile, and the answer comes
// like any message.
func (p *process) Go(work func(ctx context.Context) actor.Message) {
	if answer := work(context.Background()); answer != nil {
		p.Tell(answer)
	}
}

func (p *process) After(d time.Duration, msg actor.Message) actor.Timer {
	t := &timer{}
	p.node.world.push(&event{at: p.node.when(d), to: p, msg: msg, timer: t})
	return t
}

type timer struct{ spent bool }

func (t *timer) Stop() bool {
	was := t.spent
	t.spent = true
	return !was
}
