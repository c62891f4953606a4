package sqlite

import (
	"context"

	"github.com/simba-go/simba/backend"
)

// ReadNote implements [backend.Noter].
func (s *Store) ReadNote(ctx context.Context, session string, lease backend.Lease) (note string, held bool, err error) {
	err = do(ctx, s.writer, func() error {
		return s.writer.write(ctx, false, func(t *tx) error {
			note, held, err = t.note(session, lease)
			return err
		})
	})
	return note, held, err
}

// WriteNote implements [backend.Noter].
func (s *Store) WriteNote(ctx context.Context, session string, lease backend.Lease, note string) (held bool, err error) {
	err = do(ctx, s.writer, func() error {
		// What a note says has been done must not be done again after a crash of the
		// machine.
		return s.writer.write(ctx, true, func(t *tx) error {
			if _, held, err = t.note(session, lease); err != nil || !held {
				return err
			}
			_, err = t.exec(putNote, lease.Name, note)
			return err
		})
	})
	return held, err
}

// note returns the note of a lease, and whether the session owns that.
func (t *tx) note(session string, lease backend.Lease) (note string, held bool, err error) {
	if _, err := t.living(session); err != nil {
		return "", false, err
	}
	err = t.query(func(r row) {
		held = true
		if !r.null(0) {
			note = r.text(0)
		}
	}, selectNote, lease.Name, int64(lease.Token), session)
	return note, held, err
}
