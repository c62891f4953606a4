//go:build !linux && !darwin && !windows

package sqlite

import (
	"fmt"
	"runtime"

	"github.com/simba-go/simba/actor"
)

// sharedClock fails: the clock of package actor counts from the start of each
// process here, so that processes could not compare their times.
func sharedClock() (actor.Clock, error) {
	return nil, fmt.Errorf("simba: sqlite: there is no clock on %s that all processes share and that Simba knows; Linux, macOS and Windows have one", runtime.GOOS)
}
