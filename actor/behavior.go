package actor

import (
	"context"
	"time"
)

// Message is anything that one actor tells another. Messages are values or
// pointers that the sender does not touch again.
type Message = any

// Behavior is the step function of an actor. Receive handles one message and
// returns soon: it never blocks, and reaches time, randomness and the rest of
// the world through ctx alone. The runtime calls it for one message at a time,
// first with [Started] and last with [Stopping]. One that panics is not called
// again, not even with Stopping.
type Behavior interface {
	Receive(ctx Context, msg Message)
}

// BehaviorFunc is a function that is a [Behavior].
type BehaviorFunc func(ctx Context, msg Message)

// Receive calls f.
func (f BehaviorFunc) Receive(ctx Context, msg Message) { f(ctx, msg) }

// Ref is the address of an actor, or of anything else that takes messages.
type Ref interface {
	// Tell sends from outside of any behaviour; within one, use [Context.Send].
	// It never blocks and is safe for concurrent use.
	Tell(msg Message)
	// String names the receiver for people.
	String() string
}

// Timer is a message on its way. It belongs to the actor that asked for it and
// must be used within its Receive only.
type Timer interface {
	// Stop reports whether it kept the message from being delivered. After Stop
	// the message is never delivered, even if it was in the mailbox already.
	Stop() bool
}

// Context is what a behaviour may do. It is valid within Receive only, on the
// goroutine that called it.
type Context interface {
	// Self is the actor's own address.
	Self() Ref
	// Now is the time on the actor's clock.
	Now() Instant
	// Send sends msg; what one actor sends to another arrives in order.
	Send(to Ref, msg Message)
	// After sends msg to the actor itself once d has passed; with d <= 0 behind
	// everything that is in the mailbox already. Timers that are due at nearly the
	// same time may be delivered in any order. An actor's timers end with it.
	//
	// A timer need not follow the actor's clock, above all while the machine is
	// asleep: what must not happen too early looks at Now when it is due.
	After(d time.Duration, msg Message) Timer
	// Spawn starts another actor, which tells this one [Exited] when it ends. The
	// two are independent otherwise: neither ends with the other.
	Spawn(name string, b Behavior) Ref
	// Stop ends this actor once Receive has returned. What is in its mailbox then
	// becomes dead letters.
	Stop()
	// Random is uniform in [0, n). It panics if n <= 0.
	Random(n int64) int64
	// Go runs something that may block elsewhere, and sends what it returns to
	// this actor (nothing, for nil). Its context ends with the actor; an answer
	// that comes later is a dead letter. If work panics, the message is a
	// [*PanicError], and nobody else is told.
	Go(work func(ctx context.Context) Message)
	// Report hands over an error that nobody is there to receive, such as an
	// [*UndefinedError]; nothing about the actor changes.
	Report(err error)
}

type (
	// Started is the first message of every actor.
	Started struct{}
	// Stopping is the last message of an actor that was told to stop. It may
	// still send.
	Stopping struct{}
	// Exited tells the actor that spawned another that it has ended, and why: nil
	// when it was stopped, a [*PanicError] when it panicked. Nothing that the other
	// sent comes after it, and its dead letters have been counted.
	Exited struct {
		Ref Ref   // who has ended
		Err error // why
	}
)
