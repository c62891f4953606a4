package simba_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
)

// suspended is a clock that counts time asleep, of a machine that can sleep. Timers
// do not know.
type suspended struct {
	awake  actor.Clock
	asleep atomic.Int64
}

func (s *suspended) Now() actor.Instant {
	return s.awake.Now().Add(time.Duration(s.asleep.Load()))
}

func (s *suspended) sleep(d time.Duration) { s.asleep.Add(int64(d)) }

// R16: the machine sleeps for an hour. Reads are right at once, and those who wait
// for the end of a term hear of it within a second.
func TestSuspend(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		clock := &suspended{awake: w.clock}
		w.store = memory.New(memory.WithClock(clock)) // it goes on elsewhere meanwhile
		w.clock = clock
		p := w.start()
		_, term, cancelled := leading(t, p, "n")
		l := must(p.Lock(t.Context(), "l"))
		time.Sleep(time.Second / 2) // neither a tick nor a renewal is due
		begin := time.Now()
		clock.sleep(time.Hour)
		if term.Valid() || l.Valid() || p.Snapshot().Remaining != 0 {
			t.Errorf("term valid %v, lock valid %v, %v left", term.Valid(), l.Valid(), p.Snapshot().Remaining)
		}
		if at := <-cancelled; at.Sub(begin) > time.Second {
			t.Errorf("the task was told after %v", at.Sub(begin))
		}
		<-l.Done()
		if took := time.Since(begin); took > time.Second || l.Reason() != simba.DeadlinePassed {
			t.Errorf("the lock's end came after %v: %v", took, l.Reason())
		}
		// A nap changes nothing.
		time.Sleep(time.Minute)
		l = must(p.Lock(t.Context(), "l"))
		clock.sleep(3 * time.Second)
		time.Sleep(time.Minute)
		if !l.Valid() {
			t.Errorf("the lock is gone after a nap: %v", l.Reason())
		}
	})
}
