package zookeeper

import (
	"maps"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

func owner() *session {
	return &session{store: &Store{}, revision: 1, claims: make(map[string]*claim)}
}

func (o *session) takes(names []string, token uint64) {
	o.claim(names)
	o.settle(names, token, true)
}

// A list that was begun before an acquisition or a release is out of date when it is told, and a revision
// that stands for it stands for nothing else.
func TestListsThatAreOvertaken(t *testing.T) {
	for what, happens := range map[string]func(o *session){
		"an acquisition":                  func(o *session) { o.takes([]string{"b"}, 8) },
		"a release":                       func(o *session) { o.lose([]backend.Lease{{Name: "a", Token: 7}}, true) },
		"a release with no answer":        func(o *session) { o.lose([]backend.Lease{{Name: "a", Token: 7}}, false) },
		"an acquisition with no answer":   func(o *session) { o.claim([]string{"b"}); o.settle([]string{"b"}, 0, false) },
		"an acquisition that is not over": func(o *session) { o.claim([]string{"b"}) },
	} {
		o := owner()
		o.takes([]string{"a"}, 7)
		seen := make(map[uint64]bool)
		first := o.tell(o.inventory(), map[string]uint64{"a": 7})
		seen[first] = true
		if !o.unchanged(first) {
			t.Fatal("a list that was just told is not known")
		}
		i := o.inventory()
		happens(o)
		if o.unchanged(first) {
			t.Errorf("after %s, the list from before is taken for the present one", what)
		}
		late := o.tell(i, i.tokens())
		if o.unchanged(late) {
			t.Errorf("a list that was overtaken by %s is taken for the present one", what)
		}
		seen[late] = true
		now := map[string]uint64{"a": 7, "b": 8}
		fresh := o.tell(o.inventory(), now)
		if seen[fresh] && !maps.Equal(i.tokens(), now) {
			t.Errorf("after %s, the revision %d stands for two lists", what, fresh)
		}
	}
}

// The alarm of a session that was renewed just before goes off for nothing.
func TestAlarmOfARenewedSession(t *testing.T) {
	o := owner()
	o.store.clock = actor.SystemClock{}
	o.until = o.store.clock.Now().Add(bound)
	if o.due() || o.dying {
		t.Error("it is ended")
	}
	if o.alarm == nil || !o.alarm.Stop() {
		t.Error("there is no alarm any more")
	}
	o.until = o.store.clock.Now()
	if !o.due() || !o.dying || o.due() {
		t.Error("it is not ended, or twice")
	}
}

// Nothing is remembered of names that the session tried and does not own.
func TestClaimsAreForgotten(t *testing.T) {
	o := owner()
	o.claim([]string{"a", "b"})
	o.claim([]string{"b"})
	o.settle([]string{"a", "b"}, 0, true)
	if i := o.inventory(); len(i.open) != 1 || len(i.settled) != 0 {
		t.Errorf("%+v", i)
	}
	o.settle([]string{"b"}, 0, false)
	i := o.inventory()
	if len(i.open) != 1 {
		t.Errorf("%+v", i)
	}
	o.correct(i, []string{"b"}, nil)
	if len(o.claims) != 0 {
		t.Errorf("%+v", o.claims)
	}
	o.takes([]string{"c"}, 5)
	o.lose([]backend.Lease{{Name: "c", Token: 4}}, true)
	if token, open := o.owns("c"); token != 5 || open {
		t.Errorf("a release with another token: %d, %t", token, open)
	}
	o.lose([]backend.Lease{{Name: "c", Token: 5}}, true)
	if len(o.claims) != 0 {
		t.Errorf("%+v", o.claims)
	}
}

// A release that is sent again, since its answer was lost, does nothing to what an attempt has won meanwhile (R23), also
// if the answer to that is still on its way.
func TestReleaseAgainDuringAnAttempt(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	session := s.open(bound).Session
	o := s.sessions[session]
	first := backend.Lease{Name: "a", Token: s.win(session, "a")}
	if _, err := o.free(s.ctx, []backend.Lease{first}, s.vacate); err != nil {
		t.Fatal(err)
	}
	o.takes([]string{"a"}, first.Token) // as if the answer was lost
	o.lose([]backend.Lease{first}, false)

	a := &attempt{session: o, ctx: s.ctx}
	won, err := ask(s.ctx, o.link, func(c *zk.Conn) (result, error) {
		a.claim([]string{"a"})
		won, err := a.commit(c, append([]any{a.sign()}, s.occupy(vacancies([]string{"a"})[0], session)...))
		s.free(session, "a", first.Token)
		a.settle([]string{"a"}, won.token, err == nil)
		return won, err
	})
	if err != nil || won.token <= first.Token {
		t.Fatalf("%+v, %v", won, err)
	}
	if h := s.holder("a"); h.Session != session || h.Token != won.token {
		t.Errorf("won with token %d, it is held by %+v", won.token, h)
	}
	s.free(session, "a", won.token)
	if h := s.holder("a"); h.Held {
		t.Errorf("released, it is held by %+v", h)
	}
}
