package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/sim"
)

// arbitrated is an arbiter in a simulated world.
type arbitrated struct {
	t     *testing.T
	world *sim.World
	model *memory.Model
	ref   actor.Ref
	inbox *inbox
}

// inbox keeps what it is sent, with the time.
type inbox struct {
	world *sim.World
	got   []actor.Message
	at    []time.Duration
}

func (b *inbox) Tell(msg actor.Message) {
	b.got = append(b.got, msg)
	b.at = append(b.at, time.Duration(b.world.Now()))
}

func (b *inbox) String() string { return "inbox" }

func arbitrate(t *testing.T, seed uint64) *arbitrated {
	world := sim.NewWorld(sim.Random(seed))
	model := memory.NewModel(memory.Config{Wall: wall})
	// Its clock is a day ahead of true time, and 1% too fast.
	node := world.NewNode("store", 24*time.Hour, 1.01)
	return &arbitrated{t: t, world: world, model: model, ref: node.Spawn("arbiter", memory.NewActor(model)), inbox: &inbox{world: world}}
}

func (a *arbitrated) call() backend.Call {
	return backend.Call{ID: uint64(len(a.inbox.got)) + 100, ReplyTo: a.inbox, Timeout: time.Second}
}

// tell lets the arbiter handle a message, and returns what came of it.
func (a *arbitrated) tell(msg actor.Message) []actor.Message {
	a.t.Helper()
	before := len(a.inbox.got)
	a.ref.Tell(msg)
	a.world.RunFor(0)
	return a.inbox.got[before:]
}

func (a *arbitrated) open(lease time.Duration) string {
	a.t.Helper()
	c := a.call()
	answer := a.tell(&backend.OpenRequest{Call: c, Lease: lease, Label: "me"})[0].(*backend.OpenAnswer)
	if answer.ID != c.ID || answer.Err != nil || answer.Grant.Remaining != lease {
		a.t.Fatalf("the answer to %d is %+v", c.ID, answer)
	}
	return answer.Grant.Session
}

func (a *arbitrated) acquire(session string, names ...string) []backend.Outcome {
	a.t.Helper()
	c := a.call()
	answer := a.tell(&backend.AcquireRequest{Call: c, Session: session, Names: names})[0].(*backend.AcquireAnswer)
	if answer.ID != c.ID || answer.Err != nil {
		a.t.Fatalf("the answer to %d is %+v", c.ID, answer)
	}
	return answer.Outcomes
}

func TestArbiterAnswersWithinTheStep(t *testing.T) {
	a := arbitrate(t, 1)
	s := a.open(time.Minute)
	token := a.acquire(s, "x")[0].Token
	for _, c := range []struct {
		request func(backend.Call) actor.Message
		answer  func(id uint64) actor.Message
	}{{
		func(c backend.Call) actor.Message { return &backend.RenewRequest{Call: c, Session: s} },
		func(id uint64) actor.Message {
			return &backend.RenewAnswer{ID: id, Renewal: backend.Renewal{
				Remaining: time.Minute, Revision: 2, Complete: true, Leases: []backend.Lease{{Name: "x", Token: token}}}}
		},
	}, {
		func(c backend.Call) actor.Message { return &backend.RenewRequest{Call: c, Session: "?"} },
		func(id uint64) actor.Message { return &backend.RenewAnswer{ID: id, Err: backend.ErrExpired} },
	}, {
		func(c backend.Call) actor.Message { return &backend.InspectRequest{Call: c, Names: []string{"x", "y"}} },
		func(id uint64) actor.Message {
			return &backend.InspectAnswer{ID: id, Holders: []backend.Holder{
				{Name: "x", Held: true, Session: s, Label: "me", Token: token, Remaining: time.Minute}, {Name: "y"}}}
		},
	}, {
		func(c backend.Call) actor.Message {
			return &backend.ReleaseRequest{Call: c, Session: s, Leases: []backend.Lease{{Name: "x", Token: token}}}
		},
		func(id uint64) actor.Message { return &backend.ReleaseAnswer{ID: id} },
	}, {
		func(c backend.Call) actor.Message { return &backend.InspectRequest{Call: c} },
		func(id uint64) actor.Message { return &backend.InspectAnswer{ID: id} },
	}, {
		func(c backend.Call) actor.Message { return &backend.CloseRequest{Call: c, Session: s} },
		func(id uint64) actor.Message { return &backend.CloseAnswer{ID: id} },
	}, {
		func(c backend.Call) actor.Message {
			return &backend.AcquireRequest{Call: c, Session: s, Names: []string{"x"}}
		},
		func(id uint64) actor.Message { return &backend.AcquireAnswer{ID: id, Err: backend.ErrExpired} },
	}} {
		call := a.call()
		request := c.request(call)
		got := a.tell(request)
		if want := fmt.Sprintf("%+v", c.answer(call.ID)); len(got) != 1 || fmt.Sprintf("%+v", got[0]) != want {
			t.Errorf("%T was answered with %+v in place of %s", request, got[0], want)
		}
	}
}

