package lock_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 10 * time.Second

// rig is a lock in a simulated world, whose session is played by the test.
type rig struct {
	t      testing.TB
	world  *sim.World
	node   *sim.Node
	ref    actor.Ref
	names  []string
	sent   []any // to the session, since wants
	events []observe.Event
	token  uint64
	ended  bool
}

func newRig(t testing.TB, names ...string) *rig {
	if len(names) == 0 {
		names = []string{"a"}
	}
	r := &rig{t: t, world: sim.NewWorld(sim.Random(1)), names: names}
	r.world.OnReport = func(_ actor.Ref, err error) { t.Errorf("reported: %v", err) }
	r.node = r.world.NewNode("n", time.Hour, 1)
	b := lock.New(lock.Config{
		Names: names,
		Session: r.node.Spawn("session", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
			if _, ok := msg.(actor.Started); !ok {
				r.sent = append(r.sent, unowned(msg))
			}
		})),
		Sink: func(e observe.Event) { r.events = append(r.events, e) },
	})
	r.ref = r.node.Spawn("lock", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		_, last := msg.(actor.Stopping)
		r.ended = r.ended || last
		b.Receive(ctx, msg)
	}))
	r.world.RunFor(0)
	return r
}

func (r *rig) tell(msgs ...actor.Message) {
	for _, msg := range msgs {
		r.ref.Tell(msg)
	}
	r.world.RunFor(0)
}

// caller is someone who waits for an answer.
type caller struct{ answers []any }

func (c *caller) Tell(msg actor.Message) { c.answers = append(c.answers, msg) }
func (c *caller) String() string         { return "caller" }
func (c *caller) done() bool             { return len(c.answers) == 1 && c.answers[0] == session.Done{} }

func (r *rig) ask(msg actor.Message) *caller {
	c := &caller{}
	r.tell(actor.NewRequest(msg, c))
	return c
}

func (r *rig) newTerms() (terms []*term.Term) {
	for _, name := range r.names {
		r.token++
		d := term.NewDeadline(r.node, r.node.Now().Add(lease))
		terms = append(terms, term.New(name, "s", r.token, d))
	}
	return terms
}

// acquire takes the lock.
func (r *rig) acquire() []*term.Term {
	r.t.Helper()
	c := r.ask(lock.Acquire{})
	r.wants(contend(r.names[0]))
	terms := r.newTerms()
	r.tell(session.Won{Candidacy: 1, Terms: terms})
	r.wants()
	if len(c.answers) != 1 {
		r.t.Fatalf("the answers are %v", c.answers)
	}
	for i, t := range c.answers[0].(lock.Acquired).Terms {
		if t != terms[i] {
			r.t.Fatalf("the answer is %v", c.answers[0])
		}
	}
	return terms
}

func (r *rig) wants(want ...any) {
	r.t.Helper()
	got := r.sent
	r.sent = nil
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			r.t.Fatalf("message %d is missing: %T %+v", i, want[i], want[i])
		case i >= len(want):
			r.t.Fatalf("there is a message too many: %T %+v", got[i], got[i])
		case got[i] != want[i]:
			r.t.Fatalf("message %d is %T %+v, want %T %+v", i, got[i], got[i], want[i], want[i])
		}
	}
}

func (r *rig) wantEvents(want ...observe.Event) {
	r.t.Helper()
	if len(r.events) != len(want) {
		r.t.Fatalf("the events are %+v, want %+v", r.events, want)
	}
	for i := range want {
		if r.events[i] != want[i] {
			r.t.Fatalf("event %d is %+v, want %+v", i, r.events[i], want[i])
		}
	}
}

func contend(name string) any  { return session.Contend{Name: name, Candidacy: 1, Report: true} }
func leave(name string) any    { return session.Leave{Name: name} }
func release(t *term.Term) any { return session.Release{Term: t} }

