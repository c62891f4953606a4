package backendtest

import (
	"errors"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/backend"
)

// noter returns the client's driver if it keeps notes, and ends the check if not.
func (c *client) noter() backend.Noter {
	c.Helper()
	n, ok := c.driver.(backend.Noter)
	if ok {
		ctx, cancel := c.call()
		defer cancel()
		_, _, err := n.ReadNote(ctx, c.id, backend.Lease{Name: "nobody-s", Token: 1})
		ok = !errors.Is(err, backend.ErrNoNotes)
	}
	if !ok {
		c.Skip("the driver keeps no notes")
	}
	return n
}

func (c *client) tryRead(name string, token uint64) (note string, held bool, err error) {
	c.Helper()
	n := c.noter()
	ctx, cancel := c.call()
	defer cancel()
	return n.ReadNote(ctx, c.id, backend.Lease{Name: name, Token: token})
}

func (c *client) tryWrite(name string, token uint64, note string) (held bool, err error) {
	c.Helper()
	n := c.noter()
	ctx, cancel := c.call()
	defer cancel()
	return n.WriteNote(ctx, c.id, backend.Lease{Name: name, Token: token}, note)
}

// reads checks that the owner of a lease reads a note.
func (c *client) reads(name string, token uint64, want string) {
	c.Helper()
	if got, held, err := c.tryRead(name, token); err != nil || !held || got != want {
		c.Fatalf("the owner of %q with token %d reads %.40q (held %t, %v) in place of %.40q", name, token, got, held, err, want)
	}
}

func (c *client) writes(name string, token uint64, note string) {
	c.Helper()
	if held, err := c.tryWrite(name, token, note); err != nil || !held {
		c.Fatalf("the owner of %q with token %d cannot write its note: held %t, %v", name, token, held, err)
	}
}

// hasNoNote checks that a session neither reads nor writes the note of a lease that
// it does not own with this token.
func (c *client) hasNoNote(name string, token uint64) {
	c.Helper()
	if note, held, err := c.tryRead(name, token); err != nil || held || note != "" {
		c.Fatalf("whoever does not own %q with token %d reads %q (held %t, %v)", name, token, note, held, err)
	}
	if held, err := c.tryWrite(name, token, "an impostor's"); err != nil || held {
		c.Fatalf("whoever does not own %q with token %d writes its note: held %t, %v", name, token, held, err)
	}
}

// notesAreTheOwners: a note is read and written by the owner, and nobody else.
func notesAreTheOwners(s *suite) {
	c, other := s.open(), s.open()
	token := c.win("a")
	c.reads("a", token, "")
	longest := strings.Repeat("ü", backend.MaxNote/2)
	for _, note := range []string{"first", longest, "", `'"\ % third`} {
		c.writes("a", token, note)
		c.reads("a", token, note)
	}
	c.reads("b", c.win("b"), "") // each name has its own
	other.hasNoNote("a", token)
	c.hasNoNote("a", token-1)
	c.hasNoNote("a", token+1)
	c.hasNoNote("nobody-s", token)
	other.hasNoNote("nobody-s", token)
	c.reads("a", token, `'"\ % third`)
}

// notesOutliveTheLease: the next owner reads what the last one has written, and the
// last one cannot write any more.
func notesOutliveTheLease(s *suite) {
	c, next := s.open(), s.open()
	first := c.win("a")
	c.writes("a", first, "of the first")
	c.free("a", first)
	c.hasNoNote("a", first)
	second := next.win("a")
	c.hasNoNote("a", first)
	c.hasNoNote("a", second)
	next.hasNoNote("a", first)
	next.reads("a", second, "of the first")
	next.writes("a", second, "of the second")
	next.close()
	third := c.win("a")
	c.reads("a", third, "of the second")
}

// notesNeedALivingSession: one that has ended is told so.
func notesNeedALivingSession(s *suite) {
	expired, tokens := s.doomed("a")
	expired.noter()
	expired.expire("a")
	closed := s.open()
	token := closed.win("b")
	closed.writes("b", token, "of the living")
	closed.close()
	for _, d := range []struct {
		*client
		name  string
		token uint64
	}{{expired, "a", tokens[0]}, {closed, "b", token}} {
		if _, _, err := d.tryRead(d.name, d.token); !errors.Is(err, backend.ErrExpired) {
			s.Fatalf("R2: a session that has ended reads a note: %v", err)
		}
		if _, err := d.tryWrite(d.name, d.token, "of the dead"); !errors.Is(err, backend.ErrExpired) {
			s.Fatalf("R2: a session that has ended writes a note: %v", err)
		}
	}
	next := s.open()
	next.reads("a", next.win("a"), "")
	next.reads("b", next.win("b"), "of the living")
}

// notesSurviveARestart of the store.
func notesSurviveARestart(s *suite) {
	c := s.open()
	c.noter()
	if s.store.Reopen == nil {
		s.Skip("the store has no Reopen")
	}
	s.drivers = s.drivers[:1]
	c.driver = s.drivers[0]
	token := c.win("a")
	c.writes("a", token, "from before")
	c.close()
	s.restarted(s.store.Reopen(s.TB))
	next := s.open()
	next.reads("a", next.win("a"), "from before")
}

// note reads or writes a note that anybody may own, or owned once.
func (m *comparison) note(t *rapid.T, write bool) {
	p := m.session(t)
	name := rapid.SampledFrom(m.names).Draw(t, "name")
	if h := m.model.Inspect(m.now, []string{name})[0]; h.Held && rapid.IntRange(0, 3).Draw(t, "whose") > 0 {
		p = m.sessions[slices.IndexFunc(m.sessions, func(p *pair) bool { return p.ours == h.Session })]
	}
	n, ok := p.driver.(backend.Noter)
	if !ok {
		t.Skip("the driver keeps no notes")
	}
	token := m.anyToken(t, name)
	theirs, ours := backend.Lease{Name: name, Token: token.theirs}, backend.Lease{Name: name, Token: token.ours}
	ctx, cancel := m.suite.call()
	defer cancel()
	if write {
		note := rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "note")
		held, err := n.WriteNote(ctx, p.theirs, theirs, note)
		want, ourErr := m.model.WriteNote(m.now, p.ours, ours, note)
		if !errors.Is(err, backend.ErrNoNotes) && outcome(t, "WriteNote", p, err, ourErr) && held != want {
			t.Fatalf("WriteNote of %+v by %s: held is %t in place of %t", theirs, p.ours, held, want)
		}
		return
	}
	note, held, err := n.ReadNote(ctx, p.theirs, theirs)
	wantNote, want, ourErr := m.model.ReadNote(m.now, p.ours, ours)
	if !errors.Is(err, backend.ErrNoNotes) && outcome(t, "ReadNote", p, err, ourErr) && (held != want || note != wantNote) {
		t.Fatalf("ReadNote of %+v by %s: %q, held %t, in place of %q, %t", theirs, p.ours, note, held, wantNote, want)
	}
}
