package election_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// TestProperties lets everything that may happen to an election happen in any
// order, with messages under way for a while, and checks after each step what must
// always hold. At last everything comes to rest, and so must the election.
func TestProperties(t *testing.T) {
	reached := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) { checkProperties(t, reached) })
	t.Log(reached)
	for _, situation := range []string{
		"win of an abandoned candidacy", "handover timed out", "task outlives its term", "loss during a handover",
		"loss before OnElected has run", "OnElected refused", "Stop joins a step-down", "step-down during a cooldown",
	} {
		if reached[situation] == 0 {
			t.Errorf("not reached: %s; the check has not seen the dangerous situations", situation)
		}
	}
}

func checkProperties(t *rapid.T, reached map[string]int) {
	m := newMonitor(t, reached)
	s, h := m.session, m.host
	cooldowns := rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, lease})
	errs := rapid.SampledFrom([]error{nil, nil, errBoom})
	losses := rapid.SampledFrom([]term.Reason{term.SessionExpired, term.TakenOver})
	sleeps := rapid.SampledFrom([]time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, lease})
	// when makes a player act, if it can.
	when := func(can func() bool, ref actor.Ref, f func(*rapid.T) func()) func(*rapid.T) {
		return func(t *rapid.T) {
			if !can() {
				t.Skip()
			}
			ref.Tell(do(f(t)))
		}
	}
	always := func(f func()) func(*rapid.T) func() { return func(*rapid.T) func() { return f } }
	holds := func() bool { return s.held != nil }
	actions := map[string]func(*rapid.T){
		"win":    when(s.canWin, m.sessionRef, always(s.win)),
		"fail":   when(s.canWin, m.sessionRef, always(s.fail)),
		"renew":  when(holds, m.sessionRef, always(s.renew)),
		"notice": when(s.overdue, m.sessionRef, always(func() { s.lose(term.DeadlinePassed) })),
		"lose": when(holds, m.sessionRef, func(t *rapid.T) func() {
			reason := losses.Draw(t, "reason")
			return func() { s.lose(reason) }
		}),
		"settle": when(func() bool { return len(s.pending) > 0 }, m.sessionRef, always(s.settle)),
		"callback": when(func() bool { return h.elected != nil || h.revoked != nil }, m.hostRef, func(t *rapid.T) func() {
			err := errs.Draw(t, "err")
			return func() { h.finishCallback(err) }
		}),
		"refuse": when(func() bool { return h.elected != nil }, m.hostRef, always(h.refuse)),
		"exit": when(func() bool { return h.task != nil }, m.hostRef, func(t *rapid.T) func() {
			err := errs.Draw(t, "err")
			return func() { h.exit(err) }
		}),
		"step down": func(t *rapid.T) {
			if m.status == election.Candidate && rapid.IntRange(0, 4).Draw(t, "rarely") > 0 {
				t.Skip()
			}
			m.ask(election.StepDown{Cooldown: cooldowns.Draw(t, "cooldown")})
		},
		"sleep": func(t *rapid.T) { m.world.RunFor(sleeps.Draw(t, "d")) },
		"step":  func(*rapid.T) { m.world.Step() },
		"":      func(*rapid.T) { m.check() },
	}
	for range 3 {
		m.help(s.win, func() { h.finishCallback(nil) })
		t.Repeat(actions)
	}
	if rapid.Bool().Draw(t, "stops") {
		if rapid.Bool().Draw(t, "joins") {
			m.help(func() { s.settle(); s.win() }, func() { h.finishCallback(nil) })
			m.ask(election.StepDown{Cooldown: cooldowns.Draw(t, "cooldown")})
		}
		m.ask(election.Stop{})
		t.Repeat(actions)
	}
	m.heal()
}

