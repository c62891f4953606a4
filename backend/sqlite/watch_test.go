package sqlite

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// watching is a Watch that runs.
type watching struct {
	tb      testing.TB
	set     *backend.NameSet
	vacated chan string
	ended   chan error
	cancel  context.CancelFunc
}

func (s *store) watch(names ...string) *watching {
	ctx, cancel := context.WithCancel(s.ctx)
	w := &watching{s.tb, backend.NewNameSet(), make(chan string, 10_000), make(chan error, 1), cancel}
	w.set.Update(names, nil)
	go func() {
		w.ended <- s.Watch(ctx, w.set, func(names ...string) {
			for _, name := range names {
				w.vacated <- name
			}
		})
	}()
	s.tb.Cleanup(w.end)
	return w
}

func (w *watching) end() {
	w.cancel()
	if err := <-w.ended; err != nil {
		w.tb.Errorf("Watch returned %v", err)
	}
	w.ended <- nil // for the next time
}

func (w *watching) hears(name string) {
	w.tb.Helper()
	select {
	case got := <-w.vacated:
		if got != name {
			w.tb.Fatalf("heard of %q in place of %q", got, name)
		}
	case <-time.After(bound):
		w.tb.Fatalf("heard nothing of %q", name)
	}
}

// A release of another process is noticed by what it wrote.
func TestWatchNoticesAnotherProcess(t *testing.T) {
	s := fresh(t, system())
	p := start(t, "hold", s.path, "name", "1h")
	p.hear()
	w := s.watch("name", "never held")
	w.hears("never held") // so it has looked
	p.tell("release")
	p.expect("released")
	w.hears("name")
}

// A name that leaves the set and comes back is a new one: whoever waits for it now
// has not heard what was said before.
func TestWatchLooksAtANameThatCameBack(t *testing.T) {
	s := fresh(t, system())
	w := s.watch("name")
	w.hears("name")
	w.set.Update([]string{"name"}, []string{"name"})
	w.hears("name")
}

// The death of another process is noticed when its session expires.
func TestWatchNoticesExpiry(t *testing.T) {
	s := fresh(t, system())
	p := start(t, "hold", s.path, "name", "1s")
	p.hear()
	w := s.watch("name", "never held")
	w.hears("never held")
	p.kill()
	w.hears("name")
	if h := s.holder("name"); h.Held {
		t.Errorf("too early: %+v", h)
	}
}

// What is freed by this process is noticed without a look at the file's version.
func TestWatchNoticesThisProcess(t *testing.T) {
	s := fresh(t, system())
	a, b := s.session(time.Hour), s.session(time.Hour)
	token := s.win(a, "a")
	s.win(b, "b")
	w := s.watch("a", "b", "never held")
	w.hears("never held")
	woken := func(signal <-chan struct{}) {
		t.Helper()
		select {
		case <-signal:
		default:
			t.Error("no watch was woken")
		}
	}
	released := s.signal()
	s.free(a, "a", token)
	woken(released)
	w.hears("a")
	closed := s.signal()
	if err := s.CloseSession(s.ctx, b); err != nil {
		t.Fatal(err)
	}
	woken(closed)
	w.hears("b")
}

// A name that is taken and freed between two looks is told of again; one that stays
// free is not.
func TestWatchTellsOnceForEachTerm(t *testing.T) {
	c := &clock{}
	s := fresh(t, c.environment())
	session := s.session(time.Hour)
	var heard []string
	w := &watch{store: s.Store, vacated: func(names ...string) { heard = append(heard, names...) }}
	look := func(want ...string) {
		t.Helper()
		heard = nil
		if _, err := w.look(s.ctx, w.Ask([]string{"a", "b"}, nil, true), true); err != nil {
			t.Fatal(err)
		}
		slices.Sort(heard)
		if !slices.Equal(heard, want) {
			t.Errorf("heard of %v in place of %v", heard, want)
		}
	}
	look("a", "b")
	look()
	s.free(session, "a", s.win(session, "a"))
	look("a")
	token := s.win(session, "b")
	look()
	s.free(session, "b", token)
	look("b")
	s.win(session, "a")
	look()
	c.advance(time.Hour)
	look("a")
	look()
}

// recorder is a clock that notes when it is read.
type recorder struct {
	actor.Clock
	read func()
}

func (r recorder) Now() actor.Instant {
	r.read()
	return r.Clock.Now()
}

// A watch looks at its names when something was written, and at no other time.
// Without names, it does not even ask whether something was.
func TestWatchDoesNotSpin(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	s.win(session, "name")
	var reads atomic.Int64
	env := system()
	env.clock = recorder{env.clock, func() { reads.Add(1) }}
	watcher := opened(t, s.path, env)
	// What must not happen is given some time to. If it does not, no time is too
	// short.
	const idle = 200 * time.Millisecond
	w := watcher.watch()
	s.renew(session)
	time.Sleep(idle)
	if n := reads.Load(); n > 0 {
		t.Errorf("without names, it looked %d times", n)
	}
	w.set.Update([]string{"name", "never held"}, nil)
	w.hears("never held")
	const changes = 20
	for range changes {
		before := reads.Load()
		s.renew(session)
		eventually(t, "it looks", func() bool { return reads.Load() > before })
	}
	time.Sleep(idle)
	// Each look reads the clock, and so does each wait, which begins at once.
	if n := reads.Load(); n > 2*(changes+2) {
		t.Errorf("it read the clock %d times for %d changes", n, changes)
	}
}
