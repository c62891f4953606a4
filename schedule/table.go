package schedule

import (
	"github.com/simba-go/simba/actor"
)

// State is where a schedule stands.
type State uint8

// The states.
const (
	// Idle: this client does not lead, so nothing runs.
	Idle State = iota
	// Waiting: it leads, and waits for the next tick.
	Waiting
	// Running: the function runs, for a tick.
	Running
	// Leaving: the term is about to end or has ended, and the run that was cancelled
	// for that has not returned yet.
	Leaving
)

// String is what diagrams and errors call the state.
func (s State) String() string {
	return actor.NameOf([]string{"IDLE", "WAITING", "RUNNING", "LEAVING"}, uint8(s), "State")
}

// Event is what moves a schedule.
type Event uint8

// The events.
const (
	// Lead: a term has begun.
	Lead Event = iota
	// Tick: a run is due.
	Tick
	// Return: the run has returned, or panicked.
	Return
	// Cancel: the term is about to be handed over, or has ended.
	Cancel
)

// String is what diagrams and errors call the event.
func (e Event) String() string {
	return actor.NameOf([]string{"lead", "tick", "return", "cancel"}, uint8(e), "Event")
}

// Table is the schedule's state machine.
var Table = actor.NewTable("schedule", Idle,
	actor.Row[State, Event]{From: []State{Idle}, On: Lead, To: Waiting},
	actor.Row[State, Event]{From: []State{Waiting}, On: Tick, To: Running},
	actor.Row[State, Event]{From: []State{Waiting}, On: Cancel, To: Idle},
	actor.Row[State, Event]{From: []State{Running}, On: Return, To: Waiting},
	actor.Row[State, Event]{From: []State{Running}, On: Cancel, To: Leaving},
	actor.Row[State, Event]{From: []State{Leaving}, On: Cancel, To: Leaving},
	actor.Row[State, Event]{From: []State{Leaving}, On: Return, To: Idle},
)
