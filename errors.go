package simba

import (
	"errors"
	"fmt"
	"strings"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/task"
	"github.com/simba-go/simba/term"
)

// The errors to match with errors.Is.
var (
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("simba: the client is closed")
	// ErrNotAcquired: the lock is not held. It comes as a [*HeldError], or as a
	// [*NotAcquiredError] that says why.
	ErrNotAcquired = lock.ErrNotAcquired
	// ErrHandover is the cause of a task's cancelled context when its term is about
	// to be handed over, and still valid.
	ErrHandover = task.ErrHandover
	// ErrInline: a call would have to wait, from within a callback that an executor
	// runs on the engine's loop.
	ErrInline = task.ErrInline
)

// The errors to match with errors.As.
type (
	// HeldError says by whom a name is held, and for how long at most.
	HeldError = lock.HeldError
	// InUseError says that this client has an election or lock of that name.
	InUseError = session.InUseError
	// EndedError says that a term has ended, and why.
	EndedError = term.EndedError
	// ShortError says that less of a term remains than was asked for.
	ShortError = term.ShortError
	// NameError says why something cannot be a name.
	NameError = backend.NameError
	// ParamsError holds every broken rule of a client's parameters.
	ParamsError = session.ParamsError
	// StoppedError says that an election has stopped.
	StoppedError = election.StoppedError
	// CooldownError says that a cooldown is negative.
	CooldownError = election.CooldownError
	// PanicError is a panic of a callback or a task.
	PanicError = task.PanicError
)

// NotAcquiredError says why a lock was not acquired: a context that was done, or
// an error of the backend, with an unknown outcome; if it was acquired after all,
// it is released. It matches [ErrNotAcquired], Cause and Last.
type NotAcquiredError struct {
	Names []string
	Cause error // of the context, or of the last attempt
	Last  error // what stood in the way at last, a [*HeldError] or other; may be nil
}

func (e *NotAcquiredError) Error() string {
	s := fmt.Sprintf("simba: lock %s was not acquired: %v", quoted(e.Names), e.Cause)
	if e.Last != nil {
		s += " (" + strings.TrimPrefix(e.Last.Error(), "simba: ") + ")"
	}
	return s
}

// Unwrap returns what the error matches.
func (e *NotAcquiredError) Unwrap() []error {
	errs := []error{ErrNotAcquired, e.Cause}
	if e.Last != nil {
		errs = append(errs, e.Last)
	}
	return errs
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, name := range names {
		q[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(q, ", ")
}

// OpenError says that no session could be opened.
type OpenError struct {
	Cause error // of the context
	Last  error // of the last attempt; nil if none was answered
}

func (e *OpenError) Error() string {
	if e.Last == nil {
		return fmt.Sprintf("simba: no session could be opened: %v", e.Cause)
	}
	return fmt.Sprintf("simba: no session could be opened: %v (%v)", e.Last, e.Cause)
}

// Unwrap returns what the error matches.
func (e *OpenError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.Last}
}
