package backend_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// watchers is a driver whose Watch the tests look into.
type watchers struct {
	running, calls atomic.Int64
	mu             sync.Mutex
	vacated        func(names ...string) // of the last call
	set            *backend.NameSet
	fail           func(call int64) error // what Watch returns at once, unless nil
}

func (w *watchers) watch(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
	w.running.Add(1)
	defer w.running.Add(-1)
	call := w.calls.Add(1)
	w.mu.Lock()
	w.vacated, w.set = vacated, set
	w.mu.Unlock()
	if w.fail != nil {
		if err := w.fail(call); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

func (w *watchers) see(names ...string) {
	w.mu.Lock()
	vacated := w.vacated
	w.mu.Unlock()
	vacated(names...)
}

// watched runs a test on a driver behind its actor, in virtual time.
func watched(t *testing.T, w *watchers, f func(t *testing.T, s *served)) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(&watchStub{watch: w.watch}, actor.WithClock(actor.NewGoClock()))
		f(t, s)
		s.stop(t)
		if n := w.running.Load(); n != 0 {
			t.Errorf("%d Watch are left when the actor has ended", n)
		}
		if n := s.system.DeadLetters(); n != 0 {
			t.Errorf("there are %d dead letters", n)
		}
	})
}

func TestWatchRunsOnlyForSomebody(t *testing.T) {
	w := &watchers{}
	watched(t, w, func(t *testing.T, s *served) {
		a, b := newInbox(), newInbox()
		step := func(running, calls int64, requests ...*backend.WatchRequest) {
			t.Helper()
			for _, r := range requests {
				s.Tell(r)
			}
			synctest.Wait()
			if w.running.Load() != running || w.calls.Load() != calls {
				t.Fatalf("%d of %d Watch run, in place of %d of %d", w.running.Load(), w.calls.Load(), running, calls)
			}
		}
		step(0, 0)
		step(0, 0, &backend.WatchRequest{ReplyTo: a})
		step(1, 1, &backend.WatchRequest{ReplyTo: a, Add: []string{"x"}})
		step(1, 1, &backend.WatchRequest{ReplyTo: b, Add: []string{"x", "y"}})
		step(1, 1, &backend.WatchRequest{ReplyTo: a, Remove: []string{"x"}})
		step(1, 1, &backend.WatchRequest{ReplyTo: b, Remove: []string{"y"}})
		step(0, 1, &backend.WatchRequest{ReplyTo: b, Remove: []string{"x", "never"}})
		step(1, 2, &backend.WatchRequest{ReplyTo: b, Add: []string{"z"}})
		// It is wanted again before it has ended.
		step(1, 3, &backend.WatchRequest{ReplyTo: b, Remove: []string{"z"}}, &backend.WatchRequest{ReplyTo: a, Add: []string{"x"}})
		if names, _ := w.set.Names(); !slices.Equal(names, []string{"x"}) {
			t.Errorf("the driver sees the set %q", names)
		}
		if len(s.reported()) > 0 {
			t.Errorf("reported: %v", s.reported())
		}
	})
}

func TestNoticesGoToThoseWhoWait(t *testing.T) {
	w := &watchers{}
	watched(t, w, func(t *testing.T, s *served) {
		a, b := newInbox(), newInbox()
		s.Tell(&backend.WatchRequest{ReplyTo: a, Add: []string{"x", "y"}})
		s.Tell(&backend.WatchRequest{ReplyTo: b, Add: []string{"y", "z"}})
		synctest.Wait()
		names := []string{"x", "y", "z", "foreign"}
		w.see(names...)
		names[0] = "changed" // which a driver may do when its call has returned
		synctest.Wait()
		if got := next[*backend.Vacated](t, a).Names; !slices.Equal(got, []string{"x", "y"}) {
			t.Errorf("a got %q", got)
		}
		if got := next[*backend.Vacated](t, b).Names; !slices.Equal(got, []string{"y", "z"}) {
			t.Errorf("b got %q", got)
		}
		w.see("foreign")
		w.see()
		s.Tell(&backend.WatchRequest{ReplyTo: a, Remove: []string{"y"}})
		synctest.Wait()
		w.see("y")
		synctest.Wait()
		next[*backend.Vacated](t, b)
		a.empty(t)
		b.empty(t)
		// A driver may be late, also for the actor's whole life.
		s.Tell(&backend.WatchRequest{ReplyTo: b, Remove: []string{"y", "z"}})
		synctest.Wait()
		w.see("y", "z")
		s.stop(t)
		w.see("x")
		a.empty(t)
		b.empty(t)
	})
}

