package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// liar is a cluster with an actor that says what the test wants.
type liar struct {
	*sim.Cluster
	node *sim.Node
	self actor.Ref
	to   actor.Ref
}

func newLiar() *liar {
	l := &liar{Cluster: sim.NewCluster(sim.Random(1), params)}
	l.node = l.NewNode("liar", 0, 1)
	l.to = l.node.Spawn("listener", actor.BehaviorFunc(func(actor.Context, actor.Message) {}))
	l.self = l.node.Spawn("liar", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		switch msg := msg.(type) {
		case func(actor.Context):
			msg(ctx)
		case *actor.Request:
			ctx.Send(msg.ReplyTo(), session.Done{})
		}
	}))
	return l
}

func (l *liar) say(msg actor.Message) { l.sayTo(l.to, msg) }

func (l *liar) sayTo(to actor.Ref, msg actor.Message) {
	l.self.Tell(func(ctx actor.Context) { ctx.Send(to, msg) })
	l.RunFor(0)
}

// lease makes the backend give a name to a session.
func (l *liar) lease(id, name string) uint64 {
	now := l.Store.Now()
	l.Model.Open(now, id, params.Lease, "")
	out, err := l.Model.Acquire(now, id, []string{name}, false)
	if err != nil || !out[0].Won {
		return 0
	}
	return out[0].Token
}

func (l *liar) term(id, name string, token uint64, lasts time.Duration) *term.Term {
	return term.New(name, id, token, term.NewDeadline(l.node, l.node.Now().Add(lasts)))
}

// TestMonitor breaks what the monitor watches over: a check that cannot fail proves
// nothing.
func TestMonitor(t *testing.T) {
	for _, tt := range []struct {
		name string
		lie  func(l *liar)
		want sim.Invariant // zero if there is nothing wrong
	}{
		{"nothing wrong", func(l *liar) {
			l.win("s", "x", l.lease("s", "x"), time.Second)
			l.RunFor(time.Minute)
			l.win("s2", "x", l.lease("s2", "x"), time.Second)
		}, sim.Invariant{}},
		{"two valid terms", func(l *liar) {
			token := l.lease("s", "x")
			l.win("s", "x", token, time.Second)
			l.win("s2", "x", token+1, time.Second)
		}, sim.OneValidTerm},
		{"a term without a lease", func(l *liar) {
			l.win("s", "x", 1, time.Second)
			l.poke()
		}, sim.DeadlineFirst},
		{"a lease released under a valid term", func(l *liar) {
			token := l.lease("s", "x")
			l.win("s", "x", token, time.Second)
			l.Model.Release(l.Store.Now(), "s", []backend.Lease{{Name: "x", Token: token}})
			l.poke()
		}, sim.DeadlineFirst},
		{"a token that falls", func(l *liar) {
			l.lease("s", "x")
			term.End(l.win("s", "x", 1, time.Second), term.Stopped)
			l.win("s", "x", 1, time.Second)
		}, sim.TokensGrow},
		{"a token of zero", func(l *liar) { l.win("s", "x", 0, -1) }, sim.TokensGrow},
		{"a term that is valid again", func(l *liar) {
			d := term.NewDeadline(l.node, l.node.Now().Add(time.Second))
			l.say(session.Won{Terms: []*term.Term{term.New("x", "s", l.lease("s", "x"), d)}})
			l.RunFor(time.Minute)
			*d = *term.NewDeadline(l.node, l.node.Now().Add(time.Hour)) // Extend would refuse
			l.say("anything")
		}, sim.NeverValidAgain},
		{"a release before the end", func(l *liar) {
			tm := l.win("s", "x", l.lease("s", "x"), time.Second)
			l.say(&backend.ReleaseRequest{Session: "s", Leases: []backend.Lease{{Name: "x", Token: tm.Token()}}})
		}, sim.EndBeforeRelease},
		{"a close before the end", func(l *liar) {
			l.win("s", "x", l.lease("s", "x"), time.Second)
			l.say(&backend.CloseRequest{Session: "s"})
		}, sim.EndBeforeRelease},
		{"a release after the end", func(l *liar) {
			tm := l.win("s", "x", l.lease("s", "x"), time.Second)
			term.End(tm, term.Stopped)
			l.say(&backend.ReleaseRequest{Session: "s", Leases: []backend.Lease{{Name: "x", Token: tm.Token()}}})
		}, sim.Invariant{}},
		{"a release before the task has exited", func(l *liar) { l.releaseDuringHandover() }, sim.HandoverInOrder},
		{"two renewals at once", func(l *liar) {
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 1, Timeout: time.Second}, Session: "s"})
			l.RunFor(time.Second / 2)
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 2, Timeout: time.Second}, Session: "s"})
		}, sim.OneInFlight},
		{"two attempts at once", func(l *liar) {
			l.contend("x")
			l.say(&backend.AcquireRequest{Call: backend.Call{ID: 1, Timeout: time.Second}, Session: "s", Names: []string{"x"}})
			l.RunFor(time.Second / 2)
			l.say(&backend.AcquireRequest{Call: backend.Call{ID: 2, Timeout: time.Second}, Session: "s", Names: []string{"x"}})
		}, sim.OneInFlight},
		{"a renewal after one that was given up or answered", func(l *liar) {
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 1, Timeout: time.Second}, Session: "s"})
			l.RunFor(time.Second)
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 2, Timeout: time.Second}, Session: "s"})
			l.sayTo(l.self, &backend.RenewAnswer{ID: 2})
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 3, Timeout: time.Second}, Session: "s"})
		}, sim.Invariant{}},
		{"a renewal of a session that has ended", func(l *liar) { l.say(&backend.RenewRequest{Session: l.ended()}) }, sim.Invariant{}},
		{"an attempt that nobody wants", func(l *liar) {
			l.say(&backend.AcquireRequest{Session: "s", Names: []string{"x"}})
		}, sim.NoAttemptUnasked},
		{"a task under a term that is over", func(l *liar) {
			tm := l.win("s", "x", l.lease("s", "x"), time.Second)
			term.End(tm, term.Stopped)
			l.say(election.StartTask{Term: tm})
		}, sim.OneTask},
		{"two tasks", func(l *liar) {
			first := l.win("s", "x", l.lease("s", "x"), time.Second)
			l.say(election.StartTask{Term: first})
			term.End(first, term.Stopped)
			l.Model.Close(l.Store.Now(), "s")
			l.say(election.StartTask{Term: l.win("s2", "x", l.lease("s2", "x"), time.Second)})
		}, sim.OneTask},
		{"a report", func(l *liar) {
			l.self.Tell(func(ctx actor.Context) { ctx.Report(errors.New("impossible")) })
			l.RunFor(0)
		}, sim.ReachableStates},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			tt.lie(l)
			wantViolation(t, l.Err(), tt.want)
		})
	}
}

