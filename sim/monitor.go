package sim

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// Monitor watches over the invariants of a [Cluster] in true time, and fails the
// world with a [Violation] when one does not hold. It knows what no client can
// know: all terms, all clocks, and what the backend thinks. And it only looks: a
// term that it looks at is none that somebody has seen.
//
// Its files: monitor.go tells who looks at what, watch_term.go, watch_client.go,
// watch_store.go, watch_user.go and watch_tick.go look.
type Monitor struct {
	// Met counts the situations that the world was in.
	Met Counts
	// Tolerated counts the violations of the invariants in it, by number, instead of
	// failing: for worlds in which they are expected.
	Tolerated map[int]int

	cluster *Cluster
	current *process      // whose step it is, nil for none
	msg     actor.Message // that it handles
	names   map[string]*nameWatch
	order   []*nodeWatch // as they came
	store   storeWatch
	ticks   map[string]*tickWatch
	writes  map[bool]map[string]uint64 // the highest token of each name, at the resource that checks and the other
}

func newMonitor(c *Cluster) *Monitor {
	m := &Monitor{
		Tolerated: make(map[int]int),
		cluster:   c,
		names:     make(map[string]*nameWatch),
		store:     newStoreWatch(),
		ticks:     make(map[string]*tickWatch),
		writes:    map[bool]map[string]uint64{true: {}, false: {}},
	}
	c.OnSend(m.sent)
	c.OnDeliver(m.delivered)
	c.OnStep(m.look)
	c.OnTravel(func(_, _ *Node, msg actor.Message, arrivals []time.Duration) {
		if len(arrivals) == 0 {
			m.answerLost(msg)
		}
	})
	c.OnReport = func(from actor.Ref, err error) { m.violate(ReachableStates, "%s reports: %v", from, err) }
	return m
}

// Tolerate makes the monitor count violations of these invariants only.
func (m *Monitor) Tolerate(invariants ...Invariant) {
	for _, i := range invariants {
		m.Tolerated[i.Number] = 0
	}
}

func (m *Monitor) violate(i Invariant, format string, args ...any) {
	if _, ok := m.Tolerated[i.Number]; ok {
		m.Tolerated[i.Number]++
		return
	}
	m.cluster.Violate(i, format, args...)
}

// node returns what is watched of the client on a node.
func (m *Monitor) node(n *Node) *nodeWatch {
	if n.watch == nil {
		n.watch = newNodeWatch(n)
		m.order = append(m.order, n.watch)
	}
	return n.watch
}

// sent is told of each message that an actor sends to another.
func (m *Monitor) sent(from, to actor.Ref, msg actor.Message) {
	p := from.(*process)
	switch msg := msg.(type) {
	case session.Won:
		m.won(p, to, msg)
	case session.Ended:
		m.lost(p, msg)
	case session.Contend:
		m.contends(p, msg)
	case session.Withdraw, session.Leave:
		a := m.node(p.node).actor(p)
		a.contends, a.candidacy = false, 0
	case session.Done:
		m.joined(p)
		m.done(p, to)
	case *backend.RenewRequest:
		m.renewing(p, msg)
	case *backend.AcquireRequest:
		m.attempting(p, msg)
	case *backend.ReleaseRequest:
		m.node(p.node).calling(msg.ID, msg.Session)
		for _, l := range msg.Leases {
			m.releasing(p, msg.Session, l)
		}
	case *backend.CloseRequest:
		m.closing(p, msg.Session)
	case *backend.NoteRequest:
		m.noting(p, msg)
	case election.StartTask:
		m.taskStarts(p, msg.Term)
	case election.TaskExited:
		m.taskExited(p, to, msg)
	case election.CallbackRefused:
		m.Met[CallbackRefused]++
		m.node(p.node).actor(to).refused = true
	}
}

// delivered is told of each message that an actor is about to handle.
func (m *Monitor) delivered(to actor.Ref, msg actor.Message) {
	p := to.(*process)
	m.current, m.msg = p, msg
	if p.node == m.cluster.Store {
		m.requested(msg)
		return
	}
	switch msg := msg.(type) {
	case *actor.Request:
		m.asked(p, msg)
	case *backend.RenewAnswer:
		m.renewAnswer(p, msg)
	case *backend.AcquireAnswer:
		m.acquireAnswer(p, msg)
	case *backend.ReleaseAnswer:
		m.answered(m.node(p.node), msg.ID, msg.Err)
	case session.Contend:
		w := m.node(p.node)
		if w.holds(msg.Name) {
			m.Met[WinNotHeardOf]++
		}
		w.wants(msg)
	case session.Withdraw:
		m.node(p.node).wantsNot(msg.Name)
	case session.Leave:
		m.node(p.node).left(msg)
	}
}