// monitor is an election among players, and what is known of it in true time.
type monitor struct {
	reached    map[string]int
	t          *rapid.T
	world      *sim.World
	node       *sim.Node
	session    *sessionPlayer
	host       *hostPlayer
	sessionRef actor.Ref
	hostRef    actor.Ref
	ref        actor.Ref
	view       atomic.Pointer[election.Snapshot]

	status    election.Status
	standing  uint64 // as the election sees it
	coolUntil actor.Instant
	running   *term.Term // from StartTask to TaskExited, as the election sees it
	stopAsked bool
	finishes  bool // a policy may stop the election
	stepsDown bool // somebody asked for it, or a policy or a refusal may have
	stopped   int  // callers of Stop that were answered
	callers   []*caller
	taken     map[*caller]bool // those whose request the election has received
	stoppers  map[*caller]bool // those of them that asked for Stop
	d0        map[*term.Term]actor.Instant
	invalid   map[*term.Term]bool
	elected   map[uint64]int
	revoked   map[uint64]int
	ended     bool
}

func newMonitor(t *rapid.T, reached map[string]int) *monitor {
	m := &monitor{
		t: t, reached: reached, world: sim.NewWorld(sim.Random(1)), taken: make(map[*caller]bool), stoppers: make(map[*caller]bool),
		session: &sessionPlayer{t: t, ends: make(map[*term.Term]term.Reason)},
		d0:      make(map[*term.Term]actor.Instant), invalid: make(map[*term.Term]bool),
		elected: make(map[uint64]int), revoked: make(map[uint64]int),
	}
	m.world.OnReport = func(_ actor.Ref, err error) {
		// Players draw within actors, so what rapid panics with to end a run ends up here.
		if p := (*actor.PanicError)(nil); errors.As(err, &p) {
			t.Logf("%v\n%s", err, p.Stack)
			panic(p.Value)
		}
		t.Fatalf("reported: %v", err)
	}
	m.node = m.world.NewNode("n", time.Hour, 1)
	m.session.clock = m.node
	network := inOrder(t, m.world.Now, rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond}).Draw(t, "slowest"))
	m.world.Network = func(arrivals []time.Duration, from, to *sim.Node, _ actor.Message) []time.Duration {
		return append(arrivals, network(from, to)...)
	}

	policies := rapid.SampledFrom([]election.Policy{election.Hold, election.Restart, election.Yield, election.Finish})
	c := election.Config{
		Name: name, Params: params, Sink: m.sink, View: &m.view,
		Works:       rapid.IntRange(0, 3).Draw(t, "works") > 0,
		AfterReturn: policies.Draw(t, "after return"), AfterFailure: policies.Draw(t, "after failure"),
	}
	c.Listens = !c.Works || rapid.Bool().Draw(t, "listens")
	m.finishes = c.Works && (c.AfterReturn == election.Finish || c.AfterFailure == election.Finish)
	m.stepsDown = c.Works && (c.AfterReturn == election.Yield || c.AfterFailure == election.Yield)
	m.host = &hostPlayer{t: t, listens: c.Listens, refused: make(map[*term.Term]bool), heard: make(map[*term.Term]int)}
	m.sessionRef = m.world.NewNode("session", 0, 1).Spawn("session", m.session)
	m.hostRef = m.world.NewNode("host", 0, 1).Spawn("host", m.host)
	c.Session, c.Host = m.sessionRef, m.hostRef
	s := &spy{Behavior: election.New(c), received: m.received, handled: m.handled, sends: m.sends}
	if rapid.Bool().Draw(t, "hasty") {
		s.early = func(d time.Duration) time.Duration { return max(min(1, d), d*9/10) }
	}
	m.ref = m.node.Spawn("election", s)
	m.session.election, m.host.election = m.ref, m.ref
	m.ref.Tell(election.Start{})
	m.world.RunFor(0)
	return m
}

func (m *monitor) ask(msg actor.Message) {
	c := &caller{}
	m.callers = append(m.callers, c)
	m.ref.Tell(actor.NewRequest(msg, c))
}

// help makes the players do something, for a while.
func (m *monitor) help(bySession, byHost func()) {
	for range 10 {
		m.sessionRef.Tell(do(bySession))
		m.hostRef.Tell(do(byHost))
		m.world.RunFor(200 * time.Millisecond)
	}
}

func (m *monitor) sink(e observe.Event) {
	switch e := e.(type) {
	case observe.Elected:
		m.elected[e.Token]++
	case observe.Revoked:
		m.revoked[e.Token]++
	case observe.CallbackRefused:
		m.stepsDown = true
		m.reached["OnElected refused"]++
	case observe.HandoverTimedOut:
		m.reached["handover timed out"]++
	case observe.TaskOverrunning:
		m.reached["task outlives its term"]++
	}
}

