package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/simba-go/simba"
)

// The exit codes that are not CMD's own. They are those of sysexits.h, except for the last.
const (
	exitUsage       = 64 // the command line is wrong
	exitNobody      = 68 // nobody here leads
	exitUnavailable = 69 // the backend cannot be used
	exitSoftware    = 70 // simba itself failed
	exitNotAcquired = 75 // the lock was not acquired in time
	exitLost        = 76 // the term was lost while CMD ran
)

// exitCodes is for help texts.
const exitCodes = `Exit codes:
  64     the command line is wrong
  68     nobody here leads NAME (simba stepdown)
  69     the backend is unavailable
  70     simba itself failed
  75     the lock was not acquired in time
  76     the term was lost while CMD ran
  126    CMD cannot be executed
  127    CMD was not found
  128+N  the signal with the number N ended simba or CMD
Otherwise it is CMD's own, or 0.`

// exitError is the end of the process. Without an err there is nothing to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitOf finds the exit code for an error of a command.
func exitOf(err error) *exitError {
	var (
		exit    *exitError
		stopped *signalled
		name    *simba.NameError
		params  *simba.ParamsError
		open    *simba.OpenError
		ended   *simba.EndedError
	)
	switch {
	case errors.As(err, &exit):
		return exit
	case errors.As(err, &stopped):
		return &exitError{stopped.code(), nil} // whoever sent it knows
	case errors.As(err, &name), errors.As(err, &params):
		return &exitError{exitUsage, err}
	case errors.As(err, &open):
		return &exitError{exitUnavailable, err}
	case errors.Is(err, simba.ErrNotAcquired):
		return &exitError{exitNotAcquired, err}
	case errors.As(err, &ended):
		return &exitError{exitLost, err}
	}
	return &exitError{exitSoftware, err}
}

// report says in one line what is wrong, and returns the exit code. An error
// without one comes from the parser of the command line.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	exit := &exitError{exitUsage, err}
	errors.As(err, &exit)
	if exit.err != nil {
		fmt.Fprintln(w, "simba: "+oneLine(exit.err))
	}
	return exit.code
}

func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "simba: ")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
}

// causeOf is what ended a context: a signal, if there was one.
func causeOf(ctx context.Context, err error) error {
	var stopped *signalled
	if errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return err
}
