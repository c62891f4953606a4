package sqlite

import (
	"context"

	"github.com/simba-go/simba/backend"
)

// KeepNote implements [backend.Noter].
func (s *Store) KeepNote(ctx context.Context, session string, lease backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	err = do(ctx, s.writer, func() error {
		// What a note says has been done must not be done again after a crash of the
		// machine.
		return s.writer.write(ctx, note.Version > 0, func(t *tx) error {
			kept, held, err = t.note(session, lease)
			if err != nil || !held || note.Version <= kept.Version {
				return err
			}
			kept = note
			_, err = t.exec(putNote, lease.Name, int64(note.Version), note.Text)
			return err
		})
	})
	return kept, held, err
}

// note returns the note of a lease, and whether the session owns that.
func (t *tx) note(session string, lease backend.Lease) (note backend.Note, held bool, err error) {
	if _, err := t.living(session); err != nil {
		return note, false, err
	}
	err = t.query(func(r row) {
		held = true
		if !r.null(0) {
			note = backend.Note{Version: uint64(r.number(0)), Text: r.text(1)}
		}
	}, selectNote, lease.Name, int64(lease.Token), session)
	return note, held, err
}