// look is what follows each step.
func (m *Monitor) look() {
	p, msg := m.current, m.msg
	m.current, m.msg = nil, nil
	switch {
	case p == nil:
		for _, w := range m.order {
			m.lookAtNode(w)
		}
	case p.node == m.cluster.Store:
		m.lookAtStore()
	default:
		if w := p.node.watch; w != nil {
			m.lookAtNode(w)
			m.lookAtActor(w, p, msg)
		}
	}
}

// event takes the events of a client.
func (m *Monitor) event(c *Client, e observe.Event) {
	w := m.node(c.Node)
	switch e := e.(type) {
	case observe.Renewed:
		if e.Result == observe.Unknown {
			m.Met[RenewalUnknown]++
			w.givenUp = w.renewals
		}
	case observe.Attempted:
		if e.Result == observe.Unknown {
			m.Met[AttemptUnknown]++
		}
	case observe.Released:
		if e.Result == observe.Unknown {
			m.Met[ReleaseUnknown]++
		}
	case observe.SessionOpened:
		if w.opened++; w.opened > 1 {
			m.Met[SessionReopened]++
		}
	case observe.SessionShortened:
		m.Met[LeaseShortened]++
	case observe.SessionResumed:
		m.Met[SuspendedAndRecovered]++
	case observe.SessionEnded:
		w.over[e.Session] = true
	case observe.OpenFailed:
		m.Met[OpenFailed]++
	case observe.Elected:
		m.elected(w, e)
	case observe.Revoked:
		m.revoked(w, e)
	case observe.HandoverStarted:
		if t := w.term(e.Name, e.Token); t != nil {
			t.handover, t.timeUp = true, w.node.Now().Add(e.Remaining)
		}
	case observe.HandoverTimedOut:
		m.Met[HandoverCut]++
		if t := w.term(e.Name, e.Token); t != nil {
			t.untidy = true
		}
	case observe.TaskOverrunning:
		m.Met[TaskOverran]++
	case observe.CallbackFailed:
		m.Met[CallbackPanicked]++
	case observe.TaskEnded:
		m.taskEnded(e.Err)
	case observe.RunEnded:
		m.taskEnded(e.Err)
	default:
		m.scheduled(c, e)
	}
}

// What machines can come to, from each of their states.
var (
	sessionReach  = reach(session.Table)
	electionReach = reach(election.Table)
)

// reach returns which states of a machine can follow which, after any number of
// events.
func reach[S, E actor.Enum](t *actor.Table[S, E]) map[[2]S]bool {
	reached := make(map[[2]S]bool)
	for _, from := range t.States() {
		reached[[2]S{from, from}] = true
		for todo := []S{from}; len(todo) > 0; todo = todo[1:] {
			for _, e := range t.Events() {
				if to, err := t.Next(todo[0], e); err == nil && !reached[[2]S{from, to}] {
					reached[[2]S{from, to}] = true
					todo = append(todo, to)
				}
			}
		}
	}
	return reached
}

// name returns what is watched of the terms of a name.
func (m *Monitor) name(name string) *nameWatch {
	n := m.names[name]
	if n == nil {
		n = &nameWatch{}
		m.names[name] = n
	}
	return n
}

// Unused returns the leases at the backend for which no valid term stands.
func (m *Monitor) Unused() []backend.Holder {
	var unused []backend.Holder
	for _, h := range m.cluster.Model.Inspect(m.cluster.Store.Now(), nil) {
		if !m.used(h) {
			unused = append(unused, h)
		}
	}
	return unused
}

func (m *Monitor) used(h backend.Holder) bool {
	for _, t := range m.name(h.Name).terms {
		if t.token == h.Token && t.term.Session() == h.Session && t.valid() {
			return true
		}
	}
	return false
}

func termOf(t *term.Term) string {
	return fmt.Sprintf("the term of %q with token %d", t.Name(), t.Token())
}