// received is called before the election handles a message.
func (m *monitor) received(ctx actor.Context, msg actor.Message) {
	if t := m.view.Load().Term; t != nil && m.status == election.Leader {
		// If a handover begins in this step, this is D0.
		m.d0[t] = ctx.Now().Add(m.session.deadline.Remaining())
	}
	switch msg := msg.(type) {
	case election.TaskExited:
		m.running = nil
	case actor.Stopping:
		m.ended = true
	case session.Ended:
		if m.status == election.SteppingDown {
			m.reached["loss during a handover"]++
		}
		if m.host.elected != nil && m.host.elected.Term == msg.Term {
			m.reached["loss before OnElected has run"]++
		}
	case *actor.Request:
		m.taken[msg.ReplyTo().(*caller)] = true
		switch ask := msg.Message.(type) {
		case election.Stop:
			if m.status == election.SteppingDown && !m.stopAsked {
				m.reached["Stop joins a step-down"]++
			}
			m.stopAsked = true
			m.stoppers[msg.ReplyTo().(*caller)] = true
		case election.StepDown:
			if m.status == election.Candidate && ctx.Now() < m.coolUntil {
				m.reached["step-down during a cooldown"]++
			}
			if m.status != election.Stopped {
				m.stepsDown = true
				m.coolUntil = max(m.coolUntil, ctx.Now().Add(ask.Cooldown))
			}
		}
	}
}

// sends is called when the election sends a message, before it is on its way.
func (m *monitor) sends(ctx actor.Context, to actor.Ref, msg actor.Message) {
	switch msg := msg.(type) {
	case session.Contend:
		switch {
		case m.stopAsked:
			m.t.Fatal("invariant 17: an attempt after Stop")
		case ctx.Now() < m.coolUntil:
			m.t.Fatalf("invariant 17: an attempt %v before the cooldown ends", m.coolUntil.Sub(ctx.Now()))
		case m.running != nil:
			m.t.Fatal("R31: an attempt while a task runs")
		case m.standing != 0:
			m.t.Fatal("a second candidacy")
		}
		m.standing = msg.Candidacy
	case session.Withdraw:
		m.standing = 0
	case session.Leave:
		if m.running != nil {
			m.t.Fatal("R31: the name is given back while a task runs")
		}
	case session.Release:
		m.released(ctx, msg.Term)
	case election.StartTask:
		if m.running != nil {
			m.t.Fatal("invariant 15: two tasks at once")
		}
		if !msg.Term.Valid() {
			m.t.Fatal("a task starts in a term that is not valid")
		}
		m.running = msg.Term
	case election.RunElected, election.RunRevoked:
		if m.stopped > 0 {
			m.t.Fatal("R39: a callback after Stop's wait has ended")
		}
	case session.Done:
		m.answered(to.(*caller))
	}
}

// released checks invariants 7 and 14.
func (m *monitor) released(ctx actor.Context, t *term.Term) {
	switch {
	case t.Reason() == term.None:
		m.t.Fatal("invariant 7: a release before the term has ended")
	case m.running == t && ctx.Now() < m.d0[t]:
		m.t.Fatalf("invariant 14: a release while the task runs, %v before D0", m.d0[t].Sub(ctx.Now()))
	}
}

// answered is called when a caller is about to be answered.
func (m *monitor) answered(c *caller) {
	if !m.stoppers[c] {
		return
	}
	m.stopped++
	if m.host.elected != nil || m.host.revoked != nil || m.host.open != nil {
		m.t.Fatal("R39: Stop is answered before the last callback has run")
	}
}

// handled is called when the election has handled a message.
func (m *monitor) handled(_ actor.Context, msg actor.Message) {
	s := m.view.Load()
	if msg, ok := msg.(session.Won); ok {
		t := msg.Terms[0]
		current := msg.Candidacy == m.standing && m.standing != 0
		switch {
		case current:
			m.standing = 0
		case s.Term == t || t.Reason() == term.None:
			m.t.Fatal("invariant 11: a term of an abandoned candidacy")
		}
		if !current {
			m.reached["win of an abandoned candidacy"]++
		}
		if current && s.Term != t {
			m.t.Fatal("a win is lost")
		}
	}
	if !reachable(m.status, s.Status) {
		m.t.Fatalf("invariant 21: from %v to %v", m.status, s.Status)
	}
	m.status = s.Status
	if holds := s.Status == election.Leader || s.Status == election.SteppingDown; holds != (s.Term != nil) {
		m.t.Fatalf("%v with the term %v", s.Status, s.Term)
	}
	m.check()
}

