package redis

import (
	"context"

	"github.com/simba-go/simba/backend"
)

// KeepNote implements [backend.Noter].
func (s *Store) KeepNote(ctx context.Context, session string, lease backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	answer, err := s.do(ctx, call{
		script: noteScript, on: s.calls, confirmed: note.Version > 0, held: []string{session},
		args: []any{session, lease.Name, lease.Token, note.Version, note.Text},
	})
	if err != nil {
		return kept, false, err
	}
	if answer == nil {
		return kept, false, backend.ErrExpired
	}
	var r reader
	if len(r.list(answer)) > 0 {
		if fields := r.fields(answer, 2); fields != nil {
			kept, held = backend.Note{Version: uint64(r.number(fields[0])), Text: r.text(fields[1])}, true
		}
	}
	return kept, held, s.at(r.err)
}