func held(name string) backend.Holder {
	return backend.Holder{Name: name, Held: true, Session: "o", Label: "web-3:4711", Token: 7, Remaining: 8200 * time.Millisecond}
}

func wantError[E error](t *testing.T, c *caller) (err E) {
	t.Helper()
	if len(c.answers) != 1 {
		t.Fatalf("the answers are %v", c.answers)
	}
	got, ok := c.answers[0].(error)
	if !ok || !errors.As(got, &err) {
		t.Fatalf("the answer is %T %v, want %T", c.answers[0], c.answers[0], err)
	}
	return err
}

// TestTakeAndRelease: the terms end, in this order, before their leases are released
// (R23), and the wait ends when the backend has confirmed all.
func TestTakeAndRelease(t *testing.T) {
	r := newRig(t, "a", "b")
	terms := r.acquire()
	for _, tm := range terms {
		if !tm.Valid() {
			t.Error("a term of the lock is not valid")
		}
	}
	first, second := r.ask(lock.Release{}), r.ask(lock.Release{})
	r.wants(release(terms[0]), release(terms[1]), leave("a"))
	for _, tm := range terms {
		if tm.Reason() != term.Stopped {
			t.Errorf("the term ended for %v", tm.Reason())
		}
	}
	r.tell(session.Settled{Term: terms[1]})
	r.tell(session.Settled{Term: terms[1]}) // once more, and
	other := r.newTerms()[0]
	r.tell(session.Settled{Term: other}) // of somebody else
	if len(first.answers)+len(second.answers) > 0 || r.ended {
		t.Fatal("the wait has ended before the backend had confirmed")
	}
	r.tell(session.Settled{Term: terms[0]})
	if !first.done() || !second.done() || !r.ended {
		t.Errorf("the answers are %v and %v, and the actor has ended: %v", first.answers, second.answers, r.ended)
	}
	r.wantEvents(
		observe.Elected{Name: "a", Token: 1}, observe.Elected{Name: "b", Token: 2},
		observe.Revoked{Name: "a", Token: 1, Reason: term.Stopped}, observe.Revoked{Name: "b", Token: 2, Reason: term.Stopped},
	)
}

// TestWaits while others hold it, and through errors.
func TestWaits(t *testing.T) {
	r := newRig(t)
	c := r.ask(lock.Acquire{})
	r.tell(session.Lost{Candidacy: 1, Holders: []backend.Holder{held("a")}})
	r.tell(session.Lost{Candidacy: 1, Err: errors.New("no answer")})
	if len(c.answers) > 0 {
		t.Fatalf("the answers are %v", c.answers)
	}
	r.wants(contend("a"))
	terms := r.newTerms()
	r.tell(session.Won{Candidacy: 1, Terms: terms})
	if len(c.answers) != 1 {
		t.Errorf("the answers are %v", c.answers)
	}
}

// TestOnce answers after the first attempt, and the names are free again by then.
func TestOnce(t *testing.T) {
	r := newRig(t, "a", "b")
	c := r.ask(lock.Acquire{Once: true})
	r.tell(session.Lost{Candidacy: 1, Holders: []backend.Holder{{Name: "a"}, held("b")}})
	err := wantError[*lock.HeldError](t, c)
	if err.Holder != held("b") || !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("the error is %+v", err)
	}
	if got, want := err.Error(), `simba: lease "b" is held by "web-3:4711" for up to 8.2s more`; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	r.wants(contend("a"), leave("a"))
	if !r.ended {
		t.Error("the actor has not ended")
	}
	r.wantEvents()
}

