package memory

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// KeepNote replaces the note of a lease that the session owns with just this token, if
// note is newer, and returns what is kept then, and whether the session does.
func (m *Model) KeepNote(now actor.Instant, id string, l backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	s := m.session(now, id)
	if s == nil {
		return kept, false, backend.ErrExpired
	}
	if token, ok := s.leases[l.Name]; !ok || token != l.Token {
		return kept, false, nil
	}
	if note.Version > m.notes[l.Name].Version {
		m.notes[l.Name] = note
	}
	return m.notes[l.Name], true, nil
}

func (a *arbiter) note(ctx actor.Context, m *backend.NoteRequest) {
	answer := &backend.NoteAnswer{ID: m.ID, Err: m.Check("note")}
	if answer.Err == nil {
		answer.Note, answer.Held, answer.Err = a.model.KeepNote(ctx.Now(), m.Session, m.Lease, m.Note)
	}
	ctx.Send(m.ReplyTo, answer)
}
