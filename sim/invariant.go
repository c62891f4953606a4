package sim

import (
	"fmt"
	"time"
)

// Invariant is a rule that must always hold in a world. "At once" means at one
// instant of the world's true time.
type Invariant struct {
	Number int    // in the project's list of rules that must always hold
	Name   string // a few words
	Says   string // a sentence
}

// The invariants, in the order of their numbers. Up to [ReachableStates] they are about
// safety and hold at every step, and so do [TickOnce], [TickKept] and [FreeWhenDone];
// the others come true once faults have stopped.
var (
	OneValidTerm        = Invariant{1, "one valid term", "At most one term of a name is valid at once, while clock rates stay within the drift."}
	DeadlineFirst       = Invariant{2, "deadline before expiry", "A session's local deadline comes before its expiry at the backend."}
	TokensGrow          = Invariant{3, "tokens grow", "The tokens of a name strictly increase over its terms, are above zero, and are fixed within a term."}
	NeverValidAgain     = Invariant{4, "never valid again", "A term's validity never goes from false to true."}
	EndedIsOver         = Invariant{5, "ended is over", "An ended term has nothing remaining, and fails EnsureValid."}
	OneReason           = Invariant{6, "one true reason", "Each term ends for exactly one reason, whose cause really occurred."}
	EndBeforeRelease    = Invariant{7, "end before release", "A term has ended before its lease is released."}
	ReleaseOwnLease     = Invariant{8, "release one's own", "A release frees only leases of its own session with its own tokens."}
	ExpiredIsFinal      = Invariant{9, "expired is final", "An expired session never renews and never acquires."}
	UniqueSessions      = Invariant{10, "unique sessions", "The id of a session is never used again."}
	NoStaleWin          = Invariant{11, "no stale win", "No term comes from an abandoned attempt, from an answer past the deadline, or from a token that was released."}
	PassedIsPassed      = Invariant{12, "passed is passed", "No answer moves a deadline that has passed."}
	OneInFlight         = Invariant{13, "one in flight", "At most one renewal of a session and one attempt for a name are under way."}
	HandoverInOrder     = Invariant{14, "handover in order", "After a voluntary handover, the old task has exited or its time is up before the next leader's task starts."}
	OneTask             = Invariant{15, "one task", "Two tasks of one election never overlap in one process."}
	PairedCallbacks     = Invariant{16, "paired callbacks", "Callbacks are paired and in order, never overlap, and none runs after the wait of Stop has ended."}
	NoAttemptUnasked    = Invariant{17, "no attempt unasked", "Nobody attempts a name after Stop or during a cooldown, which counts from the step-down."}
	LockOnce            = Invariant{18, "one term per lock", "A lock never has a second term."}
	ResourceSafe        = Invariant{19, "resource is safe", "A resource that checks tokens never accepts a smaller one after a larger one."}
	RenewalJudgesBefore = Invariant{20, "renewal judges the past", "A renewal's answer never ends a term that was won after that renewal was sent."}
	ReachableStates     = Invariant{21, "reachable states", "What the machines do is in their tables, and no actor reports a bug."}
	NameIsLed           = Invariant{22, "a name is led", "With a healthy backend and a candidate, a name has a leader within a lease, an attempt period and a round trip."}
	DroppedRenewal      = Invariant{23, "a dropped renewal", "One dropped renewal costs no term."}
	QuickHandover       = Invariant{24, "quick handover", "After a clean stop, on a backend that broadcasts, the next leader is there within round trips."}
	CallsComeBack       = Invariant{25, "calls come back", "Stop, StepDown, Release and Close always come back."}
	NoLeaseLeftBehind   = Invariant{26, "no lease left behind", "A lease that nobody uses does not outlive two renewal rounds of its session."}
	ConstantCalls       = Invariant{28, "constant calls", "The number of renewals does not depend on the number of leases, nor that of attempts on the number of elections, beyond chunks."}
	TickOnce            = Invariant{29, "a tick runs once", "No tick of a durable schedule runs twice, by whichever leader."}
	TickKept            = Invariant{30, "a tick is kept", "Each tick of a durable schedule has a run, or one that stands for it, unless its leader was lost when it was noted."}
	ScheduleGoesOn      = Invariant{31, "a schedule goes on", "Whoever leads by a schedule comes to a run, whatever was the matter with the store or its clock."}
	FreeWhenDone        = Invariant{32, "free when done", "When Stop, StepDown or Release has come back without an error, the lease that it gave up is free, unless its session has ended."}
)

// Invariants returns all of them. The missing number, 27, is about groups, which do
// not exist yet.
func Invariants() []Invariant {
	return []Invariant{
		OneValidTerm, DeadlineFirst, TokensGrow, NeverValidAgain, EndedIsOver, OneReason, EndBeforeRelease, ReleaseOwnLease,
		ExpiredIsFinal, UniqueSessions, NoStaleWin, PassedIsPassed, OneInFlight, HandoverInOrder, OneTask, PairedCallbacks,
		NoAttemptUnasked, LockOnce, ResourceSafe, RenewalJudgesBefore, ReachableStates,
		NameIsLed, DroppedRenewal, QuickHandover, CallsComeBack, NoLeaseLeftBehind, ConstantCalls, TickOnce, TickKept, ScheduleGoesOn,
		FreeWhenDone,
	}
}

// Violation is a counterexample to an invariant.
type Violation struct {
	Invariant
	At   time.Duration // true time since the world began
	Step uint64        // the number of messages and timers that actors had handled
	What string        // happened, in a sentence
}

// Error says which invariant does not hold, when, and why.
func (v *Violation) Error() string {
	return fmt.Sprintf("sim: at %v, step %d, invariant %d %q: %s", v.At, v.Step, v.Number, v.Name, v.What)
}

// Violate fails the world with a counterexample.
func (w *World) Violate(i Invariant, format string, args ...any) {
	w.Fail(&Violation{Invariant: i, At: time.Duration(w.now), Step: w.steps, What: fmt.Sprintf(format, args...)})
}
