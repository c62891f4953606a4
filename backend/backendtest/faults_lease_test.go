package backendtest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/simba-go/simba/backend"
)

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
