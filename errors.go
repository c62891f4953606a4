package simba

import (
	"errors"
	"fmt"
	"slices"
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

// NotAcquiredError says why a lock of Names was not acquired: a context that was done, or
// an error of the backend, with an unknown outcome; if it was acquired after all,
// it is released. It matches [ErrNotAcquired], Cause and Last.
type NotAcquiredError struct {
	Names []string
	Cause error // of the context, or of the last attempt
	Last  error // what stood in the way at last, a [*HeldError] or other; may be nil
}

// Error names the lock, the cause and what stood in the way.
func (e *NotAcquiredError) Error() string {
	return fmt.Sprintf("simba: lock %s was not acquired: %s", quoted(e.Names), because(e.Cause, e.Last))
}

// Unwrap returns what the error matches.
func (e *NotAcquiredError) Unwrap() []error { return some(ErrNotAcquired, e.Cause, e.Last) }

// OpenError says that no session could be opened in time. It matches Cause and
// Last.
type OpenError struct {
	Cause error // of the context
	Last  error // of the last attempt; nil if none was answered
}

// Error puts the store's own reason first, for that is what to mend.
func (e *OpenError) Error() string {
	return fmt.Sprintf("simba: no session could be opened: %s", because(e.Cause, e.Last))
}

// Unwrap returns what the error matches.
func (e *OpenError) Unwrap() []error { return some(e.Cause, e.Last) }

// because puts what happened last behind the cause.
func because(cause, last error) string {
	s := plain(cause)
	if last != nil {
		s += " (" + plain(last) + ")"
	}
	return s
}

// plain is an error's text without the prefix of ours, for use within another.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "simba: ") }

// some returns the errors that are not nil.
func some(errs ...error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// joinErrors is errors.Join, but leaves a single error as it is.
func joinErrors(errs ...error) error {
	if errs = some(errs...); len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// checkNames names every bad name at once.
func checkNames(names []string) error {
	var bad []error
	for _, name := range names {
		bad = append(bad, CheckName(name))
	}
	return joinErrors(bad...)
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, name := range names {
		q[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(q, ", ")
}
