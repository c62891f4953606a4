// Package sim runs actors in a deterministic world: one thread, virtual time, and
// every decision drawn from a [Chooser]. The same decisions give the same trace,
// byte for byte. The behaviours are those of production, unchanged.
//
// A [World] knows machines and processes only. A [Cluster] is a world with a
// backend, clients and their elections in it, and a [Monitor] that watches, in
// true time, over what must always hold.
package sim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/simba-go/simba/actor"
)

// World is the simulated world. It is not safe for concurrent use: everything in
// it happens on the goroutine that calls Run or Step.
type World struct {
	// Network says how a message travels from one machine to another. By default
	// it arrives once and at once.
	Network Network
	// Lag says how long a message waits in the mailbox of the actor to which it goes;
	// nil means no time. Whatever it says, actors take their messages in the order of
	// arrival.
	Lag func(to actor.Ref) time.Duration
	// OnReport is told of what actors report, their panics included. By default
	// the world fails: a report is a bug of a behaviour.
	OnReport func(from actor.Ref, err error)

	chooser Chooser
	random  uint64 // seeds what behaviours draw
	now     actor.Instant
	crowd   int // of steps at this instant
	seq     uint64
	queue   queue
	free    []*event
	steps   uint64
	dead    uint64
	err     error
	phase   int  // of its life, for a chooser that counts
	gaveUp  bool // the chooser did, by a panic, which is for whoever runs the world

	trace   io.Writer
	tell    func(Entry)
	hash    hash
	actors  uint64 // that were ever spawned
	arrival []time.Duration
	came    actor.Instant // when the message arrived that an actor handles

	onSend    []func(from, to actor.Ref, msg actor.Message)
	onTravel  []func(from, to *Node, msg actor.Message, arrivals []time.Duration)
	onArrive  []func(to actor.Ref, msg actor.Message)
	onDeliver []func(to actor.Ref, msg actor.Message)
	onStep    []func()
}

// Network says how a message from one machine travels to another: it arrives once
// after each of the delays that Network appends, and never if there are none.
type Network func(arrivals []time.Duration, from, to *Node, msg actor.Message) []time.Duration

// NewWorld returns an empty world at true time zero.
func NewWorld(c Chooser) *World {
	w := &World{chooser: c, hash: newHash()}
	// What behaviours draw is jitter and the ids of sessions. It comes from one
	// decision: a shrinking chooser would make ids equal that are different for
	// all practical purposes.
	w.random = uint64(c.Choose("behaviours", math.MaxInt64))
	w.Network = func(arrivals []time.Duration, _, _ *Node, _ actor.Message) []time.Duration {
		return append(arrivals, 0)
	}
	w.OnReport = func(from actor.Ref, err error) { w.Fail(fmt.Errorf("%s reports: %w", from, err)) }
	return w
}

// TraceTo makes the world write a line for each step.
func (w *World) TraceTo(out io.Writer) { w.trace = out }

// Hash identifies the course that the world has taken so far.
func (w *World) Hash() uint64 { return w.hash.sum }

// Steps counts what has happened.
func (w *World) Steps() uint64 { return w.steps }

// DeadLetters counts the messages that reached an actor which had ended.
func (w *World) DeadLetters() uint64 { return w.dead }

// Now returns the true time, which no actor can read.
func (w *World) Now() actor.Instant { return w.now }

// Fail stops the world. Only the first error counts.
func (w *World) Fail(err error) {
	if v := (*Violation)(nil); w.err == nil && errors.As(err, &v) {
		w.err = v
		w.entry(Entry{Kind: KindViolation, State: v.Name, Text: v.What})
	} else if w.err == nil {
		w.err = fmt.Errorf("sim: at %v, step %d: %w", time.Duration(w.now), w.steps, err)
	}
}

// Err returns why the world has failed, or nil.
func (w *World) Err() error { return w.err }

// OnSend makes the world tell f of each message that an actor sends to another.
func (w *World) OnSend(f func(from, to actor.Ref, msg actor.Message)) { w.onSend = append(w.onSend, f) }

// OnTravel makes the world tell f of each message that goes from one machine to
// another, and of the delays after which it arrives.
func (w *World) OnTravel(f func(from, to *Node, msg actor.Message, arrivals []time.Duration)) {
	w.onTravel = append(w.onTravel, f)
}

// OnArrive makes the world tell f of each message that has come into an actor's
// mailbox, timers included.
func (w *World) OnArrive(f func(to actor.Ref, msg actor.Message)) { w.onArrive = append(w.onArrive, f) }

// OnDeliver makes the world tell f of each message that an actor is about to
// receive, timers included.
func (w *World) OnDeliver(f func(to actor.Ref, msg actor.Message)) {
	w.onDeliver = append(w.onDeliver, f)
}

