package election_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// TestWorld lets three machines with real sessions contend for one name, while the
// network drops their messages, machines stand still, and people step them down.
// Their tasks take their time, and some are deaf. After each step it checks what must
// hold over all of them.
func TestWorld(t *testing.T) {
	var sum counts
	for seed := range uint64(6) {
		w := newWorld(t, seed)
		w.run(10 * time.Minute)
		sum.add(w.counts)
		if t.Failed() {
			t.Fatalf("with seed %d, at %v", seed, time.Duration(w.Now()))
		}
	}
	if sum.tasks < 100 || sum.deaf == 0 || sum.timedOut == 0 || sum.lost == 0 || sum.handovers == 0 {
		t.Errorf("the dangerous situations were not reached: %+v", sum)
	}
	t.Logf("%+v", sum)
}

// TestWorldIsDeterministic: the same seed takes the same course.
func TestWorldIsDeterministic(t *testing.T) {
	a, b := newWorld(t, 7), newWorld(t, 7)
	a.run(2 * time.Minute)
	b.run(2 * time.Minute)
	if a.Hash() != b.Hash() || a.Steps() != b.Steps() {
		t.Errorf("%d steps to %x, and then %d steps to %x", a.Steps(), a.Hash(), b.Steps(), b.Hash())
	}
}

type counts struct{ tasks, deaf, timedOut, lost, handovers int }

func (c *counts) add(d counts) {
	c.tasks += d.tasks
	c.deaf += d.deaf
	c.timedOut += d.timedOut
	c.lost += d.lost
	c.handovers += d.handovers
}

type world struct {
	*sim.World
	counts
	t        *testing.T
	random   *rand.Rand
	machines []*machine
	tokens   uint64 // the highest
}

