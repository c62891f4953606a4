package sim

import "github.com/simba-go/simba/actor"

// Situation is something that a sweep must have met, or it proves little: the
// moments at which lease code goes wrong.
type Situation uint8

// The situations.
const (
	TermBegun             Situation = iota // somebody won a term
	AnswerAfterDeadline                    // a renewal's answer came when its session's deadline had passed
	ExpiryWhilePaused                      // a session's deadline passed while its process was paused
	TakeoverWhileTaskRuns                  // somebody won a name whose old task still ran elsewhere
	LateRelease                            // a release came when the lease was another's
	WinAfterStop                           // a win came when its election had been stopped
	WinNotHeardOf                          // an election contended again when its session had won for it
	WinAnswerLost                          // a win's answer never arrived
	StepDownMeetsExpiry                    // a term was lost during its handover
	SessionReopened                        // a client opened another session after it had lost one
	SuspendedAndRecovered                  // a renewal succeeded after one had failed
	SuspendedMachine                       // a machine slept past a session's deadline
	HandoverCut                            // a handover's time was up before its task had exited
	CallbackRefused                        // an executor did not take a callback
	CallbackInline                         // a callback ran on the engine's own step
	CallbackPanicked                       // a callback panicked
	CalledFromInside                       // user code called Stop, StepDown or Close from inside
	TaskFailed                             // a task returned an error
	TaskPanicked                           // a task panicked
	TaskOverran                            // a task ran on after its term had ended
	DataLost                               // the backend came back without its data
	LeaseRemoved                           // somebody deleted a lease by hand
	LeaseShortened                         // the backend granted less than was asked for
	StaleRefused                           // the resource that checks tokens refused a stale write
	StaleAccepted                          // the resource without a check accepted a stale write
	ExpiredByBackend                       // a term ended because the backend said that its session had expired
	TakenOver                              // a term ended because a renewal did not list its lease
	DeadlinePassed                         // a term ended because no renewal succeeded in time
	SteppedDown                            // a term ended because its election stepped down
	Stopped                                // a term ended because its election, lock or client was stopped
	OpenFailed                             // a session could not be opened
	RenewalUnknown                         // a renewal had no answer in time, or an error
	AttemptUnknown                         // so had an attempt
	ReleaseUnknown                         // so had a release
	LockAcquired                           // a lock was acquired
	LockHeld                               // a lock was held by another
	ScheduleRan                            // a schedule began a run
	DurableTick                            // a run of a durable schedule began
	TicksSkipped                           // several ticks of a schedule had one run
	TicksHandedOn                          // a run of a durable schedule followed one under another term
	NoteTakenBack                          // the note of a tick was taken back, or was to be, in a handover
	LateNote                               // a note came when a newer one was kept
	situations
)

var situationNames = []string{
	"term begun", "renewal answer after the deadline", "expiry while paused", "takeover while the old task still runs",
	"late release reaching a new owner", "win arriving after Stop", "win not heard of", "win whose answer was lost", "step-down meeting expiry",
	"session reopened", "suspended and recovered", "machine asleep past the deadline", "handover cut by D0", "callback refused",
	"callback run inline", "callback panicked", "call from inside", "task failed", "task panicked", "task overrunning",
	"data loss at the backend", "lease removed by hand", "lease shortened", "stale write refused by the resource",
	"stale write accepted by the one without a check", "term ended: SESSION_EXPIRED", "term ended: TAKEN_OVER",
	"term ended: DEADLINE_PASSED", "term ended: STEPPED_DOWN", "term ended: STOPPED", "open failed", "renewal unknown",
	"attempt unknown", "release unknown", "lock acquired", "lock held by another", "schedule ran", "durable tick ran", "ticks skipped",
	"ticks handed on", "note taken back", "note that was late",
}

// String says what the situation is.
func (s Situation) String() string { return actor.NameOf(situationNames, uint8(s), "Situation") }

// Situations returns all of them.
func Situations() []Situation {
	all := make([]Situation, situations)
	for i := range all {
		all[i] = Situation(i)
	}
	return all
}

// Counts says how often each situation was met, by its number.
type Counts [situations]uint64

// Add adds other counts.
func (c *Counts) Add(other *Counts) {
	for i, n := range other {
		c[i] += n
	}
}

// Missing returns the situations that were not met.
func (c *Counts) Missing() []Situation {
	var missing []Situation
	for i, n := range c {
		if n == 0 {
			missing = append(missing, Situation(i))
		}
	}
	return missing
}
