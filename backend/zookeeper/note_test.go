package zookeeper

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
)

// A note whose node, or whose folder, somebody has removed is written anew; one that is not ours is an error.
func TestNotesRemovedByHand(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	c := s.byHand()
	session := s.open(time.Minute).Session
	lease := backend.Lease{Name: "a", Token: s.win(session, "a")}
	keep := func(note, want backend.Note) {
		t.Helper()
		if kept, held, err := s.KeepNote(s.ctx, session, lease, note); err != nil || !held || kept != want {
			t.Errorf("kept is %+v (held %t, %v) in place of %+v", kept, held, err, want)
		}
	}
	five, six := backend.Note{Version: 5, Text: "five"}, backend.Note{Version: 6, Text: "six"}
	keep(five, five)
	for _, path := range []string{s.tree.note("a"), s.tree.notes()} {
		if err := c.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
	}
	keep(backend.Note{}, backend.Note{})
	keep(six, six)
	if _, err := c.Set(s.tree.note("a"), []byte("by hand"), -1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.KeepNote(s.ctx, session, lease, six); err == nil {
		t.Error("it has read what it cannot")
	}
	if err := c.Delete(s.tree.owner("a", session), -1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(s.tree.note("a"), []byte("{}"), -1); err != nil {
		t.Fatal(err)
	}
	if _, held, err := s.KeepNote(s.ctx, session, lease, six); held || err != nil {
		t.Errorf("after the lease was removed: held %t, %v", held, err)
	}
	if data, _, err := c.Get(s.tree.note("a")); string(data) != "{}" {
		t.Errorf("the note is %s, %v", data, err)
	}
}

// A note outlives its name's nodes, which are swept, and its session.
func TestNotesAreNotSwept(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	session := s.open(time.Minute).Session
	lease := backend.Lease{Name: "a", Token: s.win(session, "a")}
	note := backend.Note{Version: 1, Text: "kept"}
	if _, _, err := s.KeepNote(s.ctx, session, lease, note); err != nil {
		t.Fatal(err)
	}
	c := s.byHand()
	if err := c.Delete(s.tree.session(session), -1); err != nil && err != zk.ErrNoNode {
		t.Fatal(err)
	}
	next := s.open(time.Minute).Session
	eventually(t, "the name was swept", func() bool { return len(s.nodes(c, s.tree.leases())) == 0 })
	lease.Token = s.win(next, "a")
	if kept, held, err := s.KeepNote(s.ctx, next, lease, backend.Note{}); kept != note || !held || err != nil {
		t.Errorf("kept is %+v, held %t, %v", kept, held, err)
	}
}