// machine is a node with a session, an election, and a host that takes its time.
type machine struct {
	w       *world
	node    *sim.Node
	cut     bool // from the backend
	ref     actor.Ref
	view    atomic.Pointer[election.Snapshot]
	ended   bool
	invalid map[*term.Term]bool
	terms   []*term.Term

	open   *term.Term // of which the listener has heard the beginning only
	inside bool       // a callback runs
	task   *term.Term
	deaf   bool
	run    int           // counts the tasks
	d0     actor.Instant // of the handover that is under way or was last
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{World: sim.NewWorld(sim.Random(seed)), t: t, random: rand.New(rand.NewPCG(seed, 1))}
	w.OnReport = func(from actor.Ref, err error) { t.Errorf("%v reports: %v", from, err) }
	store := w.NewNode("store", 0, 1)
	backend := store.Spawn("backend", memory.NewActor(memory.NewModel(memory.Config{})))
	arrived := make(map[[2]*sim.Node]actor.Instant)
	w.Network = func(arrivals []time.Duration, from, to *sim.Node, _ actor.Message) []time.Duration {
		for _, m := range w.machines {
			if m.cut && (m.node == from || m.node == to) {
				return arrivals
			}
		}
		// In order, as over one connection.
		at := max(w.Now().Add(w.upTo(50*time.Millisecond)), arrived[[2]*sim.Node{from, to}])
		arrived[[2]*sim.Node{from, to}] = at
		return append(arrivals, at.Sub(w.Now()))
	}
	for i, name := range []string{"a", "b", "c"} {
		m := &machine{w: w, node: w.NewNode(name, time.Duration(i)*time.Hour, 1+float64(i-1)*0.004), invalid: make(map[*term.Term]bool)}
		w.machines = append(w.machines, m)
		s := m.node.Spawn("session", session.New(session.Config{
			Params: params, Label: name, Backend: backend, Clock: m.node, Sink: observe.Discard,
		}))
		m.ref = m.node.Spawn("election", &spy{
			Behavior: election.New(election.Config{
				Name: "billing", Session: s, Host: m.node.Spawn("host", m), Listens: true, Works: true,
				AfterReturn: election.Policy(i), AfterFailure: election.Yield,
				Params: params, Sink: m.sink, View: &m.view,
			}),
			received: func(_ actor.Context, msg actor.Message) {
				if _, ok := msg.(actor.Stopping); ok {
					m.ended = true
				}
			},
		})
		s.Tell(actor.NewRequest(session.Join{Names: []string{"billing"}, Owner: m.ref}, &caller{}))
		m.ref.Tell(election.Start{})
	}
	return w
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

// run lets things go wrong for a while, and then come to rest.
func (w *world) run(d time.Duration) {
	for end := w.Now().Add(d); w.Now() < end && !w.t.Failed(); {
		m := w.machines[w.random.IntN(len(w.machines))]
		switch w.random.IntN(4) {
		case 0:
			m.cut = true
			w.At(w.Now().Add(w.upTo(2*lease)), func() { m.cut = false })
		case 1:
			m.node.Pause()
			w.At(w.Now().Add(w.upTo(2*lease)), m.node.Resume)
		default:
			m.ref.Tell(actor.NewRequest(election.StepDown{Cooldown: w.upTo(lease)}, &caller{}))
		}
		w.pass(w.upTo(lease))
	}
	w.rest()
}

// rest checks liveness once nothing goes wrong any more.
func (w *world) rest() {
	w.pass(3 * lease) // deaf tasks return, and cooldowns end
	led := false
	for range 30 {
		for _, m := range w.machines {
			led = led || m.view.Load().Status == election.Leader
		}
		w.pass(time.Second)
	}
	if !led {
		w.t.Error("invariant 22: nobody leads, although nothing is wrong any more")
	}
	var callers []*caller
	for _, m := range w.machines {
		c := &caller{}
		callers = append(callers, c)
		m.ref.Tell(actor.NewRequest(election.Stop{}, c))
	}
	w.pass(6 * lease)
	for i, m := range w.machines {
		if !callers[i].done() || !m.ended || m.open != nil || m.inside || m.task != nil {
			w.t.Errorf("%v: Stop was answered by %v, the actor has ended: %v", m.node, callers[i].answers, m.ended)
		}
	}
}

// pass lets time pass, and checks every step.
func (w *world) pass(d time.Duration) {
	end := w.Now().Add(d)
	done := false
	w.At(end, func() { done = true })
	for !done && !w.t.Failed() {
		w.Step()
		w.check()
	}
}

func (w *world) check() {
	valid := 0
	for _, m := range w.machines {
		for _, t := range m.terms {
			if t.Valid() {
				valid++
				if m.invalid[t] {
					w.t.Error("invariant 4: a term became valid again")
				}
			} else {
				m.invalid[t] = true
			}
		}
	}
	if valid > 1 {
		w.t.Errorf("invariant 1: %d valid terms", valid)
	}
}

// starts checks, when a task starts, those that run elsewhere (invariant 14).
func (m *machine) starts() {
	m.w.tasks++
	for _, o := range m.w.machines {
		switch {
		case o == m || o.task == nil:
		case o.task.Valid():
			m.w.t.Errorf("a task starts while %v runs one under a valid term", o.node)
		case o.task.Reason().Voluntary() && o.node.Now() < o.d0:
			m.w.t.Errorf("invariant 14: a task starts while %v runs one, %v before D0", o.node, o.d0.Sub(o.node.Now()))
		}
	}
}

func (m *machine) sink(e observe.Event) {
	switch e := e.(type) {
	case observe.Elected:
		if e.Token <= m.w.tokens {
			m.w.t.Errorf("invariant 3: token %d after %d", e.Token, m.w.tokens)
		}
		m.w.tokens = e.Token
	case observe.HandoverStarted:
		m.w.handovers++
		m.d0 = m.node.Now().Add(e.Remaining)
	case observe.HandoverTimedOut:
		m.w.timedOut++
	case observe.Revoked:
		if !e.Reason.Voluntary() {
			m.w.lost++
		}
	}
}

// What happens in the host.
type (
	callbackReturns struct{ term *term.Term }
	taskReturns     struct {
		run int
		err error
	}
)

// Receive is the host.
func (m *machine) Receive(ctx actor.Context, msg actor.Message) {
	switch msg := msg.(type) {
	case election.RunElected:
		if m.inside || m.open != nil {
			m.w.t.Error("invariant 16: OnElected overlaps, or follows OnElected")
		}
		m.terms = append(m.terms[max(0, len(m.terms)-3):], msg.Term) // the older ones are known to stay invalid
		m.inside, m.open = true, msg.Term
		ctx.After(m.w.upTo(2*time.Second), callbackReturns{msg.Term})
	case election.RunRevoked:
		if m.inside || m.open != msg.Term || msg.Term.Valid() {
			m.w.t.Error("invariant 16: OnRevoked overlaps, or is not for the last OnElected")
		}
		m.inside, m.open = true, nil
		ctx.After(m.w.upTo(2*time.Second), callbackReturns{msg.Term})
	case callbackReturns:
		m.inside = false
		ctx.Send(m.ref, election.CallbackDone{Term: msg.term})
	case election.StartTask:
		m.startTask(ctx, msg.Term)
	case election.CancelTask:
		if m.task == msg.Term && !m.deaf {
			ctx.After(m.w.upTo(3*time.Second), taskReturns{run: m.run, err: errBoom})
		}
	case taskReturns:
		if m.task != nil && msg.run == m.run {
			ctx.Send(m.ref, election.TaskExited{Term: m.task, Err: msg.err})
			m.task = nil
		}
	}
}

func (m *machine) startTask(ctx actor.Context, t *term.Term) {
	if m.task != nil {
		m.w.t.Error("invariant 15: two tasks in one process")
	}
	m.starts()
	m.task, m.deaf = t, m.w.random.IntN(3) == 0
	m.run++
	if m.deaf {
		m.w.deaf++
		ctx.After(m.w.upTo(3*lease), taskReturns{run: m.run})
	} else if m.w.random.IntN(2) == 0 {
		ctx.After(m.w.upTo(2*lease), taskReturns{run: m.run})
	}
}
