package backendtest

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/simba-go/simba/backend"
)

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
