package memory

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// ReadNote returns the note of a lease that the session owns with just this token,
// and whether it does.
func (m *Model) ReadNote(now actor.Instant, id string, l backend.Lease) (note string, held bool, err error) {
	s := m.session(now, id)
	if s == nil {
		return "", false, backend.ErrExpired
	}
	if token, ok := s.leases[l.Name]; !ok || token != l.Token {
		return "", false, nil
	}
	return m.notes[l.Name], true, nil
}

// WriteNote replaces the note of a lease that the session owns with just this token,
// and returns whether it does.
func (m *Model) WriteNote(now actor.Instant, id string, l backend.Lease, note string) (held bool, err error) {
	_, held, err = m.ReadNote(now, id, l)
	if held {
		m.notes[l.Name] = note
	}
	return held, err
}

func (a *arbiter) note(ctx actor.Context, m *backend.NoteRequest) {
	answer := &backend.NoteAnswer{ID: m.ID, Err: m.Check("note")}
	switch {
	case answer.Err != nil:
	case m.Write:
		if answer.Held, answer.Err = a.model.WriteNote(ctx.Now(), m.Session, m.Lease, m.Note); answer.Held {
			answer.Note = m.Note
		}
	default:
		answer.Note, answer.Held, answer.Err = a.model.ReadNote(ctx.Now(), m.Session, m.Lease)
	}
	ctx.Send(m.ReplyTo, answer)
}
