package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// liar is a cluster with an actor that says what the test wants.
type liar struct {
	*sim.Cluster
	client *sim.Client // on the liar's node, nil for none
	node   *sim.Node
	self   actor.Ref
	to     actor.Ref
	react  func(actor.Context) // what the actor does with the next message, nil for nothing
}

// newLiar returns a liar on a node of its own.
func newLiar() *liar {
	l := &liar{Cluster: sim.NewCluster(sim.Random(1), params)}
	l.moveTo(l.NewNode("liar", 0, 1))
	return l
}

// newInsider returns a liar in the process of a client that has a session.
func newInsider() *liar {
	l := &liar{Cluster: sim.NewCluster(sim.Random(1), params)}
	l.client = l.NewClient("client", 0, 1)
	l.RunUntil(time.Second, l.client.Live)
	l.moveTo(l.client.Node)
	return l
}

func (l *liar) moveTo(n *sim.Node) {
	l.node = n
	l.to = n.Spawn("listener", actor.BehaviorFunc(func(actor.Context, actor.Message) {}))
	l.self = n.Spawn("liar", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if r, ok := msg.(*actor.Request); ok {
			ctx.Send(r.ReplyTo(), session.Done{})
		}
		if f := l.react; f != nil {
			l.react = nil
			f(ctx)
		}
	}))
	l.RunFor(0)
}

// hear makes the liar handle a message.
func (l *liar) hear(msg actor.Message, react func(actor.Context)) {
	l.react = react
	l.self.Tell(msg)
	l.RunFor(0)
}

func (l *liar) sayTo(to actor.Ref, msg actor.Message) {
	l.hear("say something", func(ctx actor.Context) { ctx.Send(to, msg) })
}

func (l *liar) say(msg actor.Message) { l.sayTo(l.to, msg) }

// ask asks the liar for something, which it says it has done.
func (l *liar) ask(msg actor.Message, react func(actor.Context)) {
	l.hear(actor.NewRequest(msg, &sim.Reply{}), react)
}

// lease makes the backend give a name to a session.
func (l *liar) lease(id, name string) uint64 {
	l.Model.Open(l.Store.Now(), id, params.Lease, "") // unless it is open
	return l.give(id, name)
}

func (l *liar) give(id, name string) uint64 {
	out, err := l.Model.Acquire(l.Store.Now(), id, []string{name}, false)
	if err != nil || !out[0].Won {
		return 0
	}
	return out[0].Token
}

func (l *liar) term(id, name string, token uint64, lasts time.Duration) *term.Term {
	return term.New(name, id, token, term.NewDeadline(l.node, l.node.Now().Add(lasts)))
}

// win makes a term.
func (l *liar) win(id, name string, token uint64, lasts time.Duration) *term.Term {
	tm := l.term(id, name, token, lasts)
	l.say(session.Won{Terms: []*term.Term{tm}})
	return tm
}

// leased makes a term of a second for which there is a lease.
func (l *liar) leased(id, name string) *term.Term {
	return l.win(id, name, l.lease(id, name), time.Second)
}

// poke makes the backend do something.
func (l *liar) poke() {
	l.NewClient("poker", 0, 1)
	l.RunFor(time.Millisecond)
}

// contend makes the liar's node want a name, as far as its session could tell.
func (l *liar) contend(name string, candidacy uint64) {
	l.ask(session.Join{Names: []string{name}, Owner: l.self}, nil)
	l.sayTo(l.self, session.Contend{Name: name, Candidacy: candidacy})
}

// The calls of a session, which take up to a second.

func (l *liar) renew(call uint64, id string) {
	l.say(&backend.RenewRequest{Call: backend.Call{ID: call, Timeout: time.Second}, Session: id})
}

func (l *liar) acquire(call uint64, id string, names ...string) {
	l.say(&backend.AcquireRequest{Call: backend.Call{ID: call, Timeout: time.Second}, Session: id, Names: names})
}

func (l *liar) release(id string, tm *term.Term) {
	l.say(&backend.ReleaseRequest{Session: id, Leases: []backend.Lease{{Name: tm.Name(), Token: tm.Token()}}})
}

// revoked makes the client say that a term has ended.
func (l *liar) revoked(tm *term.Term, r term.Reason) {
	l.client.Say(observe.Revoked{Name: tm.Name(), Token: tm.Token(), Reason: r})
}

// leads makes the client lead x.
func (l *liar) leads(s sim.Script) (*sim.Election, *term.Term) {
	e := l.client.Elect("x", s)
	l.RunUntil(time.Second, e.Leads)
	return e, e.Term()
}

// lie is what a liar tells, and what the monitor is to say.
type lie struct {
	name string
	tell func(l *liar)
	want sim.Invariant // zero if there is nothing wrong
}

func tell(t *testing.T, newLiar func() *liar, lies []lie) {
	t.Helper()
	for _, tt := range lies {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			if err := l.Err(); err != nil {
				t.Fatal(err)
			}
			tt.tell(l)
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
