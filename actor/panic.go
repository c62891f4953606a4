package actor

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is a panic that was contained: in a behaviour, which ended that
// actor, or in the work of [Context.Go]. A call of runtime.Goexit counts as one.
type PanicError struct {
	Where string // the actor's name
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked
}

// errGoexit is the value of a [PanicError] when nothing was passed to panic.
var errGoexit = errors.New("runtime.Goexit was called")

// newPanicError makes an error of what recover returned. It is called by the
// deferred function, so that the stack still shows where it happened.
func newPanicError(where string, value any) *PanicError {
	if value == nil {
		value = errGoexit
	}
	return &PanicError{Where: where, Value: value, Stack: debug.Stack()}
}

// Error names the actor and what it panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("actor: %s panicked: %v", e.Where, e.Value) }

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