// OnStep makes the world call f after each step.
func (w *World) OnStep(f func()) { w.onStep = append(w.onStep, f) }

// event is something that happens to a process. That of a timer is its handle too.
type event struct {
	to    *process
	msg   actor.Message
	call  func()        // instead of a message
	timer bool          // msg comes from a timer
	spent bool          // and was delivered or stopped
	taken bool          // the mailbox has it, and it is due when the actor gets to it
	came  actor.Instant // when it arrived
}

// Stop makes the event of a timer not happen.
func (e *event) Stop() bool {
	was := e.spent
	e.spent = true
	return !was
}

// push makes e happen at a true instant, after what is due then already.
func (w *World) push(at actor.Instant, e *event) {
	w.seq++
	w.queue.push(slot{at, w.seq, e})
}

// post sends msg to an actor.
func (w *World) post(at actor.Instant, to *process, msg actor.Message) {
	var e *event
	if n := len(w.free); n > 0 {
		e, w.free = w.free[n-1], w.free[:n-1]
		*e = event{to: to, msg: msg}
	} else {
		e = &event{to: to, msg: msg}
	}
	w.push(at, e)
}

// recycle takes back the event of a message. Those of timers may still be stopped
// by whoever has them.
func (w *World) recycle(e *event) {
	if !e.timer {
		e.to, e.msg, e.call = nil, nil, nil
		w.free = append(w.free, e)
	}
}

// At calls f at a true instant, or now if that has passed.
func (w *World) At(at actor.Instant, f func()) {
	w.push(max(at, w.now), &event{call: f})
}

// In calls f after d of true time.
func (w *World) In(d time.Duration, f func()) { w.At(w.now.Add(d), f) }

// Step lets the next thing happen, and reports whether there was one. In a world
// that has failed nothing happens any more.
func (w *World) Step() bool {
	if len(w.queue) == 0 || w.err != nil {
		return false
	}
	next := w.queue.pop()
	e := next.event
	if next.at > w.now { // what a paused machine has held is due since long
		w.now, w.crowd = next.at, 0
	}
	if !e.taken {
		e.came = next.at
	}
	switch {
	case e.call != nil:
		e.call()
	case e.spent:
		return true // a timer that was stopped
	case e.to.ended:
		w.deadLetter(e)
		w.recycle(e)
		return true
	case e.to.node.frozen():
		// Not even its mailbox takes it: a timer may yet be late.
		e.to.node.held = append(e.to.node.held, next)
		return true
	case !e.taken && w.arrived(e):
		w.about(e.to.name)
		e.to.ready = max(w.now.Add(w.Lag(e.to)), e.to.ready)
		w.about("")
		w.push(e.to.ready, e)
		return true
	default:
		w.came = e.came
		w.deliver(e)
		w.recycle(e)
	}
	for _, f := range w.onStep {
		f()
	}
	return true
}

// arrived takes an event into the mailbox of its actor, and reports whether it has
// to wait there.
func (w *World) arrived(e *event) bool {
	for _, f := range w.onArrive {
		f(e.to, e.msg)
	}
	e.taken = true
	return w.Lag != nil
}

// crowded is how many steps there may be at one instant: more is a circle in which
// time does not go on.
const crowded = 200_000

func (w *World) deliver(e *event) {
	if w.crowd++; w.crowd > crowded {
		w.Violate(ReachableStates, "%d steps at one instant, and there is no end of it: the next is for %s", w.crowd, e.to)
		return
	}
	e.spent = e.timer
	w.steps++
	w.record(e)
	for _, f := range w.onDeliver {
		f(e.to, e.msg)
	}
	e.to.receive(e.msg)
}

// deadLetter accounts for what an actor that has ended does not get. Timers were
// its own. Whoever asks is told, unless the whole machine is gone.
func (w *World) deadLetter(e *event) {
	if e.timer {
		return
	}
	w.dead++
	if !e.to.crashed {
		refuse(e.to, e.msg)
	}
}

func refuse(to *process, msg actor.Message) {
	if r, ok := msg.(*actor.Request); ok {
		r.Tell(actor.Unanswered{Request: r, To: to})
	}
}

// RunFor lets d of true time pass.
func (w *World) RunFor(d time.Duration) {
	w.RunUntil(d, func() bool { return false })
}

// RunUntil runs until cond holds, for at most limit of true time, and reports
// whether it did. It ends early when the world fails.
func (w *World) RunUntil(limit time.Duration, cond func() bool) bool {
	until := w.now.Add(limit)
	for !cond() {
		if w.err != nil {
			return false
		}
		if len(w.queue) == 0 || w.queue[0].at > until {
			w.now = until
			return cond()
		}
		w.Step()
	}
	return true
}
