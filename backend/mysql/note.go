package mysql

import (
	"context"
	"database/sql"

	"github.com/simba-go/simba/backend"
)

// KeepNote implements [backend.Noter].
func (s *Store) KeepNote(ctx context.Context, session string, lease backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	alive := false
	err = s.do(ctx, s.calls, []result{func(rows *sql.Rows) error {
		var version sql.NullInt64
		var text []byte
		err := rows.Scan(&alive, &held, &version, &text)
		kept = backend.Note{Version: uint64(version.Int64), Text: string(text)}
		return err
	}}, "CALL simba_note_keep(?, ?, ?, ?, ?)", session, lease.Name, lease.Token, note.Version, []byte(note.Text))
	switch {
	case err != nil:
		return backend.Note{}, false, err
	case !alive:
		return backend.Note{}, false, backend.ErrExpired
	}
	return kept, held, nil
}
