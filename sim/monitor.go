package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// Monitor watches over what must always hold in a [Cluster], in true time, and
// fails the world when it does not. It knows what no client can know: all terms,
// all clocks, and what the backend thinks.
type Monitor struct {
	// Seen counts what has happened, by the events of package observe, so that a
	// test can tell whether it has reached what it is about.
	Seen map[string]int

	cluster  *Cluster
	open     map[string][]*term.Term // by name: those that were valid when last looked at
	tokens   map[string]uint64       // the last one of each name
	terms    map[leaseOf]*term.Term  // that have not been released
	renewals map[actor.Ref]renewal   // under way, by session actor
	over     map[string]bool         // sessions that their clients have given up
	running  map[*term.Term]bool     // whose tasks run
	timeUp   map[tokenOf]actor.Instant
}

// tokenOf names a term. Its handover's time is up at an instant of its machine's
// clock.
type tokenOf struct {
	name  string
	token uint64
}

type leaseOf struct {
	session string
	backend.Lease
}

type renewal struct {
	id       uint64
	session  string
	deadline actor.Instant // when it is given up, on its machine's clock
}

func newMonitor(c *Cluster) *Monitor {
	m := &Monitor{
		Seen:     make(map[string]int),
		cluster:  c,
		open:     make(map[string][]*term.Term),
		tokens:   make(map[string]uint64),
		terms:    make(map[leaseOf]*term.Term),
		renewals: make(map[actor.Ref]renewal),
		over:     make(map[string]bool),
		running:  make(map[*term.Term]bool),
		timeUp:   make(map[tokenOf]actor.Instant),
	}
	c.OnSend(m.sent)
	c.OnDeliver(m.delivered)
	c.OnStep(m.look)
	return m
}

func (m *Monitor) fail(format string, args ...any) { m.cluster.Fail(fmt.Errorf(format, args...)) }

// count takes the events of a client.
func (m *Monitor) count(from *Client, e observe.Event) {
	if h, ok := e.(observe.HandoverStarted); ok {
		m.timeUp[tokenOf{h.Name, h.Token}] = from.Now().Add(h.Remaining)
	}
	switch e := e.(type) {
	case observe.SessionEnded:
		m.over[e.Session] = true
		m.Seen["session ended: "+e.Reason.String()]++
	case observe.Revoked:
		m.Seen["revoked: "+e.Reason.String()]++
	case observe.Renewed:
		m.Seen["renewed: "+string(e.Result)]++
	case observe.Attempted:
		m.Seen["attempted: "+string(e.Result)]++
	case observe.Released:
		m.Seen["released: "+string(e.Result)]++
	default:
		m.Seen[fmt.Sprintf("%T", e)[len("observe."):]]++
	}
}

func (m *Monitor) sent(from, _ actor.Ref, msg actor.Message) {
	switch msg := msg.(type) {
	case session.Won:
		for _, t := range msg.Terms {
			m.begun(t)
		}
	case *backend.RenewRequest:
		m.renewing(from, msg)
	case *backend.AcquireRequest:
		m.alive(msg.Session, "acquires")
	case *backend.ReleaseRequest:
		for _, l := range msg.Leases {
			m.releasing(from, leaseOf{msg.Session, l})
		}
	case *backend.CloseRequest:
		for l := range m.terms {
			if l.session == msg.Session {
				m.releasing(from, l)
			}
		}
	case election.StartTask:
		m.running[msg.Term] = true
	case election.TaskExited:
		delete(m.running, msg.Term)
	}
}

// begun: the tokens of a name strictly increase over its terms, and are above
// zero.
func (m *Monitor) begun(t *term.Term) {
	if t.Token() <= m.tokens[t.Name()] {
		m.fail("the token of %q goes from %d to %d", t.Name(), m.tokens[t.Name()], t.Token())
	}
	m.tokens[t.Name()] = t.Token()
	m.open[t.Name()] = append(m.open[t.Name()], t)
	m.lookAt(t.Name())
	m.terms[leaseOf{t.Session(), backend.Lease{Name: t.Name(), Token: t.Token()}}] = t
}

// releasing: a term has ended before its lease is released. In a handover its task
// has exited before that, or its time is up.
func (m *Monitor) releasing(from actor.Ref, l leaseOf) {
	t := m.terms[l]
	if t == nil {
		return
	}
	if t.Reason() == term.None {
		m.fail("the lease of %q with token %d is released, and its term has not ended", l.Name, l.Token)
	}
	up, handover := m.timeUp[tokenOf{l.Name, l.Token}]
	if left := up.Sub(from.(*process).Now()); handover && m.running[t] && left > 0 {
		m.fail("the lease of %q with token %d is released, and its task may run for another %v", l.Name, l.Token, left)
	}
	delete(m.terms, l)
	delete(m.timeUp, tokenOf{l.Name, l.Token})
}

// alive: a session that has ended is never used again.
func (m *Monitor) alive(id, what string) {
	if m.over[id] {
		m.fail("session %s has ended, and %s", id, what)
	}
}

// renewing: at most one renewal of a session is under way.
func (m *Monitor) renewing(from actor.Ref, msg *backend.RenewRequest) {
	m.alive(msg.Session, "renews")
	now := from.(*process).Now()
	if r := m.renewals[from]; r.session == msg.Session && now < r.deadline {
		m.fail("session %s renews while its renewal #%d is under way", msg.Session, r.id)
	}
	m.renewals[from] = renewal{id: msg.ID, session: msg.Session, deadline: now.Add(msg.Timeout)}
}

func (m *Monitor) delivered(to actor.Ref, msg actor.Message) {
	if a, ok := msg.(*backend.RenewAnswer); ok && m.renewals[to].id == a.ID {
		delete(m.renewals, to)
	}
}

// many is the number of names above which not all of them are looked at in each
// step.
const many = 64

func (m *Monitor) look() {
	if len(m.open) > many && m.cluster.Steps()%1024 != 0 {
		return
	}
	for name := range m.open {
		m.lookAt(name)
	}
}

// lookAt: at one instant of true time, at most one term of a name is valid; and
// while it is, the backend keeps its lease for it, so that a session's deadline
// comes before its expiry.
func (m *Monitor) lookAt(name string) {
	valid := slices.DeleteFunc(m.open[name], func(t *term.Term) bool { return !t.Valid() })
	if m.open[name] = valid; len(valid) == 0 {
		delete(m.open, name)
		return
	}
	if len(valid) > 1 {
		m.fail("%q has two valid terms, with tokens %d and %d", name, valid[0].Token(), valid[1].Token())
	}
	t := valid[0]
	h := m.cluster.Model.Inspect(m.cluster.Store.Now(), []string{name})[0]
	if h.Session != t.Session() || h.Token != t.Token() {
		m.fail("the term of %q with token %d is valid for %v, but the backend's holder has token %d",
			name, t.Token(), t.Remaining(), h.Token)
	}
}

// Unused returns the leases at the backend for which no valid term stands.
func (m *Monitor) Unused() []backend.Holder {
	var unused []backend.Holder
	for _, h := range m.cluster.Model.Inspect(m.cluster.Store.Now(), nil) {
		t := m.terms[leaseOf{h.Session, backend.Lease{Name: h.Name, Token: h.Token}}]
		if t == nil || !t.Valid() {
			unused = append(unused, h)
		}
	}
	return unused
}

// Remaining returns for how long somebody's term of name is valid.
func (m *Monitor) Remaining(name string) time.Duration {
	for _, t := range m.open[name] {
		return t.Remaining()
	}
	return 0
}
