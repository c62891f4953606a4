// Package sim runs actors in a deterministic world: one thread, virtual time, and
// every decision drawn from a [Chooser]. The same decisions give the same trace,
// byte for byte. The behaviours are those of production, unchanged.
package sim

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"io"
	"time"

	"github.com/simba-go/simba/actor"
)

// World is the simulated world. It is not safe for concurrent use: everything in
// it happens on the goroutine that calls Run or Step.
type World struct {
	// Network says how a message from one node travels to another: it arrives
	// once after each of the delays, and never if there are none. By default it
	// arrives once and at once.
	Network func(from, to *Node, msg actor.Message) []time.Duration
	// OnReport is told of what actors report, by default it panics: a report is a
	// bug of a behaviour.
	OnReport func(from actor.Ref, err error)

	chooser Chooser
	now     actor.Instant // true time
	seq     uint64
	events  eventHeap
	trace   io.Writer
	hash    hashWriter
	steps   uint64
}

// Chooser makes the decisions of a world. The label says what for.
type Chooser interface {
	// Choose returns a number in [0, n), for n > 0.
	Choose(label string, n int64) int64
}

// NewWorld returns an empty world at true time zero.
func NewWorld(c Chooser) *World {
	h := fnv.New64a()
	return &World{
		chooser:  c,
		hash:     h,
		Network:  func(_, _ *Node, _ actor.Message) []time.Duration { return []time.Duration{0} },
		OnReport: func(from actor.Ref, err error) { panic(fmt.Sprintf("%s reports: %v", from, err)) },
	}
}

type hashWriter interface {
	io.Writer
	Sum64() uint64
}

// TraceTo makes the world write a line for each step.
func (w *World) TraceTo(out io.Writer) { w.trace = out }

// Hash identifies the course that the world has taken so far.
func (w *World) Hash() uint64 { return w.hash.Sum64() }

// Steps counts what has happened.
func (w *World) Steps() uint64 { return w.steps }

// Now returns the true time, which no actor can read.
func (w *World) Now() actor.Instant { return w.now }

// event is something that happens to a process.
type event struct {
	at    actor.Instant
	seq   uint64
	to    *process
	msg   actor.Message
	timer *timer // that delivers msg; nil for messages
	call  func() // instead of a message
}

type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(*event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}

func (w *World) push(e *event) {
	w.seq++
	e.seq = w.seq
	heap.Push(&w.events, e)
}

// At calls f at a true instant, or now if that has passed.
func (w *World) At(at actor.Instant, f func()) {
	w.push(&event{at: max(at, w.now), call: f})
}

// Step lets the next thing happen, and reports whether there was one.
func (w *World) Step() bool {
	if len(w.events) == 0 {
		return false
	}
	e := heap.Pop(&w.events).(*event)
	w.now = e.at
	switch {
	case e.call != nil:
		e.call()
	case e.timer != nil && e.timer.spent:
	case e.to.node.paused:
		e.to.node.held = append(e.to.node.held, e)
	default:
		w.deliver(e)
	}
	return true
}

func (w *World) deliver(e *event) {
	if e.to.ended {
		return
	}
	if e.timer != nil {
		e.timer.spent = true
	}
	w.steps++
	w.record(e)
	e.to.receive(e.msg)
}

// record adds a step to the trace. Messages are traced by type: their contents may
// hold addresses, and show in what follows anyway.
func (w *World) record(e *event) {
	line := fmt.Sprintf("%d %s %T\n", e.at, e.to.name, e.msg)
	io.WriteString(w.hash, line)
	if w.trace != nil {
		io.WriteString(w.trace, line)
	}
}

// RunFor lets d of true time pass.
func (w *World) RunFor(d time.Duration) {
	until := w.now.Add(d)
	for len(w.events) > 0 && w.events[0].at <= until {
		w.Step()
	}
	w.now = until
}

// RunUntil runs until cond holds, for at most limit of true time, and reports
// whether it did.
func (w *World) RunUntil(limit time.Duration, cond func() bool) bool {
	until := w.now.Add(limit)
	for !cond() {
		if len(w.events) == 0 || w.events[0].at > until {
			w.now = until
			return cond()
		}
		w.Step()
	}
	return true
}
