package memory

import (
	"context"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// watch is one call of [Store.Watch].
type watch struct {
	set  *backend.NameSet
	wake chan struct{} // has room for one token

	// Under the store's lock:
	freed []string      // released or closed since Watch looked last
	next  actor.Instant // the first instant at which a session that owns one of the names may expire
}

// signal makes Watch look. It never blocks: a token that is there already will do.
func (w *watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Watch implements [backend.Watcher]. It tells of releases and of sessions closed
// at once, and of sessions that expire when that happens. The latter needs a timer
// of Go, which is late after the machine was asleep, and knows nothing of a clock
// that does not follow real time.
func (s *Store) Watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	w := &watch{set: set, wake: make(chan struct{}, 1), next: actor.MaxInstant}
	s.mu.Lock()
	s.watches[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watches, w)
		s.mu.Unlock()
	}()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for serial := uint64(0); ; {
		fresh, now, changed := set.Joined(serial)
		serial = now
		vacant, wait := s.look(w, fresh)
		if len(vacant) > 0 {
			vacated(vacant...)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		case <-timer.C:
		case <-changed:
		}
	}
}

// look returns what has become vacant since the last time, and for how long no
// more will by expiry. The names in fresh were not looked at before.
func (s *Store) look(w *watch, fresh []string) (vacant []string, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if !now.Before(w.next) { // a session may have expired, and any of the names may have been its
		w.next = actor.MaxInstant
		fresh, _ = w.set.Names()
	}
	vacant, next := s.model.Vacant(now, fresh)
	w.next = min(w.next, next)
	vacant = append(w.freed, vacant...)
	w.freed = nil
	return vacant, w.next.Sub(now)
}
