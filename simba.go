// Package simba gives Go programs leases that survive reality: leader election,
// locks and leader-only work over a store that people already run.
//
// Liveness belongs to the process, not to a lock: a [Client] keeps one session
// alive with one renewal per interval, and every lease lives and ends with it.
// The backend answers with durations, which the client turns into a deadline on
// its own monotonic clock that comes before the backend can give the lease away.
// Each win is a [Term] with a fencing token that only grows.
//
//	store, err := sqlite.Open(ctx, "leases.db")
//	client, err := simba.Open(ctx, store)
//	defer client.Close(ctx)
//
//	err = client.Lead(ctx, "billing", func(ctx context.Context, t *simba.Term) error {
//		return ledger.Settle(ctx, batch, t.Token())
//	})
//
// # What a term promises
//
// While [Term.Valid] reports true, no other process holds a valid term of that
// name, as long as the rates of the two machines' clocks differ by at most the
// drift (see [WithDrift]). A jump of the backend's clock is not covered by that.
// Neither is a process that was paused between looking at its term and acting: the
// protected resource must refuse a smaller [Term.Token] after a larger one.
package simba

import (
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/task"
	"github.com/simba-go/simba/term"
)

// The types of inner packages that users of this one need.
type (
	// Term is one stretch of time in which this client owns one lease.
	Term = term.Term
	// Reason says why a term has ended.
	Reason = term.Reason
	// Holder is who owns a name.
	Holder = backend.Holder
	// Store is what a client opens: a backend.
	Store = backend.Store
	// Listener is told of an election's terms.
	Listener = task.Listener
	// TaskFunc is work that runs only during a term.
	TaskFunc = task.Func
	// Executor runs callbacks.
	Executor = task.Executor
	// Policy is what follows when a task returns although its term goes on.
	Policy = election.Policy
	// Status is where an election stands.
	Status = election.Status
	// SessionState is where a client's session stands.
	SessionState = session.State
	// Event is something that happened; see package observe.
	Event = observe.Event
)

// The reasons for a term's end.
const (
	// NotEnded: there is none yet.
	NotEnded = term.None
	// Stopped: the election was stopped, the lock released, or the client closed.
	Stopped = term.Stopped
	// SteppedDown: the election stepped down and stays started.
	SteppedDown = term.SteppedDown
	// DeadlinePassed: no renewal succeeded in time.
	DeadlinePassed = term.DeadlinePassed
	// SessionExpired: the backend said that it has let the session expire.
	SessionExpired = term.SessionExpired
	// TakenOver: the backend no longer lists the lease as ours.
	TakenOver = term.TakenOver
)

// The states of a client's session, in [Snapshot].
const (
	// StateOpening: there is no session yet, or a new one after the last has ended.
	StateOpening = session.Opening
	// StateLive: the last renewal succeeded.
	StateLive = session.Live
	// StateSuspended: the last renewal failed, and the deadline has not passed.
	StateSuspended = session.Suspended
	// StateClosed is final.
	StateClosed = session.Closed
)

// The states of an election, in [ElectionSnapshot].
const (
	// StatusCandidate: the election contends, or waits for a cooldown or for an old
	// task.
	StatusCandidate = election.Candidate
	// StatusLeader: the election holds a term.
	StatusLeader = election.Leader
	// StatusSteppingDown: a handover is under way; the term is still valid.
	StatusSteppingDown = election.SteppingDown
	// StatusStopped is final.
	StatusStopped = election.Stopped
)

// The policies for a task that has returned.
const (
	// Hold keeps the lease and does not run the task again in this term.
	Hold = election.Hold
	// Restart runs the task again in the same term: at once if it has returned nil
	// after a run of at least a renew interval, and after a back-off otherwise.
	Restart = election.Restart
	// Yield steps down and contends again, after a cooldown of such a pause.
	Yield = election.Yield
	// Finish stops the election.
	Finish = election.Finish
)

// GoExecutor runs each callback on a goroutine of its own. It is the default.
func GoExecutor(f func()) error { return task.Go(f) }

// InlineExecutor runs callbacks on the engine's own loop, which waits for them.
// They must be short, and calls that would have to wait fail with [ErrInline].
func InlineExecutor(f func()) error { return task.Inline(f) }
