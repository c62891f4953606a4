package session_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/session"
)

// Those who only watch hear of the names that they watch, as long as they do, and
// the backend is asked for each name once.
func TestWatch(t *testing.T) {
	r := newLiveRig(t)
	a, b := &owner{}, &owner{}
	r.tell(session.Watch{Name: "x", Watcher: a})
	check(t, "watched", fmt.Sprint(take[*backend.WatchRequest](r).Add), "[x]")
	r.tell(session.Watch{Name: "x", Watcher: b})
	none[*backend.WatchRequest](r)
	r.tell(&backend.Vacated{Names: []string{"w", "x"}})
	for _, o := range []*owner{a, b} {
		if got := heard[*backend.Vacated](o); len(got) != 1 || fmt.Sprint(got[0].Names) != "[x]" {
			t.Errorf("a watcher heard %v, want x once", got)
		}
	}
	r.tell(session.Unwatch{Name: "x", Watcher: a})
	r.tell(session.Unwatch{Name: "x", Watcher: a}) // is nothing any more
	none[*backend.WatchRequest](r)
	r.tell(&backend.Vacated{Names: []string{"x"}})
	check(t, "heard by the one that left", len(heard[*backend.Vacated](a)), 0)
	check(t, "heard by the other", len(heard[*backend.Vacated](b)), 1)
	r.tell(session.Unwatch{Name: "x", Watcher: b})
	check(t, "unwatched", fmt.Sprint(take[*backend.WatchRequest](r).Remove), "[x]")
}

// The answer to an inspection goes to whoever asked, once, and one that does not
// come in time is an error.
func TestInspect(t *testing.T) {
	r := newRig(t, params) // it takes no session
	reply := r.ask(session.Inspect{Names: []string{"x"}})
	m := take[*backend.InspectRequest](r)
	check(t, "names", fmt.Sprint(m.Names), "[x]")
	check(t, "timeout", m.Timeout, params.RenewInterval)
	a := &backend.InspectAnswer{ID: m.ID, Holders: []backend.Holder{{Name: "x"}}}
	r.tell(a)
	check(t, "answer", reply.Answer, (any)(a))

	reply = r.ask(session.Inspect{})
	m = take[*backend.InspectRequest](r)
	r.RunFor(params.RenewInterval)
	late, ok := reply.Answer.(*backend.InspectAnswer)
	if !ok || late.Err == nil || errors.Is(late.Err, backend.ErrExpired) {
		t.Errorf("answer %+v, want that there was none in time", reply.Answer)
	}
	r.tell(&backend.InspectAnswer{ID: m.ID})
}