// An error is reported, and Watch is called again after a pause that grows, and is
// short again after a while without errors.
func TestWatchIsCalledAgainAfterAnError(t *testing.T) {
	cause := errors.New("the connection was reset")
	var at []time.Time
	w := &watchers{}
	w.fail = func(call int64) error {
		w.mu.Lock()
		at = append(at, time.Now())
		w.mu.Unlock()
		if call == 12 {
			time.Sleep(11 * time.Second) // it works for a while
		}
		return cause
	}
	watched(t, w, func(t *testing.T, s *served) {
		s.Tell(&backend.WatchRequest{ReplyTo: newInbox(), Add: []string{"x"}})
		time.Sleep(100 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(at) < 13 {
			t.Fatalf("Watch was called %d times in 100 s", len(at))
		}
		want := 100 * time.Millisecond
		for i := range 11 {
			if pause := at[i+1].Sub(at[i]); pause < want || pause > want*3/2 {
				t.Errorf("pause %d was %v: it should be between %v and half as much again", i+1, pause, want)
			}
			want = min(2*want, 10*time.Second)
		}
		if pause := at[12].Sub(at[11]) - 11*time.Second; pause > 150*time.Millisecond {
			t.Errorf("after a while without an error, the pause was %v", pause)
		}
		for _, err := range s.reported() {
			if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "simba: backend: watching for vacant names, again in") {
				t.Errorf("reported: %v", err)
			}
		}
		if len(s.reported()) < 12 {
			t.Errorf("%d errors were reported", len(s.reported()))
		}
	})
}

func TestWatchThatPanicsOrGivesUpIsCalledAgain(t *testing.T) {
	w := &watchers{}
	w.fail = func(call int64) error {
		if call == 1 {
			panic("out of cheese")
		}
		return nil
	}
	d := &watchStub{watch: func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
		if w.calls.Load() == 1 {
			w.calls.Add(1)
			return nil // though nobody has asked it to stop
		}
		return w.watch(ctx, set, vacated)
	}}
	synctest.Test(t, func(t *testing.T) {
		s := serve(d, actor.WithClock(actor.NewGoClock()))
		s.Tell(&backend.WatchRequest{ReplyTo: newInbox(), Add: []string{"x"}})
		time.Sleep(time.Minute)
		if w.running.Load() != 1 || w.calls.Load() != 3 {
			t.Errorf("%d of %d Watch run", w.running.Load(), w.calls.Load())
		}
		s.stop(t)
		var panicked *actor.PanicError
		reports := s.reported()
		if len(reports) != 2 || !errors.As(reports[0], &panicked) || !strings.Contains(reports[1].Error(), "without a reason") {
			t.Errorf("reported: %v", reports)
		}
	})
}

// Nobody calls Watch in a pause, even if the names change; after it, only if
// there are any.
func TestWatchKeepsItsPause(t *testing.T) {
	w := &watchers{fail: func(int64) error { return errors.New("broken") }}
	watched(t, w, func(t *testing.T, s *served) {
		a := newInbox()
		s.Tell(&backend.WatchRequest{ReplyTo: a, Add: []string{"x"}})
		synctest.Wait()
		s.Tell(&backend.WatchRequest{ReplyTo: a, Remove: []string{"x"}})
		s.Tell(&backend.WatchRequest{ReplyTo: a, Add: []string{"y"}})
		synctest.Wait()
		if w.calls.Load() != 1 {
			t.Errorf("Watch was called %d times without a pause", w.calls.Load())
		}
		s.Tell(&backend.WatchRequest{ReplyTo: a, Remove: []string{"y"}})
		time.Sleep(time.Minute)
		if w.calls.Load() != 1 {
			t.Errorf("Watch was called %d times, also when nobody waited", w.calls.Load())
		}
	})
}

func TestDriverThatCannotWatchIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(&stub{})
		s.Tell(&backend.WatchRequest{ReplyTo: newInbox(), Add: []string{"x"}})
		synctest.Wait()
		s.stop(t)
		if len(s.reported()) > 0 {
			t.Errorf("reported: %v", s.reported())
		}
	})
}

// The whole way from one client's release to another's notice.
func TestReleaseIsNoticed(t *testing.T) {
	store := memory.New()
	a, b := serve(store), serve(store)
	defer a.stop(t)
	defer b.stop(t)
	box := newInbox()
	call := backend.Call{ReplyTo: box, Timeout: time.Minute}
	a.Tell(&backend.OpenRequest{Call: call, Lease: time.Minute})
	session := next[*backend.OpenAnswer](t, box).Grant.Session
	a.Tell(&backend.AcquireRequest{Call: call, Session: session, Names: []string{"x"}})
	token := next[*backend.AcquireAnswer](t, box).Outcomes[0].Token
	notices := newInbox()
	b.Tell(&backend.WatchRequest{ReplyTo: notices, Add: []string{"x"}})
	a.Tell(&backend.ReleaseRequest{Call: call, Session: session, Leases: []backend.Lease{{Name: "x", Token: token}}})
	next[*backend.ReleaseAnswer](t, box)
	if got := next[*backend.Vacated](t, notices).Names; !slices.Equal(got, []string{"x"}) {
		t.Errorf("the notice is of %q", got)
	}
}
