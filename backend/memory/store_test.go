package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

var ctx = context.Background()

// sighting is what a Watch told, and when.
type sighting struct {
	names string
	after time.Duration
}

// sightings is a Watch at work in virtual time.
type sightings struct {
	set   *backend.NameSet
	start time.Time
	mu    sync.Mutex
	seen  []sighting
	end   func()
}

func watchNames(t *testing.T, store *memory.Store, names ...string) *sightings {
	s := &sightings{set: backend.NewNameSet(), start: time.Now()}
	s.set.Update(names, nil)
	watching, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		err := store.Watch(watching, s.set, func(names ...string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen = append(s.seen, sighting{fmt.Sprint(slices.Sorted(slices.Values(names))), time.Since(s.start)})
		})
		if err != nil {
			t.Errorf("Watch returned %v", err)
		}
	})
	s.end = func() { cancel(); running.Wait() }
	synctest.Wait()
	return s
}

// saw checks what was told since the last time.
func (s *sightings) saw(t *testing.T, want ...sighting) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.seen, want) {
		t.Errorf("Watch told %v in place of %v", s.seen, want)
	}
	s.seen = nil
}

func open(t *testing.T, store *memory.Store, lease time.Duration) string {
	t.Helper()
	grant, err := store.Open(ctx, lease, "")
	if err != nil {
		t.Fatal(err)
	}
	return grant.Session
}

func win(t *testing.T, store *memory.Store, session string, names ...string) []backend.Lease {
	t.Helper()
	outcomes, err := store.Acquire(ctx, session, names, true)
	if err != nil {
		t.Fatal(err)
	}
	leases := make([]backend.Lease, len(names))
	for i, o := range outcomes {
		if !o.Won {
			t.Fatalf("%q was lost: %+v", o.Name, o)
		}
		leases[i] = backend.Lease{Name: o.Name, Token: o.Token}
	}
	return leases
}

// An expiry that somebody waits for is told at the instant when it happens, also
// of a session that came or was renewed after the Watch began, and once.
func TestWatchTellsOfExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.WithClock(actor.NewGoClock()))
		early, late := open(t, store, 10*time.Second), open(t, store, 30*time.Second)
		win(t, store, early, "a")
		w := watchNames(t, store, "a", "b")
		defer w.end()
		w.saw(t, sighting{"[b]", 0}) // free from the start
		win(t, store, late, "b", "unwatched")

		time.Sleep(5 * time.Second)
		if _, err := store.Renew(ctx, early, 0, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		w.saw(t)
		time.Sleep(time.Second)
		w.saw(t, sighting{"[a]", 15 * time.Second})

		brief := open(t, store, time.Second) // which is over before what was known of
		win(t, store, brief, "a")
		time.Sleep(time.Second)
		w.saw(t, sighting{"[a]", 16 * time.Second})

		time.Sleep(14*time.Second - time.Nanosecond)
		w.saw(t)
		time.Sleep(time.Nanosecond)
		w.saw(t, sighting{"[a b]", 30 * time.Second})
		time.Sleep(time.Hour)
		w.saw(t)
	})
}

func TestWatchTellsOfReleaseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.WithClock(actor.NewGoClock()))
		session := open(t, store, time.Hour)
		leases := win(t, store, session, "a", "b", "c", "unwatched")
		w, other := watchNames(t, store, "a", "b"), watchNames(t, store, "b", "c")
		defer w.end()
		defer other.end()
		if err := store.Release(ctx, session, leases[:2]); err != nil {
			t.Fatal(err)
		}
		w.saw(t, sighting{"[a b]", 0})
		other.saw(t, sighting{"[b]", 0})
		if err := store.CloseSession(ctx, session); err != nil {
			t.Fatal(err)
		}
		w.saw(t)
		other.saw(t, sighting{"[c]", 0})
	})
}

func TestCallsHeedTheirContext(t *testing.T) {
	store := memory.New()
	session := open(t, store, time.Hour)
	leases := win(t, store, session, "a")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, openErr := store.Open(cancelled, time.Hour, "")
	_, renewErr := store.Renew(cancelled, session, 0, true)
	_, acquireErr := store.Acquire(cancelled, session, []string{"b"}, false)
	_, inspectErr := store.Inspect(cancelled, nil)
	for _, err := range []error{openErr, renewErr, acquireErr, inspectErr,
		store.Release(cancelled, session, leases), store.CloseSession(cancelled, session)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call returned %v", err)
		}
	}
	if all, err := store.Inspect(ctx, nil); err != nil || len(all) != 1 {
		t.Errorf("after cancelled calls, the leases are %+v (%v)", all, err)
	}
}

// A store as it comes: ids of 128 bits, and tokens that start at the wall clock.
func TestDefaults(t *testing.T) {
	store := memory.New()
	session := open(t, store, time.Hour)
	if len(session) < 26 { // 5 bits a character
		t.Errorf("the session id %q is too short for 128 random bits", session)
	}
	before := uint64(time.Now().Add(-time.Minute).UnixMicro())
	if token := win(t, store, session, "a")[0].Token; token < before || token > before+uint64(10*time.Minute/time.Microsecond) {
		t.Errorf("the token %d is not near the wall clock, %d", token, before)
	}
}

// Many goroutines, each with a session and a Watch, under the race detector.
func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	store := memory.New()
	watching, cancel := context.WithCancel(ctx)
	var watches, sessions sync.WaitGroup
	for i := range 6 {
		set := backend.NewNameSet()
		watches.Go(func() {
			if err := store.Watch(watching, set, func(...string) {}); err != nil {
				t.Error(err)
			}
		})
		sessions.Go(func() {
			session := open(t, store, time.Hour)
			for n := range 100 {
				names := []string{fmt.Sprint(n % 5), fmt.Sprint((n + i) % 5)}[:1+n%2]
				set.Update(names, nil)
				outcomes, err := store.Acquire(ctx, session, slices.Compact(names), n%3 == 0)
				if err != nil {
					t.Error(err)
				}
				for _, o := range outcomes {
					if err := store.Release(ctx, session, []backend.Lease{{Name: o.Name, Token: o.Token}}); err != nil {
						t.Error(err)
					}
				}
				if _, err := store.Renew(ctx, session, 0, false); err != nil {
					t.Error(err)
				}
				if _, err := store.Inspect(ctx, nil); err != nil {
					t.Error(err)
				}
				set.Update(nil, names)
			}
			if err := store.CloseSession(ctx, session); err != nil {
				t.Error(err)
			}
		})
	}
	sessions.Wait()
	cancel()
	watches.Wait()
	if all, _ := store.Inspect(ctx, nil); len(all) != 0 {
		t.Errorf("left are %+v", all)
	}
}