func wantViolation(t *testing.T, err error, want sim.Invariant) {
	t.Helper()
	var v *sim.Violation
	switch errors.As(err, &v); {
	case want.Number == 0 && err != nil:
		t.Errorf("the world's error is %v, want none", err)
	case want.Number != 0 && (v == nil || v.Number != want.Number):
		t.Errorf("the world's error is %v, want a violation of %d", err, want.Number)
	}
}

// win makes a term.
func (l *liar) win(id, name string, token uint64, lasts time.Duration) *term.Term {
	tm := l.term(id, name, token, lasts)
	l.say(session.Won{Terms: []*term.Term{tm}})
	return tm
}

// poke makes the backend do something.
func (l *liar) poke() {
	l.NewClient("poker", 0, 1)
	l.RunFor(time.Millisecond)
}

// contend makes the liar's node want a name, as far as its session could tell.
func (l *liar) contend(name string) {
	l.self.Tell(actor.NewRequest(session.Join{Names: []string{name}, Owner: l.self}, &sim.Reply{}))
	l.sayTo(l.self, session.Contend{Name: name, Candidacy: 1})
}

// ended is the session of a client that was closed.
func (l *liar) ended() string {
	cl := l.NewClient("client", 0, 1)
	l.RunFor(time.Second)
	id := cl.View().Session
	cl.Close()
	l.RunFor(time.Second)
	return id
}

// releaseDuringHandover releases the lease of a client whose task does not return.
func (l *liar) releaseDuringHandover() {
	cl := l.NewClient("client", 0, 1)
	cl.Elect("x", sim.Script{Task: func(*term.Term) sim.Work { return sim.Work{Deaf: true} }})
	l.RunUntil(time.Second, l.Led("x"))
	tm := cl.Elections["x"].Term()
	cl.Elections["x"].StepDown(0)
	l.RunFor(0)
	term.End(tm, term.SteppedDown)
	cl.Spawn("liar", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		ctx.Send(l.to, &backend.ReleaseRequest{Session: tm.Session(), Leases: []backend.Lease{{Name: "x", Token: tm.Token()}}})
	}))
	l.RunFor(0)
}

