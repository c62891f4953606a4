package schedule

import (
	"github.com/simba-go/simba/actor"
)

// LookEvery is how long a schedule sleeps at most.
const LookEvery = lookEvery

// Stray returns messages of a schedule to itself that mean nothing any more.
func Stray() []actor.Message { return []actor.Message{lookNow{}, sight{}} }
