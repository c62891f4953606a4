package backendtest

import (
	"context"
	"testing"
	"time"

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

// replaces makes a store that replaces notes by a rule of its own. Token is that under
// which the note was written that is kept. What it returns forgets the note of a name.
func (d *broken) replaces(rule func(note, kept backend.Note, token, keptToken uint64) bool) (forget func(name string)) {
	type record struct {
		backend.Note
		token uint64
	}
	notes := make(map[string]record)
	d.note = func(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error) {
		if _, held, err := d.Store.KeepNote(ctx, session, l, backend.Note{}); !held || err != nil {
			return backend.Note{}, held, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if r := notes[l.Name]; note.Version > 0 && rule(note, r.Note, l.Token, r.token) {
			notes[l.Name] = record{note, l.Token}
		}
		return notes[l.Name].Note, true, nil
	}
	return func(name string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(notes, name)
	}
}

// meet gets something, or hands something over, unless nobody comes.
func meet(get <-chan struct{}, give chan<- struct{}) {
	select {
	case <-get:
	case give <- struct{}{}:
	case <-time.After(brief):
	}
}

func noteFaults() []fault {
	return []fault{{
		name:    "keeps notes without a look at the token",
		foundBy: []string{"NotesAreTheOwners", "NotesOutliveTheLease", modelCheck},
		plant: func(d *broken) {
			d.note = func(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error) {
				return d.Store.KeepNote(ctx, session, d.mine(l), note)
			}
		},
	}, {
		name:    "lets anybody write who knows the token",
		foundBy: []string{"NotesAreTheOwners", modelCheck},
		plant: func(d *broken) {
			d.note = func(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error) {
				if owner := d.owner(l.Name); owner != "" && note.Version > 0 {
					session = owner
				}
				return d.Store.KeepNote(ctx, session, l, note)
			}
		},
	}, {
		name:    "keeps the note that comes last",
		foundBy: []string{"NotesOnlyGrow", modelCheck},
		plant: func(d *broken) {
			d.replaces(func(_, _ backend.Note, _, _ uint64) bool { return true })
		},
	}, {
		name:    "replaces a note by one of the same version",
		foundBy: []string{"NotesOnlyGrow", modelCheck},
		plant: func(d *broken) {
			d.replaces(func(note, kept backend.Note, _, _ uint64) bool { return note.Version >= kept.Version })
		},
	}, {
		name:    "counts the versions of each term anew",
		foundBy: []string{"NotesOnlyGrow"},
		plant: func(d *broken) {
			d.replaces(func(note, kept backend.Note, token, keptToken uint64) bool {
				return token > keptToken || note.Version > kept.Version
			})
		},
	}, {
		name:    "says that a note is kept which is not",
		foundBy: []string{"NotesOnlyGrow", modelCheck},
		plant: func(d *broken) {
			d.note = func(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error) {
				kept, held, err := d.Store.KeepNote(ctx, session, l, note)
				if held && note.Version > 0 {
					kept = note
				}
				return kept, held, err
			}
		},
	}, {
		name:    "looks at the version and replaces the note in two steps",
		foundBy: []string{"NotesOnlyGrowAtOnce"},
		plant: func(d *broken) {
			// The newest note of a round is written after another was looked at, and
			// before that is written.
			looked, written := make(chan struct{}), make(chan struct{})
			notes := make(map[string]backend.Note)
			d.note = func(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error) {
				if _, held, err := d.Store.KeepNote(ctx, session, l, backend.Note{}); !held || err != nil {
					return backend.Note{}, held, err
				}
				d.mu.Lock()
				kept := notes[l.Name]
				d.mu.Unlock()
				if note.Version <= kept.Version {
					return kept, true, nil
				}
				if note.Version%atOnce > 0 {
					meet(nil, looked)
					meet(written, nil)
				} else {
					meet(looked, nil)
					defer meet(nil, written)
				}
				d.mu.Lock()
				defer d.mu.Unlock()
				notes[l.Name] = note
				return note, true, nil
			}
		},
	}, {
		name:    "does not say that the session has ended",
		foundBy: []string{"NotesNeedALivingSession", modelCheck},
		plant: func(d *broken) {
			d.note = func(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error) {
				kept, held, _ := d.Store.KeepNote(ctx, session, l, note)
				return kept, held, nil
			}
		},
	}, {
		name:    "forgets notes with the lease",
		foundBy: []string{"NotesOutliveTheLease", "NotesOnlyGrow"},
		plant: func(d *broken) {
			forget := d.replaces(func(note, kept backend.Note, _, _ uint64) bool { return note.Version > kept.Version })
			d.release = func(ctx context.Context, session string, leases []backend.Lease) error {
				for _, l := range leases {
					forget(l.Name)
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