// What no driver would be asked for is refused here as well, so that a client
// cannot pass in simulation and fail in production.
func TestArbiterNeedsATimeout(t *testing.T) {
	a := arbitrate(t, 1)
	s := a.open(time.Minute)
	token := a.acquire(s, "x")[0].Token
	c := backend.Call{ID: 9, ReplyTo: a.inbox}
	for _, request := range []actor.Message{
		&backend.OpenRequest{Call: c, Lease: time.Minute},
		&backend.RenewRequest{Call: c, Session: s},
		&backend.AcquireRequest{Call: c, Session: s, Names: []string{"y"}},
		&backend.ReleaseRequest{Call: c, Session: s, Leases: []backend.Lease{{Name: "x", Token: token}}},
		&backend.CloseRequest{Call: c, Session: s},
		&backend.InspectRequest{Call: c},
	} {
		var err error
		switch m := a.tell(request)[0].(type) {
		case *backend.OpenAnswer:
			err = m.Err
		case *backend.RenewAnswer:
			err = m.Err
		case *backend.AcquireAnswer:
			err = m.Err
		case *backend.ReleaseAnswer:
			err = m.Err
		case *backend.CloseAnswer:
			err = m.Err
		case *backend.InspectAnswer:
			err = m.Err
		}
		var refused *backend.TimeoutError
		if !errors.As(err, &refused) {
			t.Errorf("%T was answered with %v", request, err)
		}
	}
	if all := a.model.Inspect(24*60*60*second, nil); len(all) != 1 || all[0].Name != "x" {
		t.Errorf("a request that was refused had an effect: %+v", all)
	}
}

// R3: ids have 128 bits, in hexadecimal digits.
func TestArbiterDrawsIDs(t *testing.T) {
	a := arbitrate(t, 1)
	seen := map[string]bool{}
	for range 100 {
		id := a.open(time.Minute)
		if len(id) != 32 || seen[id[:8]] || seen[id[24:]] {
			t.Fatalf("the id %q is too short or repeats itself", id)
		}
		seen[id[:8]], seen[id[24:]] = true, true
	}
}

func TestArbiterReportsWhatItDoesNotKnow(t *testing.T) {
	a := arbitrate(t, 1)
	var reported []string
	a.world.OnReport = func(_ actor.Ref, err error) { reported = append(reported, err.Error()) }
	a.tell(backend.RenewRequest{}) // not a pointer
	if len(reported) != 1 || !strings.Contains(reported[0], "backend.RenewRequest") {
		t.Errorf("reported: %q", reported)
	}
}

// Notices come after the answer to what caused them, and at expiry without any
// cause, by the arbiter's own clock.
func TestArbiterNotifies(t *testing.T) {
	a := arbitrate(t, 1)
	early, late := a.open(10*time.Second), a.open(30*time.Second)
	token := a.acquire(early, "a")[0].Token
	notices := &inbox{world: a.world}
	told := func(want string) {
		t.Helper()
		var got []string
		for i, msg := range notices.got {
			got = append(got, fmt.Sprintf("%v %v", msg.(*backend.Vacated).Names, notices.at[i].Round(time.Millisecond)))
		}
		if notices.got, notices.at = nil, nil; strings.Join(got, ", ") != want {
			t.Errorf("told was %q in place of %q", strings.Join(got, ", "), want)
		}
	}
	// The clock is 1% too fast, so expiry comes sooner in true time.
	a.tell(&backend.WatchRequest{ReplyTo: notices, Add: []string{"a", "b", "c"}})
	told("[b c] 0s") // free when they were added
	a.acquire(late, "b", "c", "unwatched")
	a.tell(&backend.ReleaseRequest{Call: a.call(), Session: early, Leases: []backend.Lease{{Name: "a", Token: token}}})
	told("[a] 0s")
	a.acquire(early, "a")
	a.world.RunFor(9 * time.Second)
	told("")
	a.tell(&backend.RenewRequest{Call: a.call(), Session: early})
	a.world.RunFor(9 * time.Second)
	told("")
	a.world.RunFor(2 * time.Second)
	told("[a] 18.901s")
	a.tell(&backend.WatchRequest{ReplyTo: notices, Remove: []string{"a", "c"}})
	a.world.RunFor(20 * time.Second)
	told("[b] 29.703s")
	hour, brief := a.open(time.Hour), a.open(10*time.Second)
	a.acquire(hour, "b")
	a.tell(&backend.WatchRequest{ReplyTo: notices, Add: []string{"a"}})
	told("[a] 40s")
	a.acquire(brief, "a") // which is over before what was known of
	a.world.RunFor(20 * time.Second)
	told("[a] 49.901s")
	a.tell(&backend.CloseRequest{Call: a.call(), Session: hour})
	told("[b] 1m0s")
	a.tell(&backend.WatchRequest{ReplyTo: notices, Remove: []string{"a", "b"}})
	a.world.RunFor(2 * time.Hour)
	told("")
}

// The same seed makes the same world, down to the session ids.
func TestArbiterIsDeterministic(t *testing.T) {
	run := func(seed uint64) (trace string) {
		a := arbitrate(t, seed)
		a.tell(&backend.WatchRequest{ReplyTo: a.inbox, Add: []string{"a", "c", "e", "g"}})
		for i := range 20 {
			s := a.open(time.Duration(i+1) * 100 * time.Millisecond)
			a.acquire(s, "a", "b", "c", "d", "e", "f", "g")
			a.world.RunFor(250 * time.Millisecond)
			if i%3 == 0 {
				a.tell(&backend.CloseRequest{Call: a.call(), Session: s})
			}
		}
		for i, msg := range a.inbox.got {
			trace += fmt.Sprintf("%v %T %+v\n", a.inbox.at[i], msg, msg)
		}
		return trace
	}
	first := run(1)
	for range 5 {
		if again := run(1); again != first {
			t.Fatalf("the same seed made two worlds:\n%s\n%s", first, again)
		}
	}
	if run(2) == first {
		t.Error("another seed made the same session ids")
	}
}
