package sim

import (
	"container/heap"
	"fmt"
	"math"
	"time"

	"github.com/simba-go/simba/actor"
)

// Node is a machine: a clock, and the processes on it. It is the [actor.Clock] of
// its actors.
type Node struct {
	world  *World
	name   string
	clock  clock
	paused bool
	held   []*event // that came while it was paused
	actors map[*process]struct{}
}

// NewNode adds a machine whose clock reads offset now, and advances by rate
// seconds in each true second. The rate is taken in whole parts per billion.
func (w *World) NewNode(name string, offset time.Duration, rate float64) *Node {
	perSecond := math.Round(rate * billion)
	if !(perSecond >= 1 && perSecond <= 1000*billion) {
		panic(fmt.Sprintf("sim: the clock of %s has the rate %v; it must be from 1e-9 to 1000", name, rate))
	}
	return &Node{
		world: w, name: name, actors: make(map[*process]struct{}),
		clock: clock{epoch: w.now, origin: actor.Instant(offset), rate: uint64(perSecond)},
	}
}

// String returns the node's name.
func (n *Node) String() string { return n.name }

// Now reads the node's clock.
func (n *Node) Now() actor.Instant { return n.clock.at(n.world.now) }

// when returns the first true instant at which the node's clock has advanced by d.
func (n *Node) when(d time.Duration) actor.Instant {
	if d <= 0 {
		return n.world.now
	}
	return max(n.world.now, n.clock.when(n.Now().Add(d)))
}

// Pause stops the node's processes, like SIGSTOP. Messages and timers wait.
func (n *Node) Pause() { n.paused = true }

// Paused reports whether the node is paused.
func (n *Node) Paused() bool { return n.paused }

// Resume lets them go on, with everything that has waited, in order.
func (n *Node) Resume() {
	n.paused = false
	held := n.held
	n.held = nil
	for _, e := range held {
		heap.Push(&n.world.events, e) // in its old place: before all that is due now
	}
}

// Crash ends the node's processes without a word. It can be used again at once,
// like a machine that has been restarted.
func (n *Node) Crash() {
	for p := range n.actors {
		p.ended, p.crashed = true, true
	}
	clear(n.actors)
	n.paused, n.held = false, nil
}

// Spawn starts an actor on the node.
func (n *Node) Spawn(name string, b actor.Behavior) actor.Ref { return n.spawn(name, b, nil) }

func (n *Node) spawn(name string, b actor.Behavior, parent *process) *process {
	p := &process{node: n, name: n.name + "/" + name, behavior: b, parent: parent}
	n.actors[p] = struct{}{}
	n.world.push(&event{at: n.world.now, to: p, msg: actor.Started{}})
	return p
}

// Stop tells an actor to end once it has handled what is on its way to it now.
func (n *Node) Stop(ref actor.Ref) {
	if p, ok := ref.(*process); ok && p.node == n {
		p.Tell(stop{})
	}
}

// Address is the address of a service, which outlives the actor that serves it. A
// message reaches whichever actor it is bound to when it is sent.
type Address struct{ ref actor.Ref }

// Bind makes the actor serve from now on.
func (a *Address) Bind(ref actor.Ref) { a.ref = ref }

// Tell passes a message on.
func (a *Address) Tell(msg actor.Message) { a.ref.Tell(msg) }

// String names the actor that serves.
func (a *Address) String() string { return a.ref.String() }