// TestUnused finds leases that nobody uses.
func TestUnused(t *testing.T) {
	l := newLiar()
	l.say(session.Won{Terms: []*term.Term{l.term("s", "x", l.lease("s", "x"), time.Second)}})
	if got := l.Monitor.Unused(); len(got) != 0 {
		t.Errorf("unused: %+v, want none", got)
	}
	l.lease("s", "y")
	if got := l.Monitor.Unused(); len(got) != 1 || got[0].Name != "y" {
		t.Errorf("unused: %+v, want y", got)
	}
	l.RunFor(time.Second)
	if got := l.Monitor.Unused(); len(got) != 2 {
		t.Errorf("unused: %+v, want x and y", got)
	}
}

// TestHost breaks what an election's host relies on.
func TestHost(t *testing.T) {
	valid := func(l *liar, token uint64) *term.Term { return l.term("s", "x", token, time.Hour) }
	over := func(l *liar, token uint64) *term.Term {
		tm := valid(l, token)
		term.End(tm, term.Stopped)
		return tm
	}
	for _, tt := range []struct {
		name string
		ask  func(l *liar, ask func(msg actor.Message))
		want sim.Invariant
	}{
		{"in order", func(l *liar, ask func(actor.Message)) {
			for i := range uint64(3) {
				tm := over(l, i+1)
				ask(election.RunElected{ReplyTo: l.to, Term: tm})
				l.RunFor(time.Second)
				ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
				l.RunFor(time.Second)
			}
		}, sim.Invariant{}},
		{"two at once", func(l *liar, ask func(actor.Message)) {
			tm := over(l, 1)
			ask(election.RunElected{ReplyTo: l.to, Term: tm})
			ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
		}, sim.PairedCallbacks},
		{"elected twice", func(l *liar, ask func(actor.Message)) {
			ask(election.RunElected{ReplyTo: l.to, Term: over(l, 1)})
			l.RunFor(time.Second)
			ask(election.RunElected{ReplyTo: l.to, Term: over(l, 2)})
		}, sim.PairedCallbacks},
		{"revoked without elected", func(l *liar, ask func(actor.Message)) {
			ask(election.RunRevoked{ReplyTo: l.to, Term: over(l, 1)})
		}, sim.PairedCallbacks},
		{"revoked while valid", func(l *liar, ask func(actor.Message)) {
			tm := valid(l, 1)
			ask(election.RunElected{ReplyTo: l.to, Term: tm})
			l.RunFor(time.Second)
			ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
		}, sim.PairedCallbacks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			host := l.node.Spawn("host", sim.NewHost(l.Cluster, "x", sim.Script{
				Callback: func(*term.Term, term.Reason) sim.Call { return sim.Call{Lasts: time.Second} },
				Task:     sim.Diligent,
			}))
			tt.ask(l, func(msg actor.Message) { host.Tell(msg); l.RunFor(0) })
			wantViolation(t, l.Err(), tt.want)
		})
	}
}

// TestWork acts out tasks.
func TestWork(t *testing.T) {
	for _, tt := range []struct {
		name   string
		work   sim.Work
		cancel time.Duration // when it is cancelled
		want   time.Duration // when it returns, -1 for never
	}{
		{"until cancelled", sim.Work{}, time.Minute, time.Minute},
		{"tidies up", sim.Work{Tidies: time.Second}, time.Minute, time.Minute + time.Second},
		{"returns before", sim.Work{Lasts: time.Second}, time.Minute, time.Second},
		{"cancelled before", sim.Work{Lasts: time.Minute}, time.Second, time.Second},
		{"deaf", sim.Work{Lasts: time.Minute, Deaf: true}, time.Second, time.Minute},
		{"deaf for ever", sim.Work{Deaf: true}, time.Second, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			returned := time.Duration(-1)
			l.OnDeliver(func(_ actor.Ref, msg actor.Message) {
				if _, ok := msg.(election.TaskExited); ok {
					returned = time.Duration(l.Now())
				}
			})
			host := l.node.Spawn("host", sim.NewHost(l.Cluster, "x", sim.Script{Task: func(*term.Term) sim.Work { return tt.work }}))
			tm := l.term("s", "x", 1, time.Hour)
			host.Tell(election.StartTask{ReplyTo: l.to, Term: tm})
			l.In(tt.cancel, func() { host.Tell(election.CancelTask{Term: tm, Reason: term.Stopped}) })
			l.RunFor(time.Hour)
			if returned != tt.want {
				t.Errorf("it returned after %v, want %v", returned, tt.want)
			}
		})
	}
}
