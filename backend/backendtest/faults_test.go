package backendtest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// fault is a way to break a store, and the checks that must find it.
type fault struct {
	name    string
	foundBy []string
	plant   func(d *broken)
	// How the suite is to be run.
	realTime bool
	patience time.Duration // for faults that are found by waiting in vain
	restart  func(*memory.Model) (reopen, wipe func(testing.TB) backend.Driver)
}

func (f fault) config() Config {
	c := Config{Lease: 60 * time.Millisecond, Patience: f.patience}
	c.Open = func(tb testing.TB) Store {
		model := memory.NewModel(memory.Config{Wall: wall})
		store, clock := sound(model)
		result := Store{Advance: clock.advance}
		if f.realTime {
			store, result.Advance = memory.New(), nil
		}
		d := &broken{Store: store, model: model, clock: clock, gone: make(chan struct{})}
		tb.Cleanup(func() { close(d.gone) })
		if f.plant != nil {
			f.plant(d)
		}
		if f.restart != nil {
			result.Reopen, result.Wipe = f.restart(model)
		}
		result.Driver = d
		return result
	}
	return c
}

// broken is a store in which some operations are replaced.
type broken struct {
	*memory.Store
	model *memory.Model
	clock *clock
	gone  chan struct{} // closed when the check has ended
	mu    sync.Mutex    // for the faults' own state

	open    func(ctx context.Context, lease time.Duration, label string) (backend.Grant, error)
	renew   func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error)
	acquire func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error)
	release func(ctx context.Context, session string, leases []backend.Lease) error
	end     func(ctx context.Context, session string) error
	inspect func(ctx context.Context, names []string) ([]backend.Holder, error)
	watch   func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error
}

func (d *broken) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	if d.open != nil {
		return d.open(ctx, lease, label)
	}
	return d.Store.Open(ctx, lease, label)
}

func (d *broken) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	if d.renew != nil {
		return d.renew(ctx, session, known, full)
	}
	return d.Store.Renew(ctx, session, known, full)
}

func (d *broken) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	if d.acquire != nil {
		return d.acquire(ctx, session, names, all)
	}
	return d.Store.Acquire(ctx, session, names, all)
}

func (d *broken) Release(ctx context.Context, session string, leases []backend.Lease) error {
	if d.release != nil {
		return d.release(ctx, session, leases)
	}
	return d.Store.Release(ctx, session, leases)
}

func (d *broken) CloseSession(ctx context.Context, session string) error {
	if d.end != nil {
		return d.end(ctx, session)
	}
	return d.Store.CloseSession(ctx, session)
}

func (d *broken) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	if d.inspect != nil {
		return d.inspect(ctx, names)
	}
	return d.Store.Inspect(ctx, names)
}

func (d *broken) Watch(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
	if d.watch != nil {
		return d.watch(ctx, set, vacated)
	}
	return d.Store.Watch(ctx, set, vacated)
}

// current returns the token that a name has now.
func (d *broken) current(name string) uint64 {
	h, _ := d.Store.Inspect(context.Background(), []string{name})
	return h[0].Token
}

// brief is for faults that show only as something that does not come.
const brief = 300 * time.Millisecond

func faults() []fault {
	return slices.Concat(sessionFaults(), leaseFaults(), inspectFaults(), callFaults(), watchFaults(), restartFaults())
}

