package backendtest

import (
	"errors"
	"fmt"
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
		_, _, err := n.KeepNote(ctx, c.id, backend.Lease{Name: "nobody-s", Token: 1}, backend.Note{})
		ok = !errors.Is(err, backend.ErrNoNotes)
	}
	if !ok {
		c.Skip("the driver keeps no notes")
	}
	return n
}

func (c *client) tryNote(name string, token uint64, note backend.Note) (kept backend.Note, held bool, err error) {
	c.Helper()
	n := c.noter()
	ctx, cancel := c.call()
	defer cancel()
	return n.KeepNote(ctx, c.id, backend.Lease{Name: name, Token: token}, note)
}

// notes asks to keep a note, and checks that afterwards want is kept, as the answer
// says and as the next one does.
func (c *client) notes(name string, token uint64, note, want backend.Note) {
	c.Helper()
	for _, note := range []backend.Note{note, {}} {
		if kept, held, err := c.tryNote(name, token, note); err != nil || !held || kept != want {
			c.Fatalf("the owner of %q with token %d asks to keep %s, and is told that %s is (held %t, %v) in place of %s",
				name, token, noteText(note), noteText(kept), held, err, noteText(want))
		}
	}
}

// keeps checks that a note is kept.
func (c *client) keeps(name string, token uint64, note backend.Note) {
	c.Helper()
	c.notes(name, token, note, note)
}

// reads checks what is kept.
func (c *client) reads(name string, token uint64, want backend.Note) {
	c.Helper()
	c.notes(name, token, backend.Note{}, want)
}

// hasNoNote checks that a session neither reads nor replaces the note of a lease that
// it does not own with this token.
func (c *client) hasNoNote(name string, token uint64) {
	c.Helper()
	for _, note := range []backend.Note{{}, {Version: 1 << 52, Text: "an impostor's"}} {
		if kept, held, err := c.tryNote(name, token, note); err != nil || held || kept != (backend.Note{}) {
			c.Fatalf("whoever does not own %q with token %d asks to keep %s, and is told that %s is (held %t, %v)",
				name, token, noteText(note), noteText(kept), held, err)
		}
	}
}

func noteText(n backend.Note) string {
	if n.Version == 0 && n.Text == "" {
		return "no note"
	}
	return fmt.Sprintf("%.40q of version %d", n.Text, n.Version)
}

// notesAreTheOwners: a note is read and replaced by the owner, and nobody else.
func notesAreTheOwners(s *suite) {
	c, other := s.open(), s.open()
	token := c.win("a")
	c.reads("a", token, backend.Note{})
	longest := strings.Repeat("ü", backend.MaxNote/2)
	last := backend.Note{}
	for i, text := range []string{"first", longest, "", `'"\ % fourth`} {
		last = backend.Note{Version: uint64(i + 1), Text: text}
		c.keeps("a", token, last)
	}
	c.reads("b", c.win("b"), backend.Note{}) // each name has its own
	other.hasNoNote("a", token)
	c.hasNoNote("a", token-1)
	c.hasNoNote("a", token+1)
	c.hasNoNote("nobody-s", token)
	other.hasNoNote("nobody-s", token)
	c.reads("a", token, last)
}

// notesOnlyGrow: one that is late, or comes twice, replaces none that is newer, nor
// one of its own version; also not that of an earlier owner.
func notesOnlyGrow(s *suite) {
	c, next := s.open(), s.open()
	first := c.win("a")
	two, seven := backend.Note{Version: 2, Text: "second"}, backend.Note{Version: 7, Text: "seventh"}
	c.keeps("a", first, two)
	c.notes("a", first, backend.Note{Version: 1, Text: "late"}, two)
	c.notes("a", first, backend.Note{Version: 2, Text: "of the same version"}, two)
	c.keeps("a", first, seven)
	c.notes("a", first, two, seven)
	c.notes("a", first, seven, seven)
	c.free("a", first)
	second := next.win("a")
	next.notes("a", second, backend.Note{Version: 6, Text: "of who has not read"}, seven)
	next.notes("a", second, backend.Note{Version: 7, Text: "of who has not read"}, seven)
	next.keeps("a", second, backend.Note{Version: 8, Text: "of who has read"})
	next.keeps("a", second, backend.Note{Version: 1<<53 - 1, Text: "the last"})
	next.notes("a", second, backend.Note{Version: 1<<53 - 2, Text: "the last but one"}, backend.Note{Version: 1<<53 - 1, Text: "the last"})
}

