package election

import (
	"github.com/simba-go/simba/actor"
)

// Status is where an election stands. The words are the same in snapshots, logs
// and metrics.
type Status uint8

// The states.
const (
	// Candidate: the election contends, waits for a cooldown, or for an old task.
	Candidate Status = iota
	// Leader: the election holds a term.
	Leader
	// SteppingDown: a voluntary handover is under way; the term is still valid.
	SteppingDown
	// Stopped is final.
	Stopped
)

// String is the word that snapshots, logs and metrics use.
func (s Status) String() string {
	return actor.NameOf([]string{"CANDIDATE", "LEADER", "STEPPING_DOWN", "STOPPED"}, uint8(s), "Status")
}

// Event is what moves an election.
type Event uint8

// The events.
const (
	// Win: the current candidacy won a term.
	Win Event = iota
	// Lose: the term ended against the election's will.
	Lose
	// StepDownAsked: hand over, and stay started.
	StepDownAsked
	// StopAsked: hand over, and stop.
	StopAsked
	// HandedOver: the handover is over, and the election stays started.
	HandedOver
	// HandedOverLast: the handover is over, and the election stops.
	HandedOverLast
)

// String is what diagrams and errors call the event.
func (e Event) String() string {
	return actor.NameOf([]string{"win", "lose", "step down", "stop", "handed over", "handed over to stop"}, uint8(e), "Event")
}

// Table is the election's state machine.
var Table = actor.NewTable("election", Candidate,
	actor.Row[Status, Event]{From: []Status{Candidate}, On: Win, To: Leader},
	actor.Row[Status, Event]{From: []Status{Candidate}, On: StepDownAsked, To: Candidate},
	actor.Row[Status, Event]{From: []Status{Candidate}, On: StopAsked, To: Stopped},
	actor.Row[Status, Event]{From: []Status{Leader}, On: Lose, To: Candidate},
	actor.Row[Status, Event]{From: []Status{Leader}, On: StepDownAsked, To: SteppingDown},
	actor.Row[Status, Event]{From: []Status{Leader}, On: StopAsked, To: SteppingDown},
	actor.Row[Status, Event]{From: []Status{SteppingDown}, On: StepDownAsked, To: SteppingDown},
	actor.Row[Status, Event]{From: []Status{SteppingDown}, On: StopAsked, To: SteppingDown},
	actor.Row[Status, Event]{From: []Status{SteppingDown}, On: HandedOver, To: Candidate},
	actor.Row[Status, Event]{From: []Status{SteppingDown}, On: HandedOverLast, To: Stopped},
	actor.Row[Status, Event]{From: []Status{Stopped}, On: StopAsked, To: Stopped},
)
