//go:build darwin || windows

package sqlite

import "github.com/simba-go/simba/actor"

// sharedClock counts from the start of the machine, asleep or not, and is the same
// for all of its processes.
func sharedClock() (actor.Clock, error) { return actor.SystemClock{}, nil }
