package task

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of a callback or a task: the Value that it was called with,
// and the Stack.
type PanicError struct {
	Name  string // of the election
	What  string // OnElected, OnRevoked, task or executor
	Value any
	Stack []byte
}

// Error says what panicked, and with which value; the stack is not in it.
func (e *PanicError) Error() string {
	return fmt.Sprintf("simba: %s of %q panicked: %v", e.What, e.Name, e.Value)
}

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrHandover is the cause of a task's context that was cancelled because the
// term is about to be handed over.
var ErrHandover = errors.New("simba: the term is being handed over")

// ErrGoexit is the error of a callback or task that ended its goroutine.
var ErrGoexit = errors.New("simba: a callback or task ended its goroutine instead of returning")

// Protect runs f, and turns its panic into a [*PanicError].
func Protect(name, what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Name: name, What: what, Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