func sessionFaults() []fault {
	return []fault{{
		name:    "grants more than was asked for",
		foundBy: []string{"OpenGrantsALease", modelCheck},
		plant: func(d *broken) {
			d.open = func(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
				return d.Store.Open(ctx, 2*lease, label)
			}
		},
	}, {
		name:    "gives an id to every session anew",
		foundBy: []string{"SessionIDsAreUnique", modelCheck},
		plant: func(d *broken) {
			var first backend.Grant
			d.open = func(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
				d.mu.Lock()
				defer d.mu.Unlock()
				if first.Session == "" {
					first, _ = d.Store.Open(ctx, lease, label)
				}
				return backend.Grant{Session: first.Session, Remaining: lease}, nil
			}
		},
	}, {
		name:    "loses labels",
		foundBy: []string{"LabelsAreKept", "InspectTellsTheHolder", modelCheck},
		plant: func(d *broken) {
			d.open = func(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
				return d.Store.Open(ctx, lease, strings.TrimRight(label, "\nabcdefghijklmnopqrstuvwxyz0123456789"))
			}
		},
	}, {
		name:    "lists a lease too few",
		foundBy: []string{"RenewalListsTheLeases", "LargestBatch", modelCheck},
		plant: func(d *broken) {
			d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
				r, err := d.Store.Renew(ctx, session, known, full)
				r.Leases = r.Leases[:max(0, len(r.Leases)-1)]
				return r, err
			}
		},
	}, {
		name:    "has one revision for ever",
		foundBy: []string{"RevisionTellsOfChanges", modelCheck},
		plant: func(d *broken) {
			d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
				r, err := d.Store.Renew(ctx, session, 0, true)
				if r.Revision = 1; known == 1 && !full {
					r.Complete, r.Leases = false, nil
				}
				return r, err
			}
		},
	}, {
		name:    "comes back to old revisions",
		foundBy: []string{"RevisionTellsOfChanges", modelCheck},
		plant: func(d *broken) {
			d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
				r, err := d.Store.Renew(ctx, session, 0, true)
				r.Revision = uint64(len(r.Leases)) + 1
				return r, err
			}
		},
	}, {
		name:    "lets sessions live for half of what it granted",
		foundBy: []string{"RenewalKeepsTheSession", "ExpiryIsNeverEarly", modelCheck},
		plant:   halved,
	}, {
		name:     "lets sessions live for half of what it granted, in real time",
		foundBy:  []string{"ExpiryIsNeverEarly"},
		plant:    halved,
		realTime: true,
	}, {
		name:    "lets a late renewal revive a session",
		foundBy: []string{"ExpiredIsFinal", "ClosedIsFinal", "ExpiryIsNeverEarly", modelCheck},
		plant:   func(d *broken) { revive(d, true, false) },
		// ExpiryIsNeverEarly asks the dead in real time only.
		realTime: true,
	}, {
		name:    "lets a late renewal revive a session, in virtual time",
		foundBy: []string{"ExpiredIsFinal", modelCheck},
		plant:   func(d *broken) { revive(d, true, false) },
	}, {
		name:    "lets expired sessions acquire",
		foundBy: []string{"ExpiredTakesNothing", "ExpiredIsFinal", "ClosedIsFinal", modelCheck},
		plant:   func(d *broken) { revive(d, false, true) },
	}, {
		name:    "knows every session",
		foundBy: []string{"UnknownSessionHasExpired", modelCheck},
		plant: func(d *broken) {
			d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
				r, err := d.Store.Renew(ctx, session, known, full)
				if errors.Is(err, backend.ErrExpired) {
					return backend.Renewal{Remaining: time.Millisecond, Revision: 1, Complete: true}, nil
				}
				return r, err
			}
		},
	}, {
		name:     "forgets to close sessions",
		foundBy:  []string{"CloseFreesEverything", "ClosedIsFinal", "WatchTellsOfClosedSessions", modelCheck},
		patience: brief,
		plant: func(d *broken) {
			d.end = func(context.Context, string) error { return nil }
		},
	}, {
		name:    "closes whoever owns what the session owned",
		foundBy: []string{"CloseFreesEverything"},
		plant: func(d *broken) {
			d.end = func(ctx context.Context, session string) error {
				all, err := d.Store.Inspect(ctx, nil)
				for _, h := range all {
					err = errors.Join(err, d.Store.CloseSession(ctx, h.Session))
				}
				return errors.Join(err, d.Store.CloseSession(ctx, session))
			}
		},
	}, {
		name:    "lets sessions live too long",
		foundBy: []string{"ExpiryFreesEverything", "ExpiredIsFinal", "ExpiryIsNeverEarly", modelCheck},
		plant: func(d *broken) {
			d.open = func(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
				grant, err := d.Store.Open(ctx, 1000*lease, label)
				grant.Remaining = lease
				return grant, err
			}
			d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
				r, err := d.Store.Renew(ctx, session, known, full)
				r.Remaining /= 1000
				return r, err
			}
		},
	}}
}

