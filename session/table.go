package session

import (
	"github.com/simba-go/simba/actor"
)

// State is where a session stands.
type State uint8

// The states.
const (
	// Opening: there is no session yet, or a new one after the last has ended.
	Opening State = iota
	// Live: the last renewal succeeded.
	Live
	// Suspended: the last renewal failed, and the deadline has not passed.
	Suspended
	// Closed is final.
	Closed
)

// String is the word that snapshots, logs and metrics use.
func (s State) String() string {
	return actor.NameOf([]string{"OPENING", "LIVE", "SUSPENDED", "CLOSED"}, uint8(s), "State")
}

// Event is what moves a session.
type Event uint8

// The events.
const (
	// Opened: the backend granted a session.
	Opened Event = iota
	// Renewed: a renewal succeeded before the deadline.
	Renewed
	// RenewalFailed: a renewal was answered by an error, or not in time.
	RenewalFailed
	// DeadlinePassed: the local deadline has passed.
	DeadlinePassed
	// Expired: the backend said that the session has ended.
	Expired
	// CloseAsked: the client closes.
	CloseAsked
)

// String is what diagrams and errors call the event.
func (e Event) String() string {
	return actor.NameOf([]string{"opened", "renewed", "renewal failed", "deadline passed", "expired", "close"}, uint8(e), "Event")
}

// Table is the session's state machine.
var Table = actor.NewTable("session", Opening,
	actor.Row[State, Event]{From: []State{Opening}, On: Opened, To: Live},
	actor.Row[State, Event]{From: []State{Live, Suspended}, On: Renewed, To: Live},
	actor.Row[State, Event]{From: []State{Live, Suspended}, On: RenewalFailed, To: Suspended},
	actor.Row[State, Event]{From: []State{Live, Suspended}, On: DeadlinePassed, To: Opening},
	actor.Row[State, Event]{From: []State{Live, Suspended}, On: Expired, To: Opening},
	actor.Row[State, Event]{From: []State{Opening, Live, Suspended}, On: CloseAsked, To: Closed},
)
