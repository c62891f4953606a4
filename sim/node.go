package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/simba-go/simba/actor"
)

// Node is an operating system's process on a machine, with its actors. It is their
// [actor.Clock]. Several nodes may be on one machine.
type Node struct {
	world   *World
	name    string
	machine *machine
	paused  bool
	held    []slot // what came while it was frozen
	actors  map[*process]struct{}
	watch   *nodeWatch // what a monitor keeps of it, if there is one
}

// machine is what the nodes on it share: a clock that counts time asleep, and
// sleep.
type machine struct {
	clock  clock
	past   []clock // what it was before it was set
	nodes  []*Node
	asleep bool
	since  actor.Instant // of true time
	slept  time.Duration // in all, by the clock: what timers do not count, and so its jumps too
}

// set makes the clock go on as another one.
func (m *machine) set(c clock) {
	m.past = append(m.past, m.clock)
	m.clock = c
}

// at returns what the clock read at a true instant that has passed.
func (m *machine) at(t actor.Instant) actor.Instant {
	c := m.clock
	for i := len(m.past); i > 0 && t < c.epoch; i-- {
		c = m.past[i-1]
	}
	return c.at(t)
}

// NewNode adds a machine with one node, whose clock reads offset now, and advances
// by rate seconds in each true second. The rate is taken in whole parts per
// billion, and is from 1e-9 to 1000.
func (w *World) NewNode(name string, offset time.Duration, rate float64) *Node {
	m := &machine{clock: clock{epoch: w.now, origin: actor.Instant(offset), rate: perSecond(name, rate)}}
	return m.newNode(w, name)
}

func perSecond(name string, rate float64) uint64 {
	n := math.Round(rate * billion)
	if !(n >= 1 && n <= 1000*billion) {
		panic(fmt.Sprintf("sim: the clock of %s has the rate %v; it must be from 1e-9 to 1000", name, rate))
	}
	return uint64(n)
}

func (m *machine) newNode(w *World, name string) *Node {
	n := &Node{world: w, name: name, machine: m, actors: make(map[*process]struct{})}
	m.nodes = append(m.nodes, n)
	return n
}

// Neighbour adds another node on the same machine.
func (n *Node) Neighbour(name string) *Node { return n.machine.newNode(n.world, name) }

// SameMachine reports whether the nodes are on one machine.
func (n *Node) SameMachine(other *Node) bool { return n.machine == other.machine }

// Has reports whether an actor is on the node.
func (n *Node) Has(ref actor.Ref) bool {
	p, ok := ref.(*process)
	return ok && p.node == n
}

// String returns the node's name.
func (n *Node) String() string { return n.name }

// Now reads the node's clock.
func (n *Node) Now() actor.Instant { return n.machine.clock.at(n.world.now) }

// awake is what a clock reads that does not count time asleep, which is how timers
// count.
func (n *Node) awake() actor.Instant { return n.Now().Add(-n.machine.slept) }

// arrival is what that clock read when the message arrived that an actor of the node
// handles now, or less: if the machine has slept or its clock jumped since.
func (n *Node) arrival() actor.Instant {
	return n.machine.at(n.world.came).Add(-n.machine.slept)
}

// when returns the first true instant at which the node's clock has advanced by d.
func (n *Node) when(d time.Duration) actor.Instant {
	if d <= 0 {
		return n.world.now
	}
	return max(n.world.now, n.machine.clock.when(n.Now().Add(d)))
}

// Pause stops the node's actors, like SIGSTOP. Messages and timers wait, and time
// does not.
func (n *Node) Pause() {
	if !n.paused {
		n.paused = true
		n.world.fault(n.name, "paused", "the process is paused")
	}
}

// Paused reports whether the node is paused.
func (n *Node) Paused() bool { return n.paused }

// Resume lets them go on, with everything that has waited, in order.
func (n *Node) Resume() {
	if n.paused {
		n.world.fault(n.name, "resumed", "the process goes on")
	}
	n.paused = false
	n.thaw()
}

// Suspend puts the whole machine to sleep. Its nodes stop, and so do their timers,
// which count time awake. The clock goes on: it counts time asleep.
func (n *Node) Suspend() {
	if m := n.machine; !m.asleep {
		m.asleep, m.since = true, n.world.now
		for _, n := range m.nodes {
			n.world.fault(n.name, "suspended", "the machine falls asleep")
		}
	}
}

// Asleep reports whether the machine is suspended.
func (n *Node) Asleep() bool { return n.machine.asleep }

// Wake ends the sleep. Timers are late by as long as it lasted.
func (n *Node) Wake() {
	m, w := n.machine, n.world
	if !m.asleep {
		return
	}
	m.asleep = false
	slept := w.now.Sub(m.since)
	m.slept += n.Now().Sub(m.at(m.since))
	late := func(s *slot) {
		if s.timer && !s.taken && s.to.node.machine == m && s.at >= m.since {
			s.at = s.at.Add(slept)
		}
	}
	for i := range w.queue {
		late(&w.queue[i])
	}
	w.queue.order()
	for _, n := range m.nodes {
		w.fault(n.name, "woken", "the machine wakes up after %v", slept)
		for i := range n.held {
			late(&n.held[i])
		}
		n.thaw()
	}
}

// frozen reports whether nothing on the node gets to run.
func (n *Node) frozen() bool { return n.paused || n.machine.asleep }

func (n *Node) thaw() {
	if n.frozen() {
		return
	}
	held := n.held
	n.held = nil
	for _, s := range held {
		n.world.queue.push(s) // in its old place: before all that is due now
	}
}

// SetRate makes the machine's clock advance by another rate from now on. Timers
// follow it. It panics while the machine sleeps, for then they do not.
func (n *Node) SetRate(rate float64) {
	m, w := n.machine, n.world
	if m.asleep {
		panic(fmt.Sprintf("sim: the clock of %s cannot be set to another rate while it sleeps; wake it first", n.name))
	}
	w.fault(n.name, "rate", "the clock goes on at the rate %v", rate)
	old := m.clock
	m.set(old.set(w.now, perSecond(n.name, rate)))
	for i := range w.queue {
		if s := &w.queue[i]; s.timer && !s.taken && s.to.node.machine == m {
			s.at = max(w.now, m.clock.when(old.at(s.at)))
		}
	}
	w.queue.order()
}

// Jump sets the machine's clock ahead by d. Timers do not notice: they count
// durations. A negative d panics: the reference backend relies on a clock that
// never goes back.
func (n *Node) Jump(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("sim: the clock of %s is to jump by %v; it must not go back", n.name, d))
	}
	n.world.fault(n.name, "jumped", "the clock jumps ahead by %v", d)
	m := n.machine
	c := m.clock.set(n.world.now, m.clock.rate)
	c.origin = c.origin.Add(d)
	m.set(c)
	if !m.asleep { // or waking up counts it
		m.slept += d
	}
}

// Crash ends the node's actors without a word. It can be used again at once, like
// a process that has been restarted.
func (n *Node) Crash() {
	n.world.fault(n.name, "crashed", "the process crashes")
	for p := range n.actors {
		p.ended, p.crashed = true, true
	}
	clear(n.actors)
	n.paused, n.held = false, nil
}

// Spawn starts an actor on the node.
func (n *Node) Spawn(name string, b actor.Behavior) actor.Ref { return n.spawn(name, b, nil) }

func (n *Node) spawn(name string, b actor.Behavior, parent *process) *process {
	n.world.actors++
	p := &process{node: n, name: n.name + "/" + name, id: n.world.actors, behavior: b, parent: parent}
	n.actors[p] = struct{}{}
	p.Tell(actor.Started{})
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
