package sim

import "time"

// Entry is one thing that happened in a world, for people: a line of its story and a mark on its timeline.
type Entry struct {
	At    time.Duration `json:"at"`              // true time since the world began
	Node  string        `json:"node"`            // whose lane: a client such as "client-1", "store", "resource", "network"
	Kind  Kind          `json:"kind"`            // what it is about
	Name  string        `json:"name,omitempty"`  // of the lease, if it is about one
	Token uint64        `json:"token,omitempty"` // of the term, if it is about one
	State string        `json:"state,omitempty"` // what it is now; see Kind
	Text  string        `json:"text"`            // a sentence
	To    string        `json:"to,omitempty"`    // of a message: the receiving node
	Until time.Duration `json:"until,omitempty"` // of a message: when it arrives, 0 if it does not
}

// Kind is what an entry is about, and so which states it may say.
type Kind string

// The kinds, each with its states.
const (
	KindMessage   Kind = "message"   // sent, lost, doubled, late
	KindSession   Kind = "session"   // OPENING, LIVE, SUSPENDED, CLOSED
	KindElection  Kind = "election"  // CANDIDATE, LEADER, STEPPING_DOWN, STOPPED
	KindLock      Kind = "lock"      // WAITING, HELD, RELEASING, OVER
	KindTerm      Kind = "term"      // begun, ended
	KindTask      Kind = "task"      // running, cancelled, exited
	KindCallback  Kind = "callback"  // elected, revoked
	KindWrite     Kind = "write"     // accepted, refused; to the protected resource
	KindFault     Kind = "fault"     // paused, resumed, suspended, woken, crashed, started, cut, healed, outage and others
	KindViolation Kind = "violation" // the invariant's number and name
)