func halved(d *broken) {
	d.open = func(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
		grant, err := d.Store.Open(ctx, lease/2, label)
		grant.Remaining *= 2
		return grant, err
	}
	d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
		r, err := d.Store.Renew(ctx, session, known, full)
		r.Remaining *= 2
		return r, err
	}
}

// revive gives dead sessions a new life under their old id.
func revive(d *broken, renew, acquire bool) {
	life := make(map[string]string) // id to the id of its present life
	lease := make(map[string]time.Duration)
	present := func(id string) string {
		d.mu.Lock()
		defer d.mu.Unlock()
		return cmp.Or(life[id], id)
	}
	again := func(ctx context.Context, id string) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		if lease[id] == 0 {
			return false // it never was
		}
		grant, err := d.Store.Open(ctx, lease[id], "revived")
		life[id] = grant.Session
		return err == nil
	}
	d.open = func(ctx context.Context, l time.Duration, label string) (backend.Grant, error) {
		grant, err := d.Store.Open(ctx, l, label)
		d.mu.Lock()
		defer d.mu.Unlock()
		lease[grant.Session] = l
		return grant, err
	}
	d.renew = func(ctx context.Context, id string, known uint64, full bool) (backend.Renewal, error) {
		r, err := d.Store.Renew(ctx, present(id), known, full)
		if renew && errors.Is(err, backend.ErrExpired) && again(ctx, id) {
			return d.Store.Renew(ctx, present(id), known, full)
		}
		return r, err
	}
	d.acquire = func(ctx context.Context, id string, names []string, all bool) ([]backend.Outcome, error) {
		o, err := d.Store.Acquire(ctx, present(id), names, all)
		if acquire && errors.Is(err, backend.ErrExpired) && again(ctx, id) {
			return d.Store.Acquire(ctx, present(id), names, all)
		}
		return o, err
	}
	d.release = func(ctx context.Context, id string, leases []backend.Lease) error {
		return d.Store.Release(ctx, present(id), leases)
	}
	d.end = func(ctx context.Context, id string) error { return d.Store.CloseSession(ctx, present(id)) }
}

