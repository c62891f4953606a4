package election

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/term"
)

// What a user asks of an election, each as an [actor.Request].
type (
	// Stop hands over and ends the election. It is answered by [session.Done] when
	// the last callback has run and the lease is free.
	Stop struct{}
	// StepDown hands over and does not compete for Cooldown, counted from now. It
	// is answered by [session.Done] like Stop, or by an error: a [*CooldownError]
	// or a [*StoppedError].
	StepDown struct{ Cooldown time.Duration }
)

// Start makes an election contend. Its name must have been joined at the session.
type Start struct{}

// What an election asks of its host, which runs the user's code. Term is the one
// that the code is about, Reason why it ends, and ReplyTo where to answer.
type (
	// RunElected asks for the callback of a win. It is answered by [CallbackDone]
	// or [CallbackRefused].
	RunElected struct {
		ReplyTo actor.Ref
		Term    *term.Term
	}
	// RunRevoked asks for the callback of a term's end. It is answered by
	// [CallbackDone]: a host that cannot run it in the usual way runs it otherwise.
	RunRevoked struct {
		ReplyTo actor.Ref
		Term    *term.Term
		Reason  term.Reason
	}
	// StartTask asks for the task to run under a term. It is answered by
	// [TaskExited].
	StartTask struct {
		ReplyTo actor.Ref
		Term    *term.Term
	}
	// CancelTask asks for the task's context to be cancelled: the term is about to be
	// handed over, or has ended. The task may take its time.
	CancelTask struct {
		Term   *term.Term
		Reason term.Reason // why its term ends
	}
)

// What a host answers about the code of Term. Err says what went wrong.
type (
	// CallbackDone says that a callback has returned. Err is its panic.
	CallbackDone struct {
		Term *term.Term
		Err  error
	}
	// CallbackRefused says that the executor did not take a RunElected, and never
	// runs it.
	CallbackRefused struct {
		Term *term.Term
		Err  error
	}
	// TaskExited says that the task has returned Err, or panicked.
	TaskExited struct {
		Term *term.Term
		Err  error
	}
)

// StoppedError says that the election of Name has stopped.
type StoppedError struct{ Name string }

// Error names the election.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("simba: the election %q is stopped; start a new one", e.Name)
}

// AbortedError says that the election of Name has ended without finishing what was asked
// of it, by a bug of the engine.
type AbortedError struct{ Name string }

// Error names the election.
func (e *AbortedError) Error() string {
	return fmt.Sprintf("simba: the election %q was aborted by a bug of the engine; its lease is free when the client has been closed", e.Name)
}

// CooldownError says that a Cooldown is negative.
type CooldownError struct{ Cooldown time.Duration }

// Error names the cooldown and what it must be.
func (e *CooldownError) Error() string {
	return fmt.Sprintf("simba: the cooldown is %v; it must not be negative", e.Cooldown)
}

// Policy is what follows when a task returns although its term goes on.
type Policy uint8

// The policies.
const (
	// Hold keeps the lease and does not run the task again in this term.
	Hold Policy = iota
	// Restart runs the task again in the same term: at once if it has returned nil
	// after a run of at least a renew interval, and after a back-off otherwise.
	Restart
	// Yield steps down and contends again, after a cooldown of such a pause.
	Yield
	// Finish stops the election.
	Finish
)

var policyNames = []string{"hold", "restart", "step down", "finish"}

// String is the policy in a few words, like "step down".
func (p Policy) String() string { return actor.NameOf(policyNames, uint8(p), "Policy") }

// Snapshot is what people see of the election of Name: its Status, and more. It is
// immutable.
type Snapshot struct {
	Name     string
	Status   Status
	Term     *term.Term    // while LEADER or STEPPING_DOWN
	Cooldown actor.Instant // its end, if it lies in the future
	Running  bool          // a task runs, of this term or an earlier one
	Restarts int           // of the task, in all
	LastErr  error         // of the last task, callback or attempt that failed
}
