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
	// Noting: a tick of a durable schedule has come, and is noted at the backend
	// before anything runs.
	Noting
	// Running: the function runs, for a tick.
	Running
	// Leaving: the term is about to end or has ended, and the run that was cancelled
	// for that has not returned yet, or the note of a tick is taken back.
	Leaving
)

// String is what diagrams and errors call the state.
func (s State) String() string {
	return actor.NameOf([]string{"IDLE", "WAITING", "NOTING", "RUNNING", "LEAVING"}, uint8(s), "State")
}

// Event is what moves a schedule.
type Event uint8

// The events.
const (
	// Lead: a term has begun.
	Lead Event = iota
	// Note: a run of a durable schedule is due.
	Note
	// Tick: a run is due, and noted if it has to be.
	Tick
	// Return: the run has returned, or panicked, or there is none to come.
	Return
	// Cancel: the term is about to be handed over, or has ended.
	Cancel
)

// String is what diagrams and errors call the event.
func (e Event) String() string {
	return actor.NameOf([]string{"lead", "note", "tick", "return", "cancel"}, uint8(e), "Event")
}

// Table is the schedule's state machine.
var Table = actor.NewTable("schedule", Idle,
	actor.Row[State, Event]{From: []State{Idle}, On: Lead, To: Waiting},
	actor.Row[State, Event]{From: []State{Waiting}, On: Tick, To: Running},
	actor.Row[State, Event]{From: []State{Waiting}, On: Note, To: Noting},
	actor.Row[State, Event]{From: []State{Noting}, On: Tick, To: Running},
	actor.Row[State, Event]{From: []State{Noting}, On: Cancel, To: Leaving},
	actor.Row[State, Event]{From: []State{Waiting}, On: Cancel, To: Idle},
	actor.Row[State, Event]{From: []State{Running}, On: Return, To: Waiting},
	actor.Row[State, Event]{From: []State{Running}, On: Cancel, To: Leaving},
	actor.Row[State, Event]{From: []State{Leaving}, On: Cancel, To: Leaving},
	actor.Row[State, Event]{From: []State{Leaving}, On: Return, To: Idle},
)