// TestFreeBeforeAnswered: whoever hears that the lock is not to be had can try again
// at once, for the names have been given back by then.
func TestFreeBeforeAnswered(t *testing.T) {
	tests := map[string][]any{
		"once":    {lock.Acquire{Once: true}, session.Lost{Candidacy: 1, Holders: []backend.Holder{held("a")}}},
		"abandon": {lock.Acquire{}, lock.Abandon{}},
		"release": {lock.Acquire{}, lock.Release{}},
	}
	for name, msgs := range tests {
		s := &sandbox{}
		s.lock = lock.New(lock.Config{Names: []string{"a"}, Sink: observe.Discard})
		s.answered = func() {
			if len(s.sent) == 0 || s.sent[len(s.sent)-1] != leave("a") {
				t.Errorf("%s: answered when it had sent %v", name, s.sent)
			}
		}
		for _, msg := range msgs {
			if _, lost := msg.(session.Lost); !lost {
				msg = actor.NewRequest(msg, &s.caller)
			}
			s.give(msg)
		}
		if len(s.caller.answers) == 0 {
			t.Errorf("%s: there was no answer", name)
		}
	}
}

// TestOnceFails when the attempt does.
func TestOnceFails(t *testing.T) {
	r := newRig(t)
	c := r.ask(lock.Acquire{Once: true})
	down := errors.New("the store is down")
	r.tell(session.Lost{Candidacy: 1, Err: down})
	if len(c.answers) != 1 || c.answers[0] != down {
		t.Errorf("the answers are %v", c.answers)
	}
	r.wants(contend("a"), leave("a"))
}

// TestOnceWithNobodyInTheWay: an attempt that overlapped a release of our own finds
// no holder, and is not the one that counts.
func TestOnceWithNobodyInTheWay(t *testing.T) {
	r := newRig(t)
	c := r.ask(lock.Acquire{Once: true})
	r.tell(session.Lost{Candidacy: 1}, session.Lost{Candidacy: 1, Holders: []backend.Holder{{Name: "a"}}})
	r.wants(contend("a"))
	if len(c.answers) > 0 {
		t.Fatalf("the answers are %v", c.answers)
	}
	r.tell(session.Won{Candidacy: 1, Terms: r.newTerms()})
	if _, ok := c.answers[0].(lock.Acquired); !ok {
		t.Errorf("the answers are %v", c.answers)
	}
}

// TestClosedClient: nobody waits for what cannot come.
func TestClosedClient(t *testing.T) {
	r := newRig(t)
	c := r.ask(lock.Acquire{})
	r.tell(session.Lost{Candidacy: 1, Err: &session.ClosedError{}})
	wantError[*session.ClosedError](t, c)
	r.wants(contend("a"), leave("a"))
	if !r.ended {
		t.Error("the actor has not ended")
	}
}

// TestAbandonWhileWaiting says what stood in the way.
func TestAbandonWhileWaiting(t *testing.T) {
	down := errors.New("the store is down")
	tests := map[string]struct {
		lost []actor.Message
		want func(answer any) bool
	}{
		"nothing": {nil, func(a any) bool { return a == session.Done{} }},
		"a holder": {
			[]actor.Message{session.Lost{Err: down}, session.Lost{Holders: []backend.Holder{held("a")}}},
			func(a any) bool { err, ok := a.(*lock.HeldError); return ok && err.Holder == held("a") },
		},
		"an error": {
			[]actor.Message{session.Lost{Holders: []backend.Holder{held("a")}}, session.Lost{Err: down}},
			func(a any) bool { return a == down },
		},
		"a holder, and then nobody": {
			[]actor.Message{session.Lost{Holders: []backend.Holder{held("a")}}, session.Lost{}},
			func(a any) bool { _, ok := a.(*lock.HeldError); return ok },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c := r.ask(lock.Acquire{})
			r.tell(test.lost...)
			abandon := r.ask(lock.Abandon{})
			if len(abandon.answers) != 1 || !test.want(abandon.answers[0]) {
				t.Errorf("the answers are %v", abandon.answers)
			}
			wantError[*session.ClosedError](t, c)
			r.wants(contend("a"), leave("a"))
			if !r.ended {
				t.Error("the actor has not ended")
			}
		})
	}
}

