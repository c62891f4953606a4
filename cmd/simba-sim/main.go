// Command simba-sim lets simulated worlds live, looks for one that breaks a rule,
// and shows what happened in it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/simba-go/simba/cmd/simba-sim/internal/experiment"
)

// Exit codes.
const (
	exitViolation = 1 // something that must hold does not
	exitUsage     = 2
)

func main() {
	// Worlds leave a lot of short-lived garbage and keep little. A collector that
	// runs less often makes them up to a third faster.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "simba-sim:", err)
		os.Exit(exitCode(err))
	}
}

// brokenError is a world in which something does not hold.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func exitCode(err error) int {
	var broken *brokenError
	var failed *experiment.Failure
	if errors.As(err, &broken) || errors.As(err, &failed) {
		return exitViolation
	}
	return exitUsage
}
