// Package actor is a small actor library: step functions that run on goroutines
// in production and on a single deterministic thread in a simulator, unchanged.
//
// An actor owns its state and talks by messages only. Its [Behavior] is a step
// function: Receive handles one message and returns soon. It never blocks, and
// never reads a clock, a random source or a socket by itself; whatever it needs
// comes through its [Context]: the time, timers, sending, spawning, randomness,
// and [Context.Go] for work that blocks. That one rule is what lets the same
// behaviour run in two runtimes:
//
//   - [System] gives each actor a goroutine and an unbounded mailbox.
//   - A simulator implements [Context] over a virtual clock and an event heap.
//
// # Talking to actors
//
// From outside, [Ref].Tell sends a message and [Ask] sends one and waits for the
// answer. Within a behaviour, [Context.Send] sends, and [NewRequest] makes a
// message whose answer comes to the mailbox. A [Context] is all that a behaviour
// should hold on to the world by, and only while it receives; addresses may be
// kept and passed on for ever.
//
// # What is guaranteed
//
// A System promises, and a simulator must promise as well:
//
//   - Receive is never called twice at the same time for one actor. What one call
//     wrote, the next one sees.
//   - A send never blocks the sender and never reorders what one sender sends to
//     one receiver. Mailboxes are unbounded: whoever can be told more than it can
//     handle asks for less by its own messages.
//   - Nothing is dropped silently. What reaches an actor that has ended is counted
//     and reported as a dead letter, and a [Request] among it is answered.
//   - A timer that was stopped never delivers its message, even when it had
//     fired already and its message was waiting in the mailbox.
//   - A panic in a behaviour is contained and reported, and it ends that actor
//     only. There is no restart: whoever spawned it is told [Exited] and decides.
//   - Every actor ends with [System.Shutdown], and every goroutine with it.
//
// # Time
//
// Actors read the [Clock] of their system. [SystemClock], the default, goes on
// while the machine is asleep where that is possible. Its readings are [Instant]s,
// whose arithmetic saturates. Under testing/synctest, give the system a
// [GoClock]: timers and clock then follow the virtual time of the bubble.
//
// # State machines
//
// An actor whose state has a name steps a [Machine] through a [Table] of rows. What
// the table does not have is an [UndefinedError] and never happens. From the same
// table come a diagram ([Table.Mermaid]) and a machine of looplab/fsm
// ([Table.FSM]), as a second opinion for tests.
package actor
