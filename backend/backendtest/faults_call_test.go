package backendtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

func callFaults() []fault {
	return []fault{{
		name:     "does not heed its context",
		foundBy:  []string{"CancelledCallsReturn"},
		patience: brief,
		plant: func(d *broken) {
			d.inspect = func(ctx context.Context, names []string) ([]backend.Holder, error) {
				if ctx.Err() != nil {
					<-d.gone
				}
				return d.Store.Inspect(context.Background(), names)
			}
		},
	}, {
		name:    "takes a call that was given up for a session that has expired",
		foundBy: []string{"CancelledCallsReturn", "UnknownOutcomesCanBeFound"},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				time.Sleep(2 * time.Millisecond)
				if ctx.Err() != nil {
					return nil, backend.ErrExpired
				}
				return d.Store.Acquire(ctx, session, names, all)
			}
		},
	}, {
		name:     "does not list what a call took that was given up",
		foundBy:  []string{"UnknownOutcomesCanBeFound"},
		patience: brief,
		plant: func(d *broken) {
			hidden := make(map[string]bool)
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				time.Sleep(2 * time.Millisecond)
				outcomes, err := d.Store.Acquire(context.Background(), session, names, all)
				if ctx.Err() == nil {
					return outcomes, err
				}
				d.mu.Lock()
				defer d.mu.Unlock()
				for _, name := range names {
					hidden[name] = true
				}
				return nil, ctx.Err()
			}
			d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
				r, err := d.Store.Renew(ctx, session, known, full)
				d.mu.Lock()
				defer d.mu.Unlock()
				r.Leases = slices.DeleteFunc(r.Leases, func(l backend.Lease) bool { return hidden[l.Name] })
				return r, err
			}
		},
	}, {
		name:    "looks before it takes, and not when it takes",
		foundBy: []string{"OneWinner", "OneOwnerAtATime", "AllOrNoneUnderContention"},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				before, err := d.Store.Inspect(ctx, names)
				if err != nil {
					return nil, err
				}
				time.Sleep(time.Millisecond)
				outcomes, err := d.Store.Acquire(ctx, session, names, all)
				for i := range outcomes {
					if !before[i].Held && !outcomes[i].Won {
						outcomes[i] = backend.Outcome{Name: names[i], Won: true, Token: outcomes[i].Holder.Token + 1}
					}
				}
				return outcomes, err
			}
		},
	}, {
		name:     "lets renewals wait for acquisitions",
		foundBy:  []string{"RenewalIsNotStarved"},
		patience: brief,
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				d.mu.Lock()
				defer d.mu.Unlock()
				time.Sleep(50 * time.Millisecond)
				return d.Store.Acquire(context.WithoutCancel(ctx), session, names, all)
			}
			d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.Store.Renew(ctx, session, known, full)
			}
		},
	}}
}

func watchFaults() []fault {
	return []fault{{
		name:     "watches nothing",
		foundBy:  []string{"WatchTellsOfReleases", "WatchTellsOfClosedSessions", "WatchLooksAtNewNames", "WatchEnds"},
		patience: brief,
		plant: func(d *broken) {
			d.watch = func(ctx context.Context, _ *backend.NameSet, _ func(...string)) error {
				<-ctx.Done()
				return nil
			}
		},
	}, {
		name:     "watches what was in the set at first",
		foundBy:  []string{"WatchLooksAtNewNames"},
		patience: brief,
		plant: func(d *broken) {
			d.watch = func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
				names, _ := set.Names()
				first := backend.NewNameSet()
				first.Update(names, nil)
				return d.Store.Watch(ctx, first, vacated)
			}
		},
	}, {
		name:     "tells of the first of several names",
		foundBy:  []string{"WatchTellsOfClosedSessions"},
		patience: brief,
		plant: func(d *broken) {
			d.watch = func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
				return d.Store.Watch(ctx, set, func(names ...string) { vacated(names[0]) })
			}
		},
	}, {
		name:    "tells of every name",
		foundBy: []string{"WatchTellsOfReleases"},
		plant: func(d *broken) {
			d.watch = func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
				return d.Store.Watch(ctx, set, func(names ...string) { vacated(append(names, "other", "c")...) })
			}
		},
	}, {
		name:     "does not stop watching",
		foundBy:  []string{"WatchEnds"},
		patience: brief,
		plant: func(d *broken) {
			d.watch = func(_ context.Context, set *backend.NameSet, vacated func(...string)) error {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				go func() { <-d.gone; cancel() }()
				return d.Store.Watch(ctx, set, vacated)
			}
		},
	}, {
		name:    "stops watching with an error",
		foundBy: []string{"WatchEnds"},
		plant: func(d *broken) {
			d.watch = func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
				return errors.Join(d.Store.Watch(ctx, set, vacated), ctx.Err())
			}
		},
	}}
}

func restartFaults() []fault {
	plain := func(m *memory.Model) func(testing.TB) backend.Driver {
		return func(testing.TB) backend.Driver { store, _ := sound(m); return store }
	}
	return []fault{{
		name:    "counts tokens from 1 after a restart, or without its data",
		foundBy: []string{"TokensSurviveARestart", "TokensSurviveLoss"},
		restart: func(*memory.Model) (reopen, wipe func(testing.TB) backend.Driver) {
			return plain(memory.NewModel(memory.Config{})), plain(memory.NewModel(memory.Config{}))
		},
	}, {
		name:    "revives sessions when it restarts",
		foundBy: []string{"DeathSurvivesARestart"},
		restart: func(m *memory.Model) (reopen, wipe func(testing.TB) backend.Driver) {
			return func(tb testing.TB) backend.Driver {
				d := &broken{Store: plain(m)(tb).(*memory.Store)}
				d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
					r, err := d.Store.Renew(ctx, session, known, full)
					if errors.Is(err, backend.ErrExpired) {
						return backend.Renewal{Remaining: time.Second, Revision: 1, Complete: true}, nil
					}
					return r, err
				}
				return d
			}, nil
		},
	}}
}