// atOnce is how many notes are on their way at the same time.
const atOnce = 4

// notesOnlyGrowAtOnce: also if several are on their way at the same time.
func notesOnlyGrowAtOnce(s *suite) {
	c := s.open()
	c.noter()
	token := c.win("a")
	for round := range uint64(10) {
		s.parallel(atOnce, func(i int) error {
			note := backend.Note{Version: round*atOnce + uint64(i) + 1, Text: fmt.Sprint(i)}
			kept, held, err := c.tryNote("a", token, note)
			if err == nil && (!held || kept.Version < note.Version) {
				err = fmt.Errorf("after %s, %s is kept (held %t)", noteText(note), noteText(kept), held)
			}
			return err
		})
		c.reads("a", token, backend.Note{Version: (round + 1) * atOnce, Text: fmt.Sprint(atOnce - 1)})
	}
}

// notesOutliveTheLease: the next owner reads what the last one has left, and the last
// one cannot replace it any more.
func notesOutliveTheLease(s *suite) {
	c, next := s.open(), s.open()
	first := c.win("a")
	ofFirst, ofSecond := backend.Note{Version: 1, Text: "of the first"}, backend.Note{Version: 2, Text: "of the second"}
	c.keeps("a", first, ofFirst)
	c.free("a", first)
	c.hasNoNote("a", first)
	second := next.win("a")
	c.hasNoNote("a", first)
	c.hasNoNote("a", second)
	next.hasNoNote("a", first)
	next.reads("a", second, ofFirst)
	next.keeps("a", second, ofSecond)
	next.close()
	third := c.win("a")
	c.reads("a", third, ofSecond)
}

// notesNeedALivingSession: one that has ended is told so.
func notesNeedALivingSession(s *suite) {
	expired, tokens := s.doomed("a")
	expired.noter()
	expired.expire("a")
	closed := s.open()
	token := closed.win("b")
	living := backend.Note{Version: 1, Text: "of the living"}
	closed.keeps("b", token, living)
	closed.close()
	for _, d := range []struct {
		*client
		name  string
		token uint64
	}{{expired, "a", tokens[0]}, {closed, "b", token}} {
		for _, note := range []backend.Note{{}, {Version: 2, Text: "of the dead"}} {
			if _, _, err := d.tryNote(d.name, d.token, note); !errors.Is(err, backend.ErrExpired) {
				s.Fatalf("R2: a session that has ended asks to keep %s: %v", noteText(note), err)
			}
		}
	}
	next := s.open()
	next.reads("a", next.win("a"), backend.Note{})
	next.reads("b", next.win("b"), living)
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
	before := backend.Note{Version: 5, Text: "from before"}
	c.keeps("a", c.win("a"), before)
	c.close()
	s.restarted(s.store.Reopen(s.TB))
	next := s.open()
	next.notes("a", next.win("a"), backend.Note{Version: 4, Text: "from after"}, before)
}

// note reads or replaces a note that anybody may own, or owned once.
func (m *comparison) note(t *rapid.T) {
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
	note := backend.Note{Version: rapid.Uint64Range(0, 4).Draw(t, "version")}
	if note.Version > 0 {
		note.Text = rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "text")
	}
	theirs := backend.Lease{Name: name, Token: token.theirs}
	ctx, cancel := m.suite.call()
	defer cancel()
	kept, held, err := n.KeepNote(ctx, p.theirs, theirs, note)
	want, wantHeld, ourErr := m.model.KeepNote(m.now, p.ours, backend.Lease{Name: name, Token: token.ours}, note)
	if !errors.Is(err, backend.ErrNoNotes) && outcome(t, "KeepNote", p, err, ourErr) && (kept != want || held != wantHeld) {
		t.Fatalf("%s asks for %+v to keep %s: %s is kept (held %t) in place of %s (%t)",
			p.ours, theirs, noteText(note), noteText(kept), held, noteText(want), wantHeld)
	}
}
