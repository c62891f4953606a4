package session_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// params are chosen for round figures: a lease can be relied on for 8.9 s.
var params = session.Params{
	Lease: 10 * time.Second, RenewInterval: 3 * time.Second, Drift: 0.1, Margin: 100 * time.Millisecond,
	RetryJitter: time.Second, MinBackoff: 200 * time.Millisecond,
}

const local = 8900 * time.Millisecond

// rig is a session whose backend is the test itself: it takes the requests one by
// one and answers them, or not, when it wants.
type rig struct {
	*sim.World
	t        *testing.T
	node     *sim.Node
	behavior actor.Behavior
	session  actor.Ref
	view     atomic.Pointer[session.Snapshot]
	sink     func(observe.Event)
	events   []observe.Event
	requests []actor.Message // to the backend, which the test has not taken
	opened   int             // sessions granted by open
}

func newRig(t *testing.T, p session.Params) *rig {
	t.Helper()
	r := &rig{World: sim.NewWorld(sim.Random(1)), t: t}
	// An hour after the clock's origin: instants and durations must not be mixed up.
	r.node = r.NewNode("client", time.Hour, 1)
	r.sink = func(e observe.Event) { r.events = append(r.events, e) }
	store := r.node.Spawn("store", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
		if _, ok := msg.(actor.Started); !ok {
			r.requests = append(r.requests, msg)
		}
	}))
	r.behavior = session.New(session.Config{
		Params: p, Label: "label", Backend: store, Clock: r.node,
		Sink: func(e observe.Event) { r.sink(e) }, View: &r.view,
	})
	r.session = r.node.Spawn("session", r.behavior)
	r.RunFor(0)
	t.Cleanup(func() {
		if err := r.Err(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// newLiveRig is a rig with a session of the full lease.
func newLiveRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, params)
	r.open(params.Lease)
	return r
}

// open answers the request for a session at once, and returns the session's id.
func (r *rig) open(remaining time.Duration) string {
	r.t.Helper()
	m := take[*backend.OpenRequest](r)
	r.opened++
	id := fmt.Sprintf("session-%d", r.opened)
	r.tell(&backend.OpenAnswer{ID: m.ID, Grant: backend.Grant{Session: id, Remaining: remaining}})
	return id
}

// tell sends the session a message, and lets it and all that follows at once
// happen.
func (r *rig) tell(msg actor.Message) {
	r.session.Tell(msg)
	r.RunFor(0)
}

// ask asks the session.
func (r *rig) ask(msg actor.Message) *sim.Reply {
	reply := &sim.Reply{}
	r.tell(actor.NewRequest(msg, reply))
	return reply
}

// pass lets time pass until d after from.
func (r *rig) passUntil(from actor.Instant, d time.Duration) { r.RunFor(from.Add(d).Sub(r.Now())) }

// take returns the first request of a kind that the backend got.
func take[T actor.Message](r *rig) T {
	r.t.Helper()
	for i, m := range r.requests {
		if m, ok := m.(T); ok {
			r.requests = slices.Delete(r.requests, i, i+1)
			return m
		}
	}
	var want T
	r.t.Fatalf("at %v the backend got %T, want a %T", time.Duration(r.Now()), r.requests, want)
	return want
}

// all returns all requests of a kind that the backend got.
func all[T actor.Message](r *rig) (taken []T) {
	r.requests = slices.DeleteFunc(r.requests, func(m actor.Message) bool {
		t, ok := m.(T)
		if ok {
			taken = append(taken, t)
		}
		return ok
	})
	return taken
}

// has reports whether the backend got a request of a kind.
func has[T actor.Message](r *rig) bool {
	return slices.ContainsFunc(r.requests, func(m actor.Message) bool { _, ok := m.(T); return ok })
}

// none fails the test if the backend got a request of a kind.
func none[T actor.Message](r *rig) {
	r.t.Helper()
	if got := all[T](r); len(got) > 0 {
		r.t.Fatalf("at %v the backend got %d times %T, want none", time.Duration(r.Now()), len(got), got[0])
	}
}

// renewed answers a renewal that lists leases.
func (r *rig) renewed(m *backend.RenewRequest, revision uint64, leases ...backend.Lease) {
	r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{
		Remaining: params.Lease, Revision: revision, Complete: true, Leases: leases,
	}})
}

// events of a kind that the session has emitted.
func eventsOf[T observe.Event](r *rig) (found []T) {
	for _, e := range r.events {
		if e, ok := e.(T); ok {
			found = append(found, e)
		}
	}
	return found
}

// owner stands for an election or a lock.
type owner struct {
	rig   *rig
	names []string
	got   []actor.Message
	saw   []session.Snapshot // when it got them
}

func (o *owner) Tell(msg actor.Message) {
	o.got = append(o.got, msg)
	if o.rig != nil {
		o.saw = append(o.saw, *o.rig.view.Load())
	}
}

func (o *owner) String() string { return fmt.Sprintf("owner of %v", o.names) }

// join takes names for an owner.
func (r *rig) join(names ...string) *owner {
	r.t.Helper()
	o := &owner{rig: r, names: names}
	if answer := r.ask(session.Join{Names: names, Owner: o}).Answer; answer != (session.Done{}) {
		r.t.Fatalf("joining %v: %v", names, answer)
	}
	return o
}

func (o *owner) contend(candidacy uint64) {
	o.rig.tell(session.Contend{Name: o.names[0], Candidacy: candidacy, Report: true})
}

// heard returns the messages of a kind that the owner got, and forgets them.
func heard[T actor.Message](o *owner) (found []T) {
	o.got = slices.DeleteFunc(o.got, func(m actor.Message) bool {
		t, ok := m.(T)
		if ok {
			found = append(found, t)
		}
		return ok
	})
	return found
}

// term returns the one term that the owner has won just now.
func (o *owner) term() *term.Term {
	o.rig.t.Helper()
	won := heard[session.Won](o)
	if len(won) != 1 || len(won[0].Terms) != 1 {
		o.rig.t.Fatalf("%v won %v, want one term", o, won)
	}
	return won[0].Terms[0]
}

// outcome is what the backend says of a name: won, for a token that is not 0.
func outcome(name string, token uint64) backend.Outcome {
	if token == 0 {
		return backend.Outcome{Name: name, Holder: backend.Holder{Name: name, Held: true, Session: "other", Token: 99}}
	}
	return backend.Outcome{Name: name, Won: true, Token: token}
}

// acquired answers an attempt: each name has the token, 0 for one that is held by
// somebody else.
func (r *rig) acquired(m *backend.AcquireRequest, tokens ...uint64) {
	a := &backend.AcquireAnswer{ID: m.ID}
	for i, name := range m.Names {
		a.Outcomes = append(a.Outcomes, outcome(name, tokens[i]))
	}
	r.tell(a)
}

// lead makes a new owner win a term.
func (r *rig) lead(name string, token uint64) (*owner, *term.Term) {
	r.t.Helper()
	o := r.join(name)
	o.contend(1)
	r.acquired(take[*backend.AcquireRequest](r), token)
	return o, o.term()
}

// release ends a term and releases it, like its owner does.
func (o *owner) release(t *term.Term) {
	term.End(t, term.Stopped)
	o.rig.tell(session.Release{Term: t})
}

// check fails the test unless got is want.
func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