func leaseFaults() []fault {
	return []fault{{
		name:    "returns outcomes in another order",
		foundBy: []string{"AcquireAnswersForEachName", "LargestBatch", modelCheck},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				return d.Store.Acquire(ctx, session, slices.Sorted(slices.Values(names)), all)
			}
		},
	}, {
		name:    "does not tell losers who won",
		foundBy: []string{"AcquireAnswersForEachName", "AllOrNone", "InspectTellsTheHolder", modelCheck},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				outcomes, err := d.Store.Acquire(ctx, session, names, all)
				for i := range outcomes {
					outcomes[i].Holder = backend.Holder{Name: outcomes[i].Name}
				}
				return outcomes, err
			}
		},
	}, {
		name:    "takes everything or nothing, always",
		foundBy: []string{"AcquireAnswersForEachName", modelCheck},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, _ bool) ([]backend.Outcome, error) {
				return d.Store.Acquire(ctx, session, names, true)
			}
		},
	}, {
		name:    "gives a new token for what the session has",
		foundBy: []string{"AcquireAgainKeepsTheToken", "AcquireAgainUnderContention", "AllOrNone", modelCheck},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				d.mu.Lock()
				defer d.mu.Unlock()
				for _, name := range names {
					_ = d.Store.Release(ctx, session, []backend.Lease{{Name: name, Token: d.current(name)}})
				}
				return d.Store.Acquire(ctx, session, names, all)
			}
		},
	}, {
		name:    "takes some of all or none",
		foundBy: []string{"AllOrNone", "AllOrNoneUnderContention", "LargestBatch", modelCheck},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, _ bool) ([]backend.Outcome, error) {
				return d.Store.Acquire(ctx, session, names, false)
			}
		},
	}, {
		name:    "takes back what the session had if all was none",
		foundBy: []string{"AllOrNone", modelCheck},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				outcomes, err := d.Store.Acquire(ctx, session, names, all)
				if all && slices.ContainsFunc(outcomes, func(o backend.Outcome) bool { return !o.Won }) {
					for i, o := range outcomes {
						if o.Won {
							_ = d.Store.Release(ctx, session, []backend.Lease{{Name: o.Name, Token: o.Token}})
							outcomes[i] = backend.Outcome{Name: o.Name, Holder: backend.Holder{Name: o.Name}}
						}
					}
				}
				return outcomes, err
			}
		},
	}, {
		name: "starts tokens anew after a release",
		foundBy: []string{"TokensRise", "ReleaseComparesTheToken", "CloseFreesEverything", "ExpiryFreesEverything",
			"ExpiryIsNeverEarly", "OneWinner", "OneOwnerAtATime", modelCheck},
		plant: constantToken,
	}, {
		name:    "releases whatever the token",
		foundBy: []string{"ReleaseComparesTheToken", "ReleaseTakesMany", modelCheck},
		plant: func(d *broken) {
			d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
				leases = slices.Clone(leases)
				for i := range leases {
					leases[i].Token = d.current(leases[i].Name)
				}
				return d.Store.Release(ctx, session, leases)
			}
		},
	}, {
		name:    "releases whoever asks",
		foundBy: []string{"ReleaseComparesTheSession", "ExpiredReleasesNothing", "UnknownSessionHasExpired", modelCheck},
		plant: func(d *broken) {
			d.release = func(ctx context.Context, _ string, leases []backend.Lease) error {
				for _, l := range leases {
					h, err := d.Store.Inspect(ctx, []string{l.Name})
					if err == nil {
						err = d.Store.Release(ctx, h[0].Session, []backend.Lease{l})
					}
					if err != nil {
						return err
					}
				}
				return nil
			}
		},
	}, {
		name:    "refuses releases of sessions that have ended",
		foundBy: []string{"ClosedIsFinal", "ExpiredReleasesNothing", "UnknownSessionHasExpired", modelCheck},
		plant: func(d *broken) {
			d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
				if _, err := d.Store.Acquire(ctx, session, nil, false); err != nil {
					return err
				}
				return d.Store.Release(ctx, session, leases)
			}
		},
	}, {
		name:    "releases the first lease only",
		foundBy: []string{"ReleaseTakesMany", "LargestBatch", "RevisionTellsOfChanges", modelCheck},
		plant: func(d *broken) {
			d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
				return d.Store.Release(ctx, session, leases[:min(1, len(leases))])
			}
		},
	}, {
		name:    "stops releasing at a lease that is not the session's",
		foundBy: []string{"ReleaseTakesMany", modelCheck},
		plant: func(d *broken) {
			d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
				for _, l := range leases {
					if d.current(l.Name) != l.Token {
						return nil
					}
					if err := d.Store.Release(ctx, session, []backend.Lease{l}); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}, {
		name:    "does not tell upper from lower case",
		foundBy: []string{"NamesAreExact", modelCheck},
		plant:   func(d *broken) { rename(d, strings.ToLower) },
	}, {
		name:    "cuts names off",
		foundBy: []string{"NamesAreExact"},
		plant:   func(d *broken) { rename(d, func(name string) string { return name[:min(127, len(name))] }) },
	}, {
		name:    "takes an underscore for any character",
		foundBy: []string{"NamesAreExact"},
		plant:   func(d *broken) { rename(d, func(name string) string { return strings.ReplaceAll(name, "x", "_") }) },
	}, {
		name:    "takes 999 names at most",
		foundBy: []string{"LargestBatch"},
		plant: func(d *broken) {
			d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
				if len(names) > 999 {
					return nil, errors.New("too many SQL variables")
				}
				return d.Store.Acquire(ctx, session, names, all)
			}
		},
	}}
}

