package redis

import (
	"testing"
	"time"
)

// garbage is how many keys there are of what sessions held, and how many of them wait to be cleared away.
func (s *store) garbage() (held, dead int) {
	s.tb.Helper()
	c := raw(s.tb, shared.For(s.tb))
	defer c.Close()
	keys, err := c.Keys(s.ctx, s.held("*")).Result()
	if err != nil {
		s.tb.Fatal(err)
	}
	n, err := c.SCard(s.ctx, s.key("dead")).Result()
	if err != nil {
		s.tb.Fatal(err)
	}
	return len(keys), int(n)
}

// Closing a session clears away what it held, and tells of every name.
func TestCloseClearsAway(t *testing.T) {
	s := fresh(t)
	session := s.session(bound)
	names := numbered(3000)
	s.take(session, names...)
	w := s.watch(append(names, "free")...)
	w.hears("free")
	if err := s.CloseSession(s.ctx, session); err != nil {
		t.Fatal(err)
	}
	if held, dead := s.garbage(); held+dead > 0 {
		t.Errorf("left are %d lists and %d sessions", held, dead)
	}
	told := make(map[string]bool)
	for len(told) < len(names) {
		select {
		case name := <-w.vacated:
			told[name] = true
		case <-time.After(bound):
			t.Fatalf("told of %d names", len(told))
		}
	}
}

// A session that dies, or whose client dies while it is closed, is cleared away by those who open others.
func TestOpenClearsAwayWhatIsLeft(t *testing.T) {
	s := fresh(t)
	s.doomed("expired")
	half := s.session(bound)
	s.take(half, numbered(3000)...)
	if cursor, err := s.closePage(s.ctx, half, "0"); err != nil || cursor == "0" {
		t.Fatalf("one page was everything: %v", err)
	}
	if _, dead := s.garbage(); dead < 1 {
		t.Fatal("nothing is to be cleared away")
	}
	s.expired(half)
	if h := s.holder("orders:2999"); h.Held {
		t.Errorf("of a session that has ended, it is held by %+v", h)
	}
	eventually(t, "the other has expired", func() bool { return !s.holder("expired").Held })
	eventually(t, "all is cleared away", func() bool {
		s.CloseSession(s.ctx, s.session(bound))
		held, dead := s.garbage()
		return held+dead == 0
	})
}

// Sessions that die one after the other and whose leases nobody wants do not become more and more.
func TestOpenSweeps(t *testing.T) {
	s := fresh(t)
	for range 60 {
		s.doomed("name-" + namespace())
	}
	c := raw(t, shared.For(t))
	eventually(t, "few are left", func() bool {
		s.session(20 * time.Millisecond)
		held, _ := s.garbage()
		return held == 0 && c.ZCard(s.ctx, s.key("sessions")).Val() < 20 &&
			c.HLen(s.ctx, s.key("about")).Val() < 20 && c.HLen(s.ctx, s.key("revisions")).Val() < 20
	})
}

// A list of many pages, of few sessions with many leases and of many with few, is complete.
func TestInspectEverything(t *testing.T) {
	s := fresh(t)
	want := make(map[string]string)
	big := s.session(bound)
	for _, l := range s.take(big, numbered(4000)...) {
		want[l.Name] = big
	}
	s.session(bound) // with nothing
	for range 250 {
		id := s.session(bound)
		name := namespace()
		s.win(id, name)
		want[name] = id
	}
	all, err := s.Inspect(s.ctx, nil)
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d of %d leases are listed, %v", len(all), len(want), err)
	}
	for _, h := range all {
		if h.Session != want[h.Name] || h.Label != "label" || h.Remaining <= 0 || h.Remaining > bound {
			t.Errorf("got %+v", h)
		}
	}
}
