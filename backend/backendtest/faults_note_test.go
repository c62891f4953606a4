package backendtest

import (
	"context"
	"testing"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// mine is a lease of the session by its name, whatever token it was asked for.
func (d *broken) mine(l backend.Lease) backend.Lease {
	return backend.Lease{Name: l.Name, Token: d.current(l.Name)}
}

// owner is the session that owns a name.
func (d *broken) owner(name string) string {
	h, _ := d.Store.Inspect(context.Background(), []string{name})
	return h[0].Session
}

func noteFaults() []fault {
	return []fault{{
		name:    "keeps notes without a look at the token",
		foundBy: []string{"NotesAreTheOwners", "NotesOutliveTheLease", modelCheck},
		plant: func(d *broken) {
			d.read = func(ctx context.Context, session string, l backend.Lease) (string, bool, error) {
				return d.Store.ReadNote(ctx, session, d.mine(l))
			}
			d.write = func(ctx context.Context, session string, l backend.Lease, note string) (bool, error) {
				return d.Store.WriteNote(ctx, session, d.mine(l), note)
			}
		},
	}, {
		name:    "lets anybody write who knows the token",
		foundBy: []string{"NotesAreTheOwners", modelCheck},
		plant: func(d *broken) {
			d.write = func(ctx context.Context, session string, l backend.Lease, note string) (bool, error) {
				if owner := d.owner(l.Name); owner != "" {
					session = owner
				}
				return d.Store.WriteNote(ctx, session, l, note)
			}
		},
	}, {
		name:    "does not say that the session has ended",
		foundBy: []string{"NotesNeedALivingSession", modelCheck},
		plant: func(d *broken) {
			d.read = func(ctx context.Context, session string, l backend.Lease) (string, bool, error) {
				note, held, _ := d.Store.ReadNote(ctx, session, l)
				return note, held, nil
			}
		},
	}, {
		name:    "forgets notes with the lease",
		foundBy: []string{"NotesOutliveTheLease"},
		plant: func(d *broken) {
			d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
				for _, l := range leases {
					_, _ = d.Store.WriteNote(ctx, session, l, "")
				}
				return d.Store.Release(ctx, session, leases)
			}
		},
	}, {
		name:    "forgets notes in a restart",
		foundBy: []string{"NotesSurviveARestart"},
		restart: func(m *memory.Model) (reopen, wipe func(testing.TB) backend.Driver) {
			reopen = func(testing.TB) backend.Driver {
				return memory.New(memory.WithModel(memory.NewModel(memory.Config{Wall: wall})))
			}
			return reopen, reopen
		},
	}}
}
