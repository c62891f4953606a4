package actor

import (
	"context"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// process is an actor of a [System]: a goroutine, its mailbox and its context.
type process struct {
	mailbox  mailbox
	system   *System
	name     string
	behavior Behavior
	parent   Ref // told Exited; nil for those that System.Spawn started
	stopping bool
	cancel   context.CancelFunc // ends the work of Go; nil until there is any
	work     context.Context
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

// run is the actor's goroutine.
func (p *process) run() {
	var spent []Message
	var err error
	for !p.stopping && err == nil {
		batch := p.mailbox.take(spent)
		for i, msg := range batch {
			batch[i] = nil
			if err = p.step(msg); p.stopping || err != nil {
				p.end(batch[i+1:], err)
				return
			}
		}
		spent = batch
	}
}

// step handles one message of the mailbox.
func (p *process) step(msg Message) error {
	switch m := msg.(type) {
	case *timer:
		if m.spent {
			return nil
		}
		m.spent = true
		msg = m.msg
	case stop:
		p.stopping = true
		return nil
	}
	return p.receive(msg)
}

// receive calls the behaviour and contains its panic.
func (p *process) receive(msg Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Where: p.name, Value: v, Stack: debug.Stack()}
		}
	}()
	p.behavior.Receive(p, msg)
	return nil
}

// end is the last thing an actor does. Every way out leads through it.
func (p *process) end(rest []Message, err error) {
	if err == nil {
		err = p.receive(Stopping{})
	}
	if p.cancel != nil {
		p.cancel()
	}
	for _, msg := range rest {
		p.system.deadLetter(p, msg)
	}
	for _, msg := range p.mailbox.close() {
		p.system.deadLetter(p, msg)
	}
	if err != nil {
		p.system.report(err)
	}
	if p.parent != nil {
		p.parent.Tell(Exited{Ref: p, Err: err})
	}
	p.system.exited(p)
}

func (p *process) Self() Ref                { return p }
func (p *process) Now() Instant             { return p.system.clock.Now() }
func (p *process) Send(to Ref, msg Message) { to.Tell(msg) }
func (p *process) Stop()                    { p.stopping = true }
func (p *process) Random(n int64) int64     { return rand.Int64N(n) }
func (p *process) Report(err error)         { p.system.report(err) }

func (p *process) Spawn(name string, b Behavior) Ref {
	return p.system.spawn(name, b, p)
}

func (p *process) After(d time.Duration, msg Message) Timer {
	t := &timer{process: p, msg: msg}
	if d <= 0 {
		t.fire()
		return t
	}
	t.timer = time.AfterFunc(d, t.fire)
	return t
}

func (p *process) Go(work func(ctx context.Context) Message) {
	if p.work == nil {
		p.work, p.cancel = context.WithCancel(context.Background())
	}
	p.system.work(p, p.work, work)
}

// timer travels through the mailbox itself, so that Stop can still reach it
// there. Its fields belong to the actor's goroutine; fire only passes it on.
type timer struct {
	process *process
	msg     Message
	timer   *time.Timer
	spent   bool
}

func (t *timer) fire() { t.process.mailbox.put(t) }

func (t *timer) Stop() bool {
	if t.spent {
		return false
	}
	t.spent = true
	if t.timer != nil {
		t.timer.Stop()
	}
	return true
}
