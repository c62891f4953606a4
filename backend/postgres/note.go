package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
)

// KeepNote implements [backend.Noter].
func (s *Store) KeepNote(ctx context.Context, session string, lease backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	alive := false
	err = s.do(ctx, s.calls, func(rows pgx.Rows) error {
		var version *int64
		var text []byte
		if err := rows.Scan(&alive, &held, &version, &text); err != nil || version == nil {
			return err
		}
		kept = backend.Note{Version: uint64(*version), Text: string(text)}
		return nil
	}, "note_keep($1, $2, $3, $4, $5)", session, lease.Name, int64(lease.Token), int64(note.Version), []byte(note.Text))
	switch {
	case err != nil:
		return backend.Note{}, false, err
	case !alive:
		return backend.Note{}, false, backend.ErrExpired
	}
	return kept, held, nil
}
