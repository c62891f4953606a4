package election_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	lease = 10 * time.Second
	name  = "billing"
)

var params = session.Defaults(lease)

// rig is an election in a simulated world, whose session and host are played by the
// test: it sees what the election sends, and sends what they would.
type rig struct {
	t     testing.TB
	world *sim.World
	node  *sim.Node
	ref   actor.Ref
	spy   *spy
	view  atomic.Pointer[election.Snapshot]

	sent      []any // to the session and the host, in order, since wants
	candidacy uint64
	events    []observe.Event
	token     uint64
	ended     bool                               // the actor
	plays     func(actor.Context, actor.Message) // the session and the host, if the test does not
}

// newRig starts an election with a listener and a task, unless configure says
// otherwise.
func newRig(t testing.TB, configure ...func(*election.Config)) *rig {
	r := &rig{t: t, world: sim.NewWorld(sim.Random(1))}
	r.world.OnReport = func(_ actor.Ref, err error) { t.Errorf("reported: %v", err) }
	r.node = r.world.NewNode("n", time.Hour, 1)
	c := election.Config{
		Name:    name,
		Session: r.node.Spawn("session", actor.BehaviorFunc(r.record)),
		Host:    r.node.Spawn("host", actor.BehaviorFunc(r.record)),
		Listens: true, Works: true,
		AfterReturn: election.Hold, AfterFailure: election.Yield,
		Params: params, View: &r.view,
		Sink: func(e observe.Event) { r.events = append(r.events, e) },
	}
	for _, f := range configure {
		f(&c)
	}
	r.spy = &spy{Behavior: election.New(c), received: func(_ actor.Context, msg actor.Message) {
		if _, ok := msg.(actor.Stopping); ok {
			r.ended = true
		}
	}}
	r.ref = r.node.Spawn("election", r.spy)
	r.tell(election.Start{})
	return r
}

func onlyListens(c *election.Config) { c.Works = false }
func onlyWorks(c *election.Config)   { c.Listens = false }

func policies(afterReturn, afterFailure election.Policy) func(*election.Config) {
	return func(c *election.Config) { c.AfterReturn, c.AfterFailure = afterReturn, afterFailure }
}

func (r *rig) record(ctx actor.Context, msg actor.Message) {
	if r.plays != nil {
		r.plays(ctx, msg)
	}
	if c, ok := msg.(session.Contend); ok {
		r.candidacy = c.Candidacy
	}
	if _, ok := msg.(actor.Started); !ok {
		r.sent = append(r.sent, unowned(msg))
	}
}

// tell sends msg to the election and lets it handle that.
func (r *rig) tell(msgs ...actor.Message) {
	for _, msg := range msgs {
		r.ref.Tell(msg)
	}
	r.world.RunFor(0)
}

func (r *rig) sleep(d time.Duration) { r.world.RunFor(d) }

// caller is someone who waits for Stop or StepDown.
type caller struct{ answers []any }

func (c *caller) Tell(msg actor.Message) { c.answers = append(c.answers, msg) }
func (c *caller) String() string         { return "caller" }

// ask sends a request, and returns who waits for its answer.
func (r *rig) ask(msg actor.Message) *caller {
	c := &caller{}
	r.tell(actor.NewRequest(msg, c))
	return c
}

func (c *caller) done() bool {
	return len(c.answers) == 1 && c.answers[0] == session.Done{}
}

// newTerm is a term of a session whose deadline is that far away.
func (r *rig) newTerm(left time.Duration) (*term.Term, *term.Deadline) {
	r.token++
	d := term.NewDeadline(r.node, r.node.Now().Add(left))
	return term.New(name, "s", r.token, d), d
}

// win makes the election, which must be standing, win a term of a lease.
func (r *rig) win() (*term.Term, *term.Deadline) {
	r.t.Helper()
	r.sent = slices.DeleteFunc(r.sent, func(m any) bool { return m == contend(r.candidacy) })
	t, d := r.newTerm(lease)
	r.tell(won(r.candidacy, t))
	return t, d
}

// lead makes the election win, and its OnElected run.
func (r *rig) lead() (*term.Term, *term.Deadline) {
	r.t.Helper()
	t, d := r.win()
	r.wants(election.RunElected{ReplyTo: r.ref, Term: t})
	r.tell(election.CallbackDone{Term: t})
	return t, d
}

// lose ends the term against the election's will.
func (r *rig) lose(t *term.Term, reason term.Reason) {
	r.t.Helper()
	if !term.End(t, reason) {
		r.t.Fatalf("the term had ended: %v", t.Reason())
	}
	r.tell(session.Ended{Term: t, Reason: reason})
}

// wants fails unless the election has sent just these messages since the last time.
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

func (r *rig) wantStatus(want election.Status) {
	r.t.Helper()
	if got := r.view.Load().Status; got != want {
		r.t.Fatalf("the status is %v, want %v", got, want)
	}
}

func (r *rig) wantEnded(t *term.Term, want term.Reason) {
	r.t.Helper()
	if got := t.Reason(); got != want {
		r.t.Fatalf("the term ended for the reason %v, want %v", got, want)
	}
}

// emitted returns the events of a type.
func emitted[E any](r *rig) []E {
	var all []E
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// What the election sends in the course of a term.
func contend(n uint64) any            { return session.Contend{Name: name, Candidacy: n} }
func won(n uint64, t *term.Term) any  { return session.Won{Candidacy: n, Terms: []*term.Term{t}} }
func release(t *term.Term) any        { return session.Release{Term: t} }
func (r *rig) start(t *term.Term) any { return election.StartTask{ReplyTo: r.ref, Term: t} }
func (r *rig) elected(t *term.Term) any {
	return election.RunElected{ReplyTo: r.ref, Term: t}
}
func (r *rig) revoked(t *term.Term, reason term.Reason) any {
	return election.RunRevoked{ReplyTo: r.ref, Term: t, Reason: reason}
}
func cancel(t *term.Term, reason term.Reason) any {
	return election.CancelTask{Term: t, Reason: reason}
}

var (
	withdraw = session.Withdraw{Name: name}
	leave    = session.Leave{Name: name}
)

// unowned is msg without its owner, which is an actor that a test does not see.
func unowned(msg any) any {
	if m, ok := msg.(session.Leave); ok {
		m.Owner = nil
		return m
	}
	return msg
}

// spy shows what a behaviour receives and sends, at the moment when it does, and
// may make its timers fire early.
type spy struct {
	actor.Behavior
	received func(ctx actor.Context, msg actor.Message)
	handled  func(ctx actor.Context, msg actor.Message)
	sends    func(ctx actor.Context, to actor.Ref, msg actor.Message)
	early    func(d time.Duration) time.Duration
}

func (s *spy) Receive(ctx actor.Context, msg actor.Message) {
	if s.received != nil {
		s.received(ctx, msg)
	}
	s.Behavior.Receive(spyContext{ctx, s}, msg)
	if s.handled != nil {
		s.handled(ctx, msg)
	}
}

type spyContext struct {
	actor.Context
	spy *spy
}

func (c spyContext) Send(to actor.Ref, msg actor.Message) {
	if c.spy.sends != nil {
		c.spy.sends(c.Context, to, msg)
	}
	c.Context.Send(to, msg)
}

func (c spyContext) After(d time.Duration, msg actor.Message) actor.Timer {
	if c.spy.early != nil {
		d = c.spy.early(d)
	}
	return c.Context.After(d, msg)
}
