package sim_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
)

// asker asks the backend for things, and keeps what it is answered.
type asker struct {
	*sim.Cluster
	self    actor.Ref
	calls   uint64
	answers []actor.Message
}

// newAsker draws the decisions that odds name from them, and all others calmly.
func newAsker(odds map[string]bool) *asker {
	a := &asker{}
	a.Cluster = sim.NewCluster(sim.ChooserFunc(func(label string, n int64) int64 {
		if odds[label] {
			return n - 1
		}
		return 0
	}), params)
	a.self = a.NewNode("asker", 0, 1).Spawn("asker", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		switch msg := msg.(type) {
		case actor.Started:
		case func(actor.Context):
			msg(ctx)
		default:
			a.answers = append(a.answers, msg)
		}
	}))
	a.RunFor(0)
	return a
}

func (a *asker) call() backend.Call {
	a.calls++
	return backend.Call{ID: a.calls, ReplyTo: a.self, Timeout: time.Second}
}

// asks returns the first answer to a request, nil if there is none within a second.
func (a *asker) asks(request actor.Message) actor.Message {
	a.answers = nil
	a.self.Tell(func(ctx actor.Context) { ctx.Send(a.Backend(), request) })
	a.RunUntil(time.Second, func() bool { return len(a.answers) > 0 })
	if len(a.answers) == 0 {
		return nil
	}
	return a.answers[0]
}

func (a *asker) opens() string {
	answer, _ := a.asks(&backend.OpenRequest{Call: a.call(), Lease: time.Hour}).(*backend.OpenAnswer)
	return answer.Grant.Session
}

// acquires wants a name, and returns its token.
func (a *asker) acquires(id string, names ...string) uint64 {
	a.Monitor.Tolerate(sim.NoAttemptUnasked, sim.OneInFlight)
	answer, _ := a.asks(&backend.AcquireRequest{Call: a.call(), Session: id, Names: names}).(*backend.AcquireAnswer)
	if answer == nil || len(answer.Outcomes) == 0 {
		return 0
	}
	return answer.Outcomes[0].Token
}

// errorOf returns the number and the error of an answer.
func errorOf(answer actor.Message) (id uint64, err error) {
	switch a := answer.(type) {
	case *backend.OpenAnswer:
		return a.ID, a.Err
	case *backend.RenewAnswer:
		return a.ID, a.Err
	case *backend.AcquireAnswer:
		return a.ID, a.Err
	case *backend.ReleaseAnswer:
		return a.ID, a.Err
	case *backend.CloseAnswer:
		return a.ID, a.Err
	}
	return 0, errors.New("no answer")
}

