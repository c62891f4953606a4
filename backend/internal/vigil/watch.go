package vigil

import (
	"context"
	"time"

	"github.com/simba-go/simba/backend"
)

// Source is a store that tells what it knows of names.
type Source struct {
	// Look returns what it sees of each of the names.
	Look func(ctx context.Context, names []string) ([]Lease, error)
	// Every is how often to look at names whose owners seem to be well: that is how late
	// a release is noticed. Zero is for a source with hints.
	Every time.Duration
	// Hints has names that somebody has freed; nil stands for all, after a gap, for example. It is
	// nil for a source that only looks.
	Hints <-chan []string
	// Failed has the error with which the hints end.
	Failed <-chan error
}

// Pace is how often to look at a store that does not tell of releases.
const Pace = 500 * time.Millisecond

// minPause is the shortest time between two looks because of the time.
const minPause = 20 * time.Millisecond

// Watch does what a [backend.Watcher] does: it looks at names that join the set, looks again when
// an owner should expire, and passes hints on at once.
func Watch(ctx context.Context, s Source, set *backend.NameSet, vacated func(names ...string)) error {
	w := &watch{Source: s, set: set, vacated: vacated}
	err := w.run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

type watch struct {
	Source
	Tracker
	set     *backend.NameSet
	vacated func(names ...string)
	next    time.Time // when the first owner expires unless it is renewed
}

func (w *watch) run(ctx context.Context) error {
	all, serial := true, uint64(0)
	for {
		// A name that joins between the two questions has joined again for the next.
		joined, now, changed := w.set.Joined(serial)
		names, _ := w.set.Names()
		serial = now
		if ask := w.Ask(names, joined, all); len(ask) > 0 {
			if err := w.look(ctx, ask, all); err != nil {
				return err
			}
		}
		var err error
		if all, err = w.wait(ctx, len(names) > 0, changed); err != nil {
			return err
		}
	}
}

func (w *watch) look(ctx context.Context, names []string, all bool) error {
	leases, err := w.Look(ctx, names)
	if err != nil {
		return err
	}
	if all {
		w.next = time.Time{}
	}
	now := time.Now()
	for _, l := range leases {
		if at := now.Add(l.Remaining); l.Held && (w.next.IsZero() || at.Before(w.next)) {
			w.next = at
		}
	}
	if vacant := w.Vacant(leases); len(vacant) > 0 {
		w.vacated(vacant...)
	}
	return nil
}

// wait returns when there is something to look at, and whether that may be any of the names.
func (w *watch) wait(ctx context.Context, busy bool, changed <-chan struct{}) (all bool, err error) {
	due, stop := w.due(busy)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-changed:
			return false, nil
		case <-due:
			return true, nil
		case err := <-w.Failed:
			return false, err
		case names := <-w.Hints:
			if names == nil {
				return true, nil
			}
			w.pass(names)
		}
	}
}

// due is when to look again, if nothing else happens.
func (w *watch) due(busy bool) (due <-chan time.Time, stop func()) {
	var pause time.Duration
	if !w.next.IsZero() {
		pause = max(time.Until(w.next), minPause)
	}
	if w.Every > 0 && (pause == 0 || pause > w.Every) {
		pause = w.Every
	}
	if pause == 0 || !busy {
		return nil, func() {}
	}
	t := time.NewTimer(pause)
	return t.C, func() { t.Stop() }
}

// pass tells of those names that are in the set.
func (w *watch) pass(names []string) {
	var wanted []string
	for _, name := range names {
		if w.set.Has(name) {
			wanted = append(wanted, name)
		}
	}
	if len(wanted) > 0 {
		w.vacated(wanted...)
	}
}
