package sqlite

import (
	"context"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/vigil"
)

// How often a watch asks whether somebody has written to the file: soon after a
// change, and ever more rarely while there is none. Asking takes some 10 us.
const (
	minPoll = 5 * time.Millisecond
	maxPoll = 20 * time.Millisecond
)

// restFactor says for how long a watch rests after a look at its names, in units of
// what the look took. So it costs a twentieth of a processor at most, also if it
// has many names and the file changes all the time.
const restFactor = 20

// watch is one call of [Store.Watch].
type watch struct {
	store   *Store
	vacated func(names ...string)

	vigil.Tracker
	version version       // of the database when all names were looked at
	next    actor.Instant // when the first owner expires unless it is renewed
}

// Watch implements [backend.Watcher]. It tells at once of what this process frees,
// within 20 ms of what others do, and of owners that expire when that happens.
func (s *Store) Watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	w := &watch{store: s, vacated: vacated, next: actor.MaxInstant}
	everything, serial := true, uint64(0)
	for ctx.Err() == nil {
		// Both signals are taken before looking, so that nothing falls in between. A
		// name that joins between the two questions has joined again for the next.
		freed := s.signal()
		joined, now, changed := set.Joined(serial)
		names, _ := set.Names()
		serial = now
		took, err := w.look(ctx, w.Ask(names, joined, everything), everything)
		if err == nil && len(names) > 0 {
			err = sleep(ctx, restFactor*took)
		}
		if err == nil {
			everything, err = w.wait(ctx, len(names) > 0, changed, freed)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// look tells of those names that have become vacant since it looked at them. Everything says that these
// are all names.
func (w *watch) look(ctx context.Context, names []string, everything bool) (took time.Duration, err error) {
	if everything {
		w.next = actor.MaxInstant
	}
	if len(names) == 0 {
		return 0, nil
	}
	v, err := call(ctx, w.store.reader, func() (view, error) { return w.store.view(ctx, names) })
	if err != nil {
		return 0, err
	}
	if everything {
		w.version = v.version
	}
	w.report(v)
	return v.took, nil
}

func (w *watch) report(v view) {
	leases := make([]vigil.Lease, len(v.leases))
	for i, l := range v.leases {
		leases[i] = vigil.Lease{Name: l.name, Token: l.token, Held: l.owner.alive(v.now)}
		if leases[i].Held {
			w.next = min(w.next, l.owner.deadline)
		}
	}
	if vacant := w.Vacant(leases); len(vacant) > 0 {
		w.vacated(vacant...)
	}
}

// view is what a look sees.
type view struct {
	version version
	leases  []lease
	now     actor.Instant
	took    time.Duration
}

func (s *Store) view(ctx context.Context, names []string) (v view, err error) {
	began := time.Now()
	list := array(names)
	err = s.reader.read(ctx, func(c *conn) error {
		// A change between the two is looked at once more, which does no harm.
		if v.version, err = c.version(); err != nil {
			return err
		}
		v.leases = v.leases[:0]
		return c.look(list, func(_ int, l lease) { v.leases = append(v.leases, l) })
	})
	v.now = s.clock.Now()
	v.took = time.Since(began)
	return v, err
}

// version differs from an earlier one of the same connection if another connection
// has written since. From one connection to the next it means nothing.
type version struct {
	of *conn
	n  int64
}

func (c *conn) version() (version, error) {
	v := version{of: c}
	err := c.query(func(r row) { v.n = r.number(0) }, "PRAGMA data_version")
	return v, err
}

// wait returns when there is something to look at, and whether that may be any of
// the names. Without names it polls nothing.
func (w *watch) wait(ctx context.Context, busy bool, changed, freed <-chan struct{}) (everything bool, err error) {
	if !busy {
		select {
		case <-ctx.Done():
		case <-changed:
		}
		return true, nil
	}
	expiry := time.NewTimer(w.next.Sub(w.store.clock.Now()))
	defer expiry.Stop()
	poll := time.NewTimer(minPoll)
	defer poll.Stop()
	for pause := minPoll; ; {
		select {
		case <-ctx.Done():
			return false, nil
		case <-changed:
			return false, nil
		case <-freed:
			return true, nil
		case <-expiry.C:
			return true, nil
		case <-poll.C:
		}
		version, err := call(ctx, w.store.reader, func() (version, error) { return w.store.version(ctx) })
		if err != nil || version != w.version {
			return true, err
		}
		pause = min(pause+pause/4, maxPoll)
		poll.Reset(pause)
	}
}

func (s *Store) version(ctx context.Context) (v version, err error) {
	err = s.reader.read(ctx, func(c *conn) error {
		v, err = c.version()
		return err
	})
	return v, err
}

// signal returns a channel that is closed when this process frees something.
func (s *Store) signal() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freed
}

// wake makes this process's watches look.
func (s *Store) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.freed)
	s.freed = make(chan struct{})
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
