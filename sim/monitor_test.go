package sim_test

import (
	"strings"
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
		if f, ok := msg.(func(actor.Context)); ok {
			f(ctx)
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
		want string // of the error; empty if there is nothing wrong
	}{
		{"nothing wrong", func(l *liar) {
			tm := l.term("s", "x", l.lease("s", "x"), time.Second)
			l.say(session.Won{Terms: []*term.Term{tm}})
			l.RunFor(time.Minute)
			l.say(session.Won{Terms: []*term.Term{l.term("s2", "x", l.lease("s2", "x"), time.Second)}})
		}, ""},
		{"two valid terms", func(l *liar) {
			token := l.lease("s", "x")
			l.say(session.Won{Terms: []*term.Term{l.term("s", "x", token, time.Second)}})
			l.say(session.Won{Terms: []*term.Term{l.term("s2", "x", token+1, time.Second)}})
		}, `"x" has two valid terms, with tokens 1 and 2`},
		{"a term without a lease", func(l *liar) {
			l.say(session.Won{Terms: []*term.Term{l.term("s", "x", 1, time.Second)}})
		}, `valid for 1s, but the backend's holder has token 0`},
		{"a deadline after the expiry", func(l *liar) {
			l.say(session.Won{Terms: []*term.Term{l.term("s", "x", l.lease("s", "x"), params.Lease+1)}})
			l.RunFor(params.Lease)
			l.say("anything")
		}, `valid for 1ns, but the backend's holder has token 0`},
		{"a lease released under a valid term", func(l *liar) {
			token := l.lease("s", "x")
			l.say(session.Won{Terms: []*term.Term{l.term("s", "x", token, time.Second)}})
			l.Model.Release(l.Store.Now(), "s", []backend.Lease{{Name: "x", Token: token}})
			l.say("anything")
		}, `valid for 1s, but the backend's holder has token 0`},
		{"a token that falls", func(l *liar) {
			l.lease("s", "x")
			tm := l.term("s", "x", 1, time.Second)
			l.say(session.Won{Terms: []*term.Term{tm}})
			term.End(tm, term.Stopped)
			l.say(session.Won{Terms: []*term.Term{l.term("s", "x", 1, time.Second)}})
		}, `the token of "x" goes from 1 to 1`},
		{"a token of zero", func(l *liar) {
			l.say(session.Won{Terms: []*term.Term{l.term("s", "x", 0, -1)}})
		}, `the token of "x" goes from 0 to 0`},
		{"a release before the end", func(l *liar) {
			tm := l.term("s", "x", l.lease("s", "x"), time.Second)
			l.say(session.Won{Terms: []*term.Term{tm}})
			l.say(&backend.ReleaseRequest{Session: "s", Leases: []backend.Lease{{Name: "x", Token: 1}}})
		}, `the lease of "x" with token 1 is released, and its term has not ended`},
		{"a close before the end", func(l *liar) {
			l.say(session.Won{Terms: []*term.Term{l.term("s", "x", l.lease("s", "x"), time.Second)}})
			l.say(&backend.CloseRequest{Session: "s"})
		}, `the lease of "x" with token 1 is released, and its term has not ended`},
		{"a release after the end", func(l *liar) {
			tm := l.term("s", "x", l.lease("s", "x"), time.Second)
			l.say(session.Won{Terms: []*term.Term{tm}})
			term.End(tm, term.Stopped)
			l.say(&backend.ReleaseRequest{Session: "s", Leases: []backend.Lease{{Name: "x", Token: 1}}})
		}, ""},
		{"a release before the task has exited", func(l *liar) { l.releaseDuringHandover() }, `is released, and its task may run for another 14.8s`},
		{"two renewals at once", func(l *liar) {
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 1, Timeout: time.Second}, Session: "s"})
			l.RunFor(time.Second - 1)
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 2, Timeout: time.Second}, Session: "s"})
		}, `session s renews while its renewal #1 is under way`},
		{"a renewal after one that was given up or answered", func(l *liar) {
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 1, Timeout: time.Second}, Session: "s"})
			l.RunFor(time.Second)
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 2, Timeout: time.Second}, Session: "s"})
			l.sayTo(l.self, &backend.RenewAnswer{ID: 2})
			l.say(&backend.RenewRequest{Call: backend.Call{ID: 3, Timeout: time.Second}, Session: "s"})
		}, ""},
		{"a renewal of a session that has ended", func(l *liar) { l.say(&backend.RenewRequest{Session: l.ended()}) }, "has ended, and renews"},
		{"an attempt of a session that has ended", func(l *liar) { l.say(&backend.AcquireRequest{Session: l.ended()}) }, "has ended, and acquires"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			tt.lie(l)
			switch err := l.Err(); {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("the world's error is %v, want %q", err, tt.want)
			}
		})
	}
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
	l.say(&backend.ReleaseRequest{Session: tm.Session(), Leases: []backend.Lease{{Name: "x", Token: tm.Token()}}})
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
		want string
	}{
		{"in order", func(l *liar, ask func(actor.Message)) {
			for i := range uint64(3) {
				tm := over(l, i+1)
				ask(election.RunElected{ReplyTo: l.to, Term: tm})
				l.RunFor(time.Second)
				ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
				l.RunFor(time.Second)
			}
		}, ""},
		{"two at once", func(l *liar, ask func(actor.Message)) {
			tm := over(l, 1)
			ask(election.RunElected{ReplyTo: l.to, Term: tm})
			ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
		}, "OnRevoked of token 1 during another callback"},
		{"elected twice", func(l *liar, ask func(actor.Message)) {
			ask(election.RunElected{ReplyTo: l.to, Term: over(l, 1)})
			l.RunFor(time.Second)
			ask(election.RunElected{ReplyTo: l.to, Term: over(l, 2)})
		}, "OnElected of token 2 before OnRevoked"},
		{"revoked without elected", func(l *liar, ask func(actor.Message)) {
			ask(election.RunRevoked{ReplyTo: l.to, Term: over(l, 1)})
		}, "OnRevoked of token 1 without its OnElected"},
		{"revoked while valid", func(l *liar, ask func(actor.Message)) {
			tm := valid(l, 1)
			ask(election.RunElected{ReplyTo: l.to, Term: tm})
			l.RunFor(time.Second)
			ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
		}, "while the term is valid"},
		{"two tasks", func(l *liar, ask func(actor.Message)) {
			ask(election.StartTask{ReplyTo: l.to, Term: valid(l, 1)})
			ask(election.StartTask{ReplyTo: l.to, Term: valid(l, 2)})
		}, "the task starts for token 2 while it runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			host := l.node.Spawn("host", sim.NewHost(l.World, "x", sim.Script{
				Callback: func(*term.Term, term.Reason) time.Duration { return time.Second },
				Task:     sim.Diligent,
			}))
			tt.ask(l, func(msg actor.Message) { host.Tell(msg); l.RunFor(0) })
			switch err := l.Err(); {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("the world's error is %v, want %q", err, tt.want)
			}
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
			host := l.node.Spawn("host", sim.NewHost(l.World, "x", sim.Script{Task: func(*term.Term) sim.Work { return tt.work }}))
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