// TestAbandonedWin: it was won at the moment when the caller gave up. The answer to
// Abandon does not wait for the release, which goes on.
func TestAbandonedWin(t *testing.T) {
	r := newRig(t)
	terms := r.acquire()
	c := r.ask(lock.Abandon{})
	if !c.done() {
		t.Errorf("the answers are %v", c.answers)
	}
	r.wants(release(terms[0]), leave("a"))
	if terms[0].Valid() || r.ended {
		t.Errorf("the term is valid: %v, the actor has ended: %v", terms[0].Valid(), r.ended)
	}
	r.tell(session.Settled{Term: terms[0]})
	if !r.ended {
		t.Error("the actor has not ended")
	}
}

// TestReleaseBeforeWin: the name is given back, and so is what may still be won.
func TestReleaseBeforeWin(t *testing.T) {
	r := newRig(t)
	acquire := r.ask(lock.Acquire{})
	c := r.ask(lock.Release{})
	if !c.done() {
		t.Errorf("the answers are %v", c.answers)
	}
	wantError[*session.ClosedError](t, acquire)
	r.wants(contend("a"), leave("a"))
}

// TestLoss (R34): a lock never has a second term. When the last one has ended it is
// over, and its names are free for another lock.
func TestLoss(t *testing.T) {
	r := newRig(t, "a", "b")
	terms := r.acquire()
	lose := func(i int) {
		term.End(terms[i], term.TakenOver)
		r.tell(session.Ended{Term: terms[i], Reason: term.TakenOver})
	}
	lose(1)
	r.wants()
	if !terms[0].Valid() || r.ended {
		t.Error("the other term went as well")
	}
	lose(0)
	r.wants(leave("a")) // and does not contend again
	if !r.ended {
		t.Error("the actor has not ended")
	}
	r.wantEvents(
		observe.Elected{Name: "a", Token: 1}, observe.Elected{Name: "b", Token: 2},
		observe.Revoked{Name: "b", Token: 2, Reason: term.TakenOver}, observe.Revoked{Name: "a", Token: 1, Reason: term.TakenOver},
	)
}

// TestReleaseOfTheRest: what was lost before is not released.
func TestReleaseOfTheRest(t *testing.T) {
	r := newRig(t, "a", "b")
	terms := r.acquire()
	term.End(terms[0], term.TakenOver)
	r.tell(session.Ended{Term: terms[0], Reason: term.TakenOver})
	c := r.ask(lock.Release{})
	r.wants(release(terms[1]), leave("a"))
	r.tell(session.Settled{Term: terms[1]})
	if !c.done() {
		t.Errorf("the answers are %v", c.answers)
	}
}

// unowned is msg without its owner, which is an actor that a test does not see.
func unowned(msg any) any {
	if m, ok := msg.(session.Leave); ok {
		m.Owner = nil
		return m
	}
	return msg
}

// TestLossMeetsRelease: the session's reason counts (R22), and its word that comes
// later changes nothing.
func TestLossMeetsRelease(t *testing.T) {
	r := newRig(t)
	terms := r.acquire()
	term.End(terms[0], term.SessionExpired)
	c := r.ask(lock.Release{})
	r.wants(release(terms[0]), leave("a"))
	r.tell(session.Ended{Term: terms[0], Reason: term.SessionExpired}, session.Settled{Term: terms[0]})
	r.wants()
	if !c.done() {
		t.Errorf("the answers are %v", c.answers)
	}
	r.wantEvents(observe.Elected{Name: "a", Token: 1}, observe.Revoked{Name: "a", Token: 1, Reason: term.SessionExpired})
}

// TestEndedWithoutAName: a lock that could not join its names does not give them
// back, for they are somebody else's.
func TestEndedWithoutAName(t *testing.T) {
	s := &sandbox{}
	s.lock = lock.New(lock.Config{Names: []string{"a"}, Sink: observe.Discard})
	s.give(actor.Started{}, actor.Stopping{})
	if len(s.sent) > 0 {
		t.Errorf("it sent %v", s.sent)
	}
}

