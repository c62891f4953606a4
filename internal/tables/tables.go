// Package tables tests state tables against a second opinion.
package tables

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/looplab/fsm"
	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
)

// Check fails the test unless a machine and its twin in looplab/fsm agree on
// random sequences of the table's events, those among them that are undefined
// included.
func Check[S, E actor.Enum](t *testing.T, table *actor.Table[S, E]) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) { Walk(rt, table) })
}

// Walk is one such sequence.
func Walk[S, E actor.Enum](rt *rapid.T, table *actor.Table[S, E]) {
	machine, twin := actor.NewMachine(table), table.FSM()
	for _, event := range rapid.SliceOf(rapid.SampledFrom(table.Events())).Draw(rt, "events") {
		from := machine.State()
		if err := verdict(from, event, machine.Step(event), twin.Event(context.Background(), event.String())); err != nil {
			rt.Fatal(err)
		}
		if got, want := machine.State().String(), twin.Current(); got != want {
			rt.Fatalf("event %s in state %s leads to %s, and the twin to %s", event, from, got, want)
		}
	}
}

// verdict compares what a machine and its twin said of an event.
func verdict[S, E actor.Enum](from S, event E, err, twinErr error) error {
	// The twin calls it an error that the state did not change.
	var none fsm.NoTransitionError
	if errors.As(twinErr, &none) {
		twinErr = none.Err
	}
	var undefined *actor.UndefinedError
	switch {
	case (err == nil) != (twinErr == nil):
		return fmt.Errorf("event %s in state %s: the machine says %v, and the twin %v", event, from, err, twinErr)
	case err == nil:
		return nil
	case !errors.As(err, &undefined) || undefined.State != from.String() || undefined.Event != event.String():
		return fmt.Errorf("event %s in state %s: the machine says %v", event, from, err)
	}
	return nil
}
