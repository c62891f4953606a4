package actor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/simba-go/simba/actor"
)

// The kernel's clock that counts time asleep, read by another way.
func TestSystemClockIsTheBootClock(t *testing.T) {
	boot := func() actor.Instant {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
			t.Fatal(err)
		}
		return actor.Instant(ts.Nano())
	}
	for range 1000 {
		before, now, after := boot(), actor.SystemClock{}.Now(), boot()
		if now < before || now > after {
			t.Fatalf("SystemClock reads %d between %d and %d", now, before, after)
		}
	}
}