// constantToken lets every lease have the same token.
func constantToken(d *broken) {
	const token = 7
	d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
		outcomes, err := d.Store.Acquire(ctx, session, names, all)
		for i, o := range outcomes {
			if o.Won {
				outcomes[i].Token = token
			}
			if o.Holder.Held {
				outcomes[i].Holder.Token = token
			}
		}
		return outcomes, err
	}
	d.renew = func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
		r, err := d.Store.Renew(ctx, session, known, full)
		for i := range r.Leases {
			r.Leases[i].Token = token
		}
		return r, err
	}
	d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
		leases = slices.Clone(leases)
		for i := range leases {
			if leases[i].Token == token {
				leases[i].Token = d.current(leases[i].Name)
			}
		}
		return d.Store.Release(ctx, session, leases)
	}
	d.inspect = func(ctx context.Context, names []string) ([]backend.Holder, error) {
		holders, err := d.Store.Inspect(ctx, names)
		for i := range holders {
			if holders[i].Held {
				holders[i].Token = token
			}
		}
		return holders, err
	}
}

// rename lets the store work with other names than it is told.
func rename(d *broken, other func(string) string) {
	mapped := func(names []string) []string {
		result := make([]string, len(names))
		for i, name := range names {
			result[i] = other(name)
		}
		return result
	}
	d.acquire = func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
		outcomes, err := d.Store.Acquire(ctx, session, mapped(names), all)
		for i := range outcomes {
			outcomes[i].Name = names[i]
			if !outcomes[i].Won {
				outcomes[i].Holder.Name = names[i]
			}
		}
		return outcomes, err
	}
	d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
		leases = slices.Clone(leases)
		for i := range leases {
			leases[i].Name = other(leases[i].Name)
		}
		return d.Store.Release(ctx, session, leases)
	}
	d.inspect = func(ctx context.Context, names []string) ([]backend.Holder, error) {
		holders, err := d.Store.Inspect(ctx, mapped(names))
		for i := range names {
			holders[i].Name = names[i]
		}
		return holders, err
	}
}

func inspectFaults() []fault {
	return []fault{{
		name:    "inspects without a token",
		foundBy: []string{"InspectTellsTheHolder", modelCheck},
		plant: func(d *broken) {
			d.inspect = func(ctx context.Context, names []string) ([]backend.Holder, error) {
				holders, err := d.Store.Inspect(ctx, names)
				for i := range holders {
					holders[i].Token = 0
				}
				return holders, err
			}
		},
	}, {
		name:    "inspects each name once",
		foundBy: []string{"InspectKeepsTheOrder", modelCheck},
		plant: func(d *broken) {
			d.inspect = func(ctx context.Context, names []string) ([]backend.Holder, error) {
				once := make(map[string]bool)
				for _, name := range names {
					once[name] = true
				}
				return d.Store.Inspect(ctx, slices.Sorted(maps.Keys(once)))
			}
		},
	}, {
		name:    "inspects everything in no order",
		foundBy: []string{"InspectKeepsTheOrder", modelCheck},
		plant: func(d *broken) {
			d.inspect = func(ctx context.Context, names []string) ([]backend.Holder, error) {
				holders, err := d.Store.Inspect(ctx, names)
				if len(names) == 0 {
					slices.SortFunc(holders, func(a, b backend.Holder) int {
						return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(b.Name, a.Name))
					})
				}
				return holders, err
			}
		},
	}}
}

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
