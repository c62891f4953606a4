package actor

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// process is an actor of a [System]: a goroutine, its mailbox and its context.
// All but the mailbox belongs to that goroutine.
type process struct {
	mailbox  mailbox
	system   *System
	name     string
	behavior Behavior
	parent   Ref // told Exited; nil for those that System.Spawn started

	batch    []Message // taken from the mailbox
	next     int       // in batch; what is before it has been handled and cleared
	stopping bool
	err      error // why the actor ends, if not because it was stopped

	timers timers
	cancel context.CancelFunc // ends the work of Go; nil until there is any
	work   context.Context
}

var _ Context = (*process)(nil)

// stop is the message behind [System.Stop].
type stop struct{}

// Tell puts msg into the mailbox.
func (p *process) Tell(msg Message) {
	if !p.mailbox.put(msg) {
		p.system.deadLetter(p, msg)
	}
}

func (p *process) String() string { return p.name }

// run is the actor's goroutine. It ends through finish even if the behaviour
// panics or calls runtime.Goexit.
func (p *process) run() {
	defer p.finish()
	if p.contain(p.loop) {
		p.contain(func() { p.behavior.Receive(p, Stopping{}) })
	}
}

// loop handles messages until the actor is stopping. One contain around all of
// them is cheaper than one for each, and enough: after a panic there is no next.
func (p *process) loop() {
	for !p.stopping {
		spent := p.batch
		p.batch, p.next = nil, 0 // while it waits, take alone decides what is kept
		p.batch = p.mailbox.take(spent)
		for p.next < len(p.batch) && !p.stopping {
			p.next++
			p.step(p.batch[p.next-1])
			p.batch[p.next-1] = nil
		}
	}
}

// step handles one message of the mailbox.
func (p *process) step(msg Message) {
	switch m := msg.(type) {
	case *timer:
		if p.timers.spend(m) {
			p.behavior.Receive(p, m.msg)
		}
	case stop:
		p.stopping = true
	default:
		p.behavior.Receive(p, msg)
	}
}

// contain calls f and reports whether it returned. Otherwise err says why not.
func (p *process) contain(f func()) (returned bool) {
	defer func() {
		if !returned {
			p.err = newPanicError(p.name, recover())
		}
	}()
	f()
	return true
}

// finish is the last thing that an actor does. Its parts are deferred one by one,
// so that a hook that leaves by runtime.Goexit, as t.Fatal does, cannot keep the
// others from happening.
func (p *process) finish() {
	defer p.system.exited(p)
	if p.parent != nil {
		defer p.parent.Tell(Exited{Ref: p, Err: p.err})
	}
	if p.err != nil {
		defer p.system.onError(p.err)
	}
	if p.cancel != nil {
		p.cancel()
	}
	p.timers.stop()
	p.behavior = nil // whoever keeps the address need not keep the state
	if p.next > 0 {
		// Still there only if the behaviour never returned from it.
		refuse(p, p.batch[p.next-1])
	}
	rest := append(p.batch[p.next:], p.mailbox.close()...)
	for _, msg := range slices.Backward(rest) { // what is deferred last runs first
		defer p.system.deadLetter(p, msg)
	}
}

func (p *process) Self() Ref                { return p }
func (p *process) Now() Instant             { return p.system.clock.Now() }
func (p *process) Send(to Ref, msg Message) { to.Tell(msg) }
func (p *process) Stop()                    { p.stopping = true }
func (p *process) Random(n int64) int64     { return rand.Int64N(n) }
func (p *process) Report(err error)         { p.system.onError(err) }

func (p *process) Spawn(name string, b Behavior) Ref {
	return p.system.spawn(name, b, p)
}

func (p *process) Go(work func(ctx context.Context) Message) {
	if p.work == nil {
		p.work, p.cancel = context.WithCancel(context.Background())
	}
	p.system.work(p, p.work, work)
}

func (p *process) After(d time.Duration, msg Message) Timer {
	t := &timer{process: p, msg: msg}
	p.timers.add(t)
	if d <= 0 {
		t.fire()
	} else {
		t.timer = time.AfterFunc(d, t.fire)
	}
	return t
}
