package session

import "github.com/simba-go/simba/actor"

// Footprint is how many things a session remembers, of whatever kind.
func Footprint(b actor.Behavior) int {
	s := b.(*session)
	return len(s.owners) + len(s.held) + len(s.calls) + len(s.due) + len(s.waiting) +
		len(s.out.pending) + len(s.out.queue) + len(s.out.names) + len(s.out.sent) + len(s.out.floors) + len(s.out.settled) +
		len(s.watching.count) + len(s.watching.watchers) + len(s.watching.told) +
		len(s.watching.changed) + len(s.watching.inspects) + len(s.ending.asked)
}

// The limits that a test needs.
const (
	FullEvery  = fullEvery
	FullBelow  = fullBelow
	MaxFlights = maxFlights
)
