package simba_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
)

// R51: whatever hangs, a snapshot does not.
func TestSnapshotWhileEverythingHangs(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		blocked := make(chan struct{})
		must(p.Elect("callback", simba.Listener{OnElected: func(context.Context, *simba.Term) { <-blocked }}))
		task := must(p.Run("task", func(context.Context, *simba.Term) error { <-blocked; return errors.New("failed") }))
		must(p.Lock(t.Context(), "lock"))
		other := w.start()
		must(other.Lock(t.Context(), "held"))
		must(p.Elect("held", simba.Listener{}))
		synctest.Wait()
		p.way.set(p.way.deaf)
		stopping := async(func() error { return task.Stop(t.Context()) })
		time.Sleep(interval + time.Second)
		begin := time.Now()
		s := p.Snapshot()
		if time.Since(begin) != 0 {
			t.Errorf("it took %v", time.Since(begin))
		}
		if s.Session == "" || s.State != simba.StateLive || s.Remaining != local-interval-time.Second || s.Leases != 3 || s.Interval != interval {
			t.Errorf("%+v", s)
		}
		var names []string
		for _, e := range s.Elections {
			names = append(names, e.Name+" "+e.Status.String())
			if (e.Token != 0) != (e.Name != "held") || (e.Remaining > 0) != (e.Name != "held") || e.Running != (e.Name == "task") {
				t.Errorf("%+v", e)
			}
		}
		if len(names) != 3 || names[0] != "callback LEADER" || names[1] != "held CANDIDATE" || names[2] != "task STEPPING_DOWN" {
			t.Errorf("%q", names)
		}
		time.Sleep(lease)
		if s := p.Snapshot(); s.State != simba.StateOpening || s.Session != "" || s.Remaining != 0 || s.Leases != 0 || s.LastErr == nil {
			t.Errorf("%+v", s)
		}
		close(blocked)
		<-stopping
		p.way.heal()
		<-task.Done()
		if s := task.Snapshot(); s.Status != simba.StatusStopped || s.LastErr == nil || s.LastErr.Error() != "failed" || s.Token != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// What a call has done is seen by whoever looks after it.
func TestSnapshotAfterACall(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		for range 100 {
			e := must(p.Elect("n", simba.Listener{}))
			if err := e.Stop(t.Context()); err != nil || e.Term() != nil || e.Snapshot().Status != simba.StatusStopped {
				t.Fatalf("%v, %+v", err, e.Snapshot())
			}
			l := must(p.Lock(t.Context(), "n"))
			if s := p.Snapshot(); s.Leases != 1 {
				t.Fatalf("locked: %+v", s)
			}
			l.Release(t.Context())
			if s := p.Snapshot(); s.Leases != 0 {
				t.Fatalf("released: %+v", s)
			}
		}
	})
}
