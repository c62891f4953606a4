package actor_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
)

// A reading that starts after another one has ended is never before it, whichever
// threads and processors the two run on.
func TestClocksNeverGoBackwards(t *testing.T) {
	clocks := map[string]actor.Clock{"SystemClock": actor.SystemClock{}, "GoClock": actor.NewGoClock()}
	for name, clock := range clocks {
		t.Run(name, func(t *testing.T) {
			var latest atomic.Int64 // of the readings that have ended
			latest.Store(int64(actor.MinInstant))
			var readers sync.WaitGroup
			for range 8 {
				readers.Go(func() {
					for range 20_000 {
						before := latest.Load()
						now := int64(clock.Now())
						if now < before {
							t.Errorf("read %d after %d", now, before)
							return
						}
						for ; before < now && !latest.CompareAndSwap(before, now); before = latest.Load() {
						}
					}
				})
			}
			readers.Wait()
		})
	}
}

// At least as much time passes on the clock as on Go's own: both count what
// happens between the readings, and the system clock may count more.
func TestSystemClockCounts(t *testing.T) {
	clock := actor.SystemClock{}
	first := clock.Now()
	start := time.Now()
	for time.Since(start) < time.Millisecond {
	}
	inner := time.Since(start)
	if outer := clock.Now().Sub(first); outer < inner {
		t.Errorf("%v passed on the system clock, and %v on Go's within that", outer, inner)
	}
}

func TestGoClockFollowsVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := actor.NewGoClock()
		first := clock.Now()
		time.Sleep(time.Hour + 1)
		if got := clock.Now().Sub(first); got != time.Hour+1 {
			t.Errorf("%v passed, want 1h and 1ns", got)
		}
	})
}
