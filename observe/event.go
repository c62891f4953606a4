// Package observe names what happens inside a client, for logs, metrics and
// tests. Events are labelled by the names of leases, whose number is bounded, and
// carry session ids for logs only.
package observe

import (
	"time"

	"github.com/simba-go/simba/term"
)

// Event is one of the types below.
type Event any

// Sink takes events, in the order in which each actor emits them. It is called by
// the actors themselves: it must return at once and be safe for concurrent use.
type Sink func(Event)

// Discard is the sink for those who do not listen.
func Discard(Event) {}

// Result is how a call to the backend ended.
type Result string

// The results of calls.
const (
	Succeeded Result = "ok"
	Refused   Result = "held"    // the lease belongs to someone else
	Expired   Result = "expired" // the session has ended at the backend
	Unknown   Result = "unknown" // an error or no answer in time
)

// The events of a session. Session is its id, Took how long a call was under way,
// Err why something failed, and Result how a call ended.
type (
	// SessionOpened says that the backend granted a session.
	SessionOpened struct {
		Session   string
		Remaining time.Duration // local validity
	}
	// SessionShortened says, once per session, that the backend granted less than it
	// was asked for, and so little that renewals go every Interval instead of every
	// configured interval.
	SessionShortened struct {
		Session  string
		Asked    time.Duration // the lease that was asked for
		Granted  time.Duration // the lease that was granted
		Interval time.Duration
	}
	// SessionSuspended says that a renewal failed; the deadline has not passed.
	SessionSuspended struct {
		Session string
		Err     error
	}
	// SessionResumed says that a renewal succeeded again.
	SessionResumed struct{ Session string }
	// SessionEnded says that a session is over, and its Reason.
	SessionEnded struct {
		Session string
		Reason  term.Reason
	}
	// OpenFailed says that a session could not be opened; it is tried again.
	OpenFailed struct {
		Err     error
		Retry   time.Duration // until the next try
		Attempt int           // counts from 1
	}
	// Renewed is the outcome of one renewal.
	Renewed struct {
		Result Result
		Took   time.Duration
	}
	// Attempted is the outcome of one call that tried to acquire Names names.
	Attempted struct {
		Result Result // Succeeded if the call was answered, whoever won
		Names  int
		Took   time.Duration
	}
	// Released is the outcome of one call that released Leases leases.
	Released struct {
		Result Result
		Leases int
		Took   time.Duration
	}
)

// The events of elections and locks. Name is that of the lease and Token that of
// the term; Err says why something failed.
type (
	// Elected says that a term has begun.
	Elected struct {
		Name  string
		Token uint64
	}
	// Revoked says that a term has ended, and its Reason.
	Revoked struct {
		Name   string
		Token  uint64
		Reason term.Reason
	}
	// HandoverStarted says that an election is stepping down; Remaining is what its
	// task has.
	HandoverStarted struct {
		Name      string
		Token     uint64
		Remaining time.Duration
	}
	// HandoverTimedOut says that the task had not exited when its time was over.
	HandoverTimedOut struct {
		Name  string
		Token uint64
	}
	// CallbackFailed says that a callback panicked. Err holds the stack.
	CallbackFailed struct {
		Name  string
		Token uint64
		Err   error
	}
	// CallbackRefused says that the executor did not take a callback.
	CallbackRefused struct {
		Name  string
		Token uint64
		Err   error
	}
	// TaskStarted says that a task runs under a term.
	TaskStarted struct {
		Name  string
		Token uint64
	}
	// TaskEnded says that a task has returned. Err holds the stack of a panic.
	TaskEnded struct {
		Name  string
		Token uint64
		Err   error
	}
	// TaskOverrunning says that a task still runs although its term has ended.
	TaskOverrunning struct {
		Name  string
		Token uint64
	}
)

// The events of schedules, which run a function again and again during a term. Name is
// that of the lease and Token that of the term.
type (
	// RunStarted says that a run has begun.
	RunStarted struct {
		Name  string
		Token uint64
		Tick  int64 // of a durable schedule, in nanoseconds since 1970; 0 for others
	}
	// NoteFailed says that a durable schedule could not read or write its note at the
	// backend. It tries again, and nothing runs until that is done.
	NoteFailed struct {
		Name  string
		Token uint64
		Err   error // why
	}
	// RunEnded says that a run has returned, after it Took so long. Err is what it
	// returned, or its panic with the stack.
	RunEnded struct {
		Name  string
		Token uint64
		Took  time.Duration
		Err   error
	}
	// TicksSkipped says that several ticks have passed, and that one run makes up for
	// them.
	TicksSkipped struct {
		Name  string
		Token uint64
		Ticks int // that have no run of their own
	}
)
