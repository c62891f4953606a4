package lock

import (
	"github.com/simba-go/simba/actor"
)

// State is where a lock stands.
type State uint8

// The states.
const (
	// Waiting: the lock contends for its names.
	Waiting State = iota
	// Held: at least one of its terms has not ended.
	Held
	// Releasing: its terms have ended, and the backend has not confirmed yet.
	Releasing
	// Over is final. A lock never has a second term of a name.
	Over
)

// String is what diagrams and errors call the state.
func (s State) String() string {
	return actor.NameOf([]string{"WAITING", "HELD", "RELEASING", "OVER"}, uint8(s), "State")
}

// Event is what moves a lock.
type Event uint8

// The events.
const (
	// Win: all names were won.
	Win Event = iota
	// GiveUp: the caller does not want the lock any more, or cannot have it.
	GiveUp
	// LoseLast: the last of its terms ended against its will.
	LoseLast
	// ReleaseAsked: the caller is done with it.
	ReleaseAsked
	// Settle: nothing of it is left at the backend.
	Settle
)

// String is what diagrams and errors call the event.
func (e Event) String() string {
	return actor.NameOf([]string{"win", "give up", "lose", "release", "settled"}, uint8(e), "Event")
}

// Table is the lock's state machine.
var Table = actor.NewTable("lock", Waiting,
	actor.Row[State, Event]{From: []State{Waiting}, On: Win, To: Held},
	actor.Row[State, Event]{From: []State{Waiting}, On: GiveUp, To: Over},
	actor.Row[State, Event]{From: []State{Held}, On: LoseLast, To: Over},
	actor.Row[State, Event]{From: []State{Held}, On: ReleaseAsked, To: Releasing},
	actor.Row[State, Event]{From: []State{Releasing}, On: Settle, To: Over},
)