// reachable reports whether events of the table lead from one state to another.
func reachable(from, to election.Status) bool {
	reached := map[election.Status]bool{from: true}
	for range election.Table.States() {
		for _, s := range election.Table.States() {
			for _, e := range election.Table.Events() {
				if next, err := election.Table.Next(s, e); err == nil && reached[s] {
					reached[next] = true
				}
			}
		}
	}
	return reached[to]
}

// check is called at any time.
func (m *monitor) check() {
	now := m.node.Now()
	for _, t := range m.session.all {
		if t.Valid() && m.invalid[t] {
			m.t.Fatal("invariant 4: a term became valid again")
		}
		m.invalid[t] = !t.Valid()
		m.checkEnd(t)
	}
	if s := m.view.Load(); s.Status == election.SteppingDown {
		if d0 := m.d0[s.Term]; now >= d0 && s.Term.Valid() {
			m.t.Fatalf("R32: the term is valid %v after D0", now.Sub(d0))
		}
	}
}

// checkEnd checks invariants 5 and 6.
func (m *monitor) checkEnd(t *term.Term) {
	reason := t.Reason()
	if reason == term.None {
		return
	}
	var ended *term.EndedError
	if t.Remaining() != 0 || !errors.As(t.EnsureValid(0), &ended) || ended.Reason != reason {
		m.t.Fatalf("invariant 5: %v, and %v remain", reason, t.Remaining())
	}
	if bySession, ok := m.session.ends[t]; ok && bySession != reason {
		m.t.Fatalf("invariant 6: ended for %v, and then for %v", bySession, reason)
	}
	switch {
	case reason == term.Stopped && !m.stopAsked && !m.finishes && m.elected[t.Token()] > 0:
		m.t.Fatal("invariant 6: STOPPED, but nobody stopped it")
	case reason == term.SteppedDown && !m.stepsDown:
		m.t.Fatal("invariant 6: STEPPED_DOWN, but nobody stepped down")
	}
}

// heal brings everything to rest: callbacks and tasks return, and releases settle.
func (m *monitor) heal() {
	rest := func(d time.Duration) {
		for until := m.world.Now().Add(d); m.world.Now() < until; {
			m.help(func() { m.session.settle(); m.session.lose(term.DeadlinePassed) },
				func() { m.host.finishCallback(nil); m.host.exit(nil) })
		}
	}
	rest(3 * lease)
	if m.status == election.Candidate && m.standing == 0 {
		m.t.Fatal("a candidate does not stand although nothing speaks against it")
	}
	m.ask(election.Stop{})
	rest(time.Second * 5)
	m.check()
	switch {
	case m.status != election.Stopped || !m.ended:
		m.t.Fatalf("invariant 25: %v after Stop, and the actor has ended: %v", m.status, m.ended)
	case m.session.left != 1:
		m.t.Fatalf("the name was given back %d times", m.session.left)
	}
	m.checkPairs()
	for _, c := range m.callers {
		if m.taken[c] && len(c.answers) != 1 {
			m.t.Fatalf("invariant 25: a caller was answered %d times", len(c.answers))
		}
	}
}

// checkPairs checks R37, for the listener as for the events.
func (m *monitor) checkPairs() {
	for _, t := range m.session.all {
		want := m.elected[t.Token()]
		if want > 1 || m.revoked[t.Token()] != want {
			m.t.Fatalf("term %d: announced %d times and revoked %d times", t.Token(), want, m.revoked[t.Token()])
		}
		if m.host.refused[t] || !m.host.listens {
			want = 0
		}
		if m.host.heard[t] != want {
			m.t.Fatalf("R37: OnRevoked ran %d times for term %d, want %d", m.host.heard[t], t.Token(), want)
		}
	}
}
