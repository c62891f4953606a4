package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/simba-go/simba/actor"
)

// bootClock counts from the start of the machine, asleep or not. It is the one
// clock that all processes of a machine have in common, also those in containers:
// in a time namespace, CLOCK_BOOTTIME is shifted by a constant, which it takes off.
type bootClock struct{ shift time.Duration }

func (c bootClock) Now() actor.Instant { return actor.SystemClock{}.Now().Add(-c.shift) }

func sharedClock() (actor.Clock, error) {
	// Kernels without this file have no time namespaces. Where /proc is missing
	// altogether, there may be one and nobody can tell.
	text, err := os.ReadFile("/proc/self/timens_offsets")
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat("/proc/self/stat"); err != nil {
			return nil, fmt.Errorf("simba: sqlite: /proc must be mounted, to tell whether this process has a clock of its own: %w", err)
		}
		return bootClock{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("simba: sqlite: reading the shift of the clock: %w", err)
	}
	// The file is about children to come. It holds for this process as well
	// unless that has prepared another namespace for them.
	own, _ := os.Readlink("/proc/self/ns/time")
	next, _ := os.Readlink("/proc/self/ns/time_for_children")
	if own != next {
		return nil, fmt.Errorf("simba: sqlite: this process is in the time namespace %s and its children will be in %s, so that its clock cannot be compared with that of others; start it in the namespace in which it shall run", own, next)
	}
	shift, err := boottimeShift(string(text))
	if err != nil {
		return nil, fmt.Errorf("simba: sqlite: /proc/self/timens_offsets: %w", err)
	}
	return bootClock{shift}, nil
}

// boottimeShift finds the line of CLOCK_BOOTTIME, "boottime SECONDS NANOSECONDS".
// Kernels before 5.7 have the clock's number in place of its name.
func boottimeShift(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "boottime" && f[0] != "7" {
			continue
		}
		seconds, err1 := strconv.ParseInt(f[1], 10, 64)
		nanos, err2 := strconv.ParseInt(f[2], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return 0, err
		}
		return time.Duration(seconds)*time.Second + time.Duration(nanos), nil
	}
	return 0, fmt.Errorf("%q does not mention the clock boottime", text)
}
