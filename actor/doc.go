// Package actor is a small actor library: pure step functions that run on
// goroutines in production and on a single deterministic thread in tests.
//
// A [Behavior] is a step function. It never blocks and never reads a clock, a
// random source or a socket by itself; whatever it needs comes through its
// [Context]: the time, timers, sending, spawning, randomness, and [Context.Go]
// for work that blocks. That one rule is what lets the same behaviour run
// unchanged in two runtimes:
//
//   - [System] gives each actor a goroutine and an unbounded mailbox.
//   - A simulator implements [Context] over a virtual clock and an event heap.
//
// The guarantees of [System], which a simulator must give as well:
//
//   - Receive is never called twice at the same time for one actor.
//   - A send never blocks the sender and never reorders what one sender sends to
//     one receiver.
//   - Nothing is dropped silently: what reaches an actor that has stopped is
//     counted and reported as a dead letter, and a [Request] among it is answered
//     with [ErrStopped].
//   - A timer that was stopped never delivers its message, even when it had
//     fired already and its message was waiting in the mailbox.
//   - A panic in a behaviour is contained and reported, and it ends that actor
//     only.
//
// Explicit state machines live in [Table]s: typed rows that an actor steps
// through, from which diagrams and a looplab/fsm twin are made.
package actor