// TestMoodErrors: a call fails before or after it was carried out, and its caller
// cannot tell.
func TestMoodErrors(t *testing.T) {
	for label, carriedOut := range map[string]bool{"error before": false, "error after": true} {
		t.Run(label, func(t *testing.T) {
			a := newAsker(map[string]bool{label: true})
			id := a.opens()
			token := a.acquires(id, "x")
			expires, _ := a.Model.Expires(id)
			a.RunFor(time.Second)
			a.Mood.Errors = 10
			for _, request := range []actor.Message{
				&backend.OpenRequest{Call: a.call(), Lease: time.Hour},
				&backend.RenewRequest{Call: a.call(), Session: id},
				&backend.AcquireRequest{Call: a.call(), Session: id, Names: []string{"y"}},
				&backend.ReleaseRequest{Call: a.call(), Session: id, Leases: []backend.Lease{{Name: "x", Token: token}}},
			} {
				before := a.calls
				if call, err := errorOf(a.asks(request)); !errors.Is(err, sim.ErrStore) || call == 0 || call > before {
					t.Errorf("%T is answered, as call %d, with %v", request, call, err)
				}
			}
			if at, _ := a.Model.Expires(id); at > expires != carriedOut {
				t.Errorf("the renewal was carried out: %v", !carriedOut)
			}
			if y, _ := a.Model.Recorded("y"); (y == id) != carriedOut {
				t.Errorf("the attempt was carried out: %v", !carriedOut)
			}
			if x, _ := a.Model.Recorded("x"); (x == "") != carriedOut {
				t.Errorf("the release was carried out: %v", !carriedOut)
			}
			if _, err := errorOf(a.asks(&backend.CloseRequest{Call: a.call(), Session: id})); !errors.Is(err, sim.ErrStore) {
				t.Errorf("a close is answered with %v", err)
			}
			if _, known := a.Model.Expires(id); known == carriedOut {
				t.Errorf("the close was carried out: %v", !carriedOut)
			}
			if lost := a.Monitor.Met[sim.WinAnswerLost]; (lost == 1) != carriedOut {
				t.Errorf("%d answers to wins were lost", lost)
			}
			a.Mood.Errors = 0
			if a.opens() == "" {
				t.Error("a backend in a good mood fails")
			}
			if err := a.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMoodSlow: an answer is held back, and what it says is from when it was asked
// for.
func TestMoodSlow(t *testing.T) {
	a := newAsker(nil)
	a.Mood.Slow = sim.Constant(500 * time.Millisecond)
	from := a.Now()
	id := a.opens()
	if took := a.Now().Sub(from); took != 500*time.Millisecond || id == "" {
		t.Errorf("the answer takes %v", took)
	}
	if at, _ := a.Model.Expires(id); at != actor.Instant(time.Hour) {
		t.Errorf("the session expires at %v, want an hour after it was asked for", time.Duration(at))
	}
}

// TestMoodSilent: nobody is told of what becomes free.
func TestMoodSilent(t *testing.T) {
	for _, silent := range []bool{false, true} {
		a := newAsker(nil)
		a.Mood.Silent = silent
		id := a.opens()
		token := a.acquires(id, "x")
		a.self.Tell(func(ctx actor.Context) {
			ctx.Send(a.Backend(), &backend.WatchRequest{ReplyTo: a.self, Add: []string{"x"}})
		})
		a.asks(&backend.ReleaseRequest{Call: a.call(), Session: id, Leases: []backend.Lease{{Name: "x", Token: token}}})
		a.RunFor(time.Second)
		told := slices.ContainsFunc(a.answers, func(msg actor.Message) bool { _, ok := msg.(*backend.Vacated); return ok })
		if told == silent {
			t.Errorf("silent: %v; told that the name is free: %v", silent, told)
		}
	}
}

// TestLoseData: nothing is left, and tokens grow all the same, however soon it comes.
func TestLoseData(t *testing.T) {
	a := newAsker(nil)
	last := uint64(0)
	for i := range 5 {
		id := a.opens()
		token := a.acquires(id, "x")
		if token <= last {
			t.Errorf("after %d losses the token goes from %d to %d", i, last, token)
		}
		last = token
		a.LoseData()
		if holders := a.Model.Inspect(a.Store.Now(), nil); len(holders) != 0 {
			t.Errorf("the backend still knows %v", holders)
		}
		if _, err := errorOf(a.asks(&backend.RenewRequest{Call: a.call(), Session: id})); !errors.Is(err, backend.ErrExpired) {
			t.Errorf("a session that was lost renews: %v", err)
		}
	}
	if got := a.Monitor.Met[sim.DataLost]; got != 5 {
		t.Errorf("%d losses were met, want 5", got)
	}
	if err := a.Err(); err != nil {
		t.Error(err)
	}
}

// TestRestartStore: what it knows it keeps, and what it was asked for meanwhile is
// lost.
func TestRestartStore(t *testing.T) {
	a := newAsker(nil)
	id := a.opens()
	a.StopStore()
	if answer := a.asks(&backend.RenewRequest{Call: a.call(), Session: id}); answer != nil {
		t.Errorf("a backend that is stopped answers %v", answer)
	}
	a.StartStore()
	a.RestartStore()
	if _, err := errorOf(a.asks(&backend.RenewRequest{Call: a.call(), Session: id})); err != nil {
		t.Errorf("after a restart, a renewal yields %v", err)
	}
}

// TestRemoveLease: its owner learns of it by a renewal, somebody else can have it with
// a greater token, and a lease that nobody has cannot be removed.
func TestRemoveLease(t *testing.T) {
	c := sim.NewCluster(sim.Random(1), params)
	a, b := c.NewClient("a", 0, 1), c.NewClient("b", 0, 1)
	a.Elect("job", sim.Script{})
	within(t, c, time.Second, "a leads", c.LedBy("job", a))
	old := a.Elections["job"].Term()
	c.RemoveLease("another")
	if c.Monitor.Met[sim.LeaseRemoved] != 0 {
		t.Error("a lease was removed that nobody has")
	}
	c.RemoveLease("job")
	b.Elect("job", sim.Script{})
	within(t, c, time.Second, "b leads", func() bool { return b.Elections["job"].Leads() })
	if !old.Valid() || b.Elections["job"].Term().Token() <= old.Token() {
		t.Errorf("a's term is valid: %v; tokens go from %d to %d", old.Valid(), old.Token(), b.Elections["job"].Term().Token())
	}
	within(t, c, params.RenewInterval, "a learns of it", func() bool { return !old.Valid() })
	if state := a.View().State; state != session.Live {
		t.Errorf("a's session is %v, want it to go on", state)
	}
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}