// TestAbort: a bug, here of the sink, must not leave a term that looks valid, a
// caller who waits for ever, or a name that somebody else may have lost by it.
func TestAbort(t *testing.T) {
	request := func(s *sandbox, msg any) actor.Message { return actor.NewRequest(msg, &s.caller) }
	tests := map[string]struct {
		at     observe.Event
		msgs   func(s *sandbox) []actor.Message
		leaves int
	}{
		"in the step that wins": {
			at: observe.Elected{Name: "a", Token: 1}, leaves: 1,
			msgs: func(*sandbox) []actor.Message { return nil },
		},
		"in the step that gives back": {
			at: observe.Revoked{Name: "a", Token: 1, Reason: term.Stopped}, leaves: 1,
			msgs: func(s *sandbox) []actor.Message { return []actor.Message{request(s, lock.Release{})} },
		},
		"with the system": {
			leaves: 1,
			msgs:   func(*sandbox) []actor.Message { return []actor.Message{actor.Stopping{}} },
		},
		"with the system while it releases": {
			leaves: 1,
			msgs: func(s *sandbox) []actor.Message {
				return []actor.Message{request(s, lock.Release{}), actor.Stopping{}}
			},
		},
	}
	for what, test := range tests {
		for way, bug := range map[string]func(){"panic": func() { panic("a bug") }, "Goexit": runtime.Goexit} {
			t.Run(what+"/"+way, func(t *testing.T) {
				s := &sandbox{}
				s.lock = lock.New(lock.Config{Names: []string{"a"}, Sink: func(e observe.Event) {
					if e == test.at {
						bug()
					}
				}})
				tm := term.New("a", "s", 1, term.NewDeadline(standstill{}, 1))
				msgs := []actor.Message{actor.Started{}, request(s, lock.Acquire{}), session.Won{Candidacy: 1, Terms: []*term.Term{tm}}}
				s.give(append(msgs, test.msgs(s)...)...)
				if tm.Valid() {
					t.Error("the term is valid")
				}
				leaves := 0
				for _, m := range s.sent {
					if m == leave("a") {
						leaves++
					}
				}
				if leaves != test.leaves {
					t.Errorf("the name was given back %d times, want %d", leaves, test.leaves)
				}
				asked := 0
				for _, msg := range append(msgs, test.msgs(s)...) {
					if _, ok := msg.(*actor.Request); ok {
						asked++
					}
				}
				if len(s.caller.answers) != asked {
					t.Errorf("the answers are %v, to %d requests", s.caller.answers, asked)
				}
				var aborted *lock.AbortedError
				if last, ok := s.caller.answers[asked-1].(error); asked > 1 &&
					(!ok || !errors.As(last, &aborted) || !errors.Is(last, lock.ErrNotAcquired)) {
					t.Errorf("the last answer is %v", s.caller.answers[asked-1])
				}
			})
		}
	}
}

// sandbox runs a behaviour without a runtime, so that its bugs can be contained.
type sandbox struct {
	actor.Context
	lock     actor.Behavior
	sent     []any
	caller   caller
	answered func() // if set, is called before each answer
}

func (s *sandbox) Self() actor.Ref    { return &s.caller }
func (s *sandbox) Now() actor.Instant { return 0 }
func (s *sandbox) Stop()              {}
func (s *sandbox) Send(to actor.Ref, msg actor.Message) {
	if to == actor.Ref(&s.caller) {
		if s.answered != nil {
			s.answered()
		}
		s.caller.Tell(msg)
		return
	}
	s.sent = append(s.sent, unowned(msg))
}

func (s *sandbox) give(msgs ...actor.Message) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recover() }()
		for _, msg := range msgs {
			s.lock.Receive(s, msg)
		}
	}()
	<-done
}

// standstill is a clock for terms that last.
type standstill struct{}

func (standstill) Now() actor.Instant { return 0 }
