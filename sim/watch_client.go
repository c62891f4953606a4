package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// nodeWatch is what is watched of the client that runs on a node.
type nodeWatch struct {
	node   *Node
	client *Client // nil for actors of a test
	terms  []*watched
	named  map[string][]*watched // the same, by name

	// The session.
	session   string
	deadline  actor.Instant // as last seen; of a session that has ended, the last one
	state     session.State
	opened    int
	over      map[string]bool          // sessions that were given up here
	expired   map[string]bool          // of which the backend has said that they had expired
	told      map[string]bool          // in an answer that is always heard
	deadlines map[string]actor.Instant // the last one of each session
	renewing  flight
	renewals  uint64 // sent
	answered  uint64 // the number of the one whose answer is handled
	givenUp   uint64 // the number of the last that failed or was given up, by its own word

	// Names.
	calls    map[uint64]attempt      // acquisitions that were sent
	attempts map[string]flight       // by name, the last one
	joined   map[string]session.Join // by the first of the names
	wanted   map[string]uint64       // name to candidacy
	released map[string]uint64       // the highest token that was given back
	actors   map[actor.Ref]*actorWatch
	sent     [recent]sentCall // by their numbers, modulo recent
	closing  bool             // Close was asked for
}

// flight is a call that is under way until it is answered or, after so much time
// awake of its node, given up.
type flight struct {
	id, number uint64
	session    string
	until      actor.Instant
}

// rounding is what sleeps may make of a timer.
const rounding = time.Microsecond

type attempt struct {
	flight
	answered    bool
	names       []string
	candidacies []uint64 // for which it was made, of each name
}

// candidacy is that for which a name was attempted, 0 for none.
func (a *attempt) candidacy(name string) uint64 {
	if i := slices.Index(a.names, name); i >= 0 {
		return a.candidacies[i]
	}
	return 0
}

// actorWatch is what is watched of an election, a lock or a schedule.
type actorWatch struct {
	election  *Election // nil for the others
	schedule  bool
	lock, won bool
	stepDown  bool                     // was asked for
	ending    bool                     // was asked for
	exited    bool                     // a task has, so that a policy may have followed
	refused   bool                     // a callback was, so that a step-down has followed
	contends  bool                     // as far as it has told its session
	candidacy uint64                   // the last that it has told its session of, 0 if it was withdrawn
	coolUntil actor.Instant            // by its node's clock
	givesUp   map[actor.Ref][]*watched // the terms to whose end a caller of Stop, StepDown or Release waits
	status    election.Status
}

func newNodeWatch(n *Node) *nodeWatch {
	w := &nodeWatch{node: n}
	w.restart(nil)
	return w
}

// restart is for a new process on the node, or none. What the old one had has died
// with it.
func (w *nodeWatch) restart(c *Client) {
	for _, t := range w.terms {
		t.running, t.gone = false, true
	}
	*w = nodeWatch{
		node: w.node, client: c, named: make(map[string][]*watched),
		over: make(map[string]bool), expired: make(map[string]bool), told: make(map[string]bool), deadlines: make(map[string]actor.Instant),
		calls: make(map[uint64]attempt), attempts: make(map[string]flight), joined: make(map[string]session.Join),
		wanted: make(map[string]uint64), released: make(map[string]uint64), actors: make(map[actor.Ref]*actorWatch),
	}
}

func (w *nodeWatch) actor(ref actor.Ref) *actorWatch {
	a := w.actors[ref]
	if a == nil {
		a = &actorWatch{}
		w.actors[ref] = a
	}
	return a
}

func (w *nodeWatch) term(name string, token uint64) *watched {
	for _, t := range w.named[name] {
		if t.token == token {
			return t
		}
	}
	return nil
}

// holds reports whether the session has a term of the name.
func (w *nodeWatch) holds(name string) bool {
	return slices.ContainsFunc(w.named[name], func(t *watched) bool { return t.term.Reason() == term.None })
}

func (w *nodeWatch) find(term *term.Term) *watched {
	for _, t := range w.named[term.Name()] {
		if t.term == term {
			return t
		}
	}
	return nil
}

// renewing: at most one renewal of a session is under way.
func (m *Monitor) renewing(from *process, msg *backend.RenewRequest) {
	w := m.node(from.node)
	m.alive(w, msg.Session, "renews")
	now := w.node.awake()
	if r := w.renewing; r.session == msg.Session && now.Before(r.until) {
		m.violate(OneInFlight, "session %s renews while its renewal #%d is under way, on %s", short(msg.Session), r.id, w.node)
	}
	w.renewals++
	w.calling(msg.ID, msg.Session)
	w.renewing = flight{id: msg.ID, number: w.renewals, session: msg.Session, until: now.Add(msg.Timeout - rounding)}
}

// alive: a session that has ended is never used again.
func (m *Monitor) alive(w *nodeWatch, id, what string) {
	if w.over[id] || w.told[id] {
		m.violate(ExpiredIsFinal, "session %s has ended, and %s, on %s", short(id), what, w.node)
	}
}

func (m *Monitor) renewAnswer(to *process, msg *backend.RenewAnswer) {
	w := m.node(to.node)
	w.answered = 0
	if r := w.renewing; r.id == msg.ID {
		if w.renewing = (flight{}); w.givenUp != r.number && w.node.arrival() <= r.until { // or it is not heard
			w.answered = r.number
		}
	}
	id := w.sessionOf(msg.ID)
	if msg.Err == nil && id != "" && !w.node.Now().Before(w.deadlines[id]) {
		m.Met[AnswerAfterDeadline]++
	}
	if m.answered(w, msg.ID, msg.Err); id != "" && errors.Is(msg.Err, backend.ErrExpired) {
		w.told[id] = true
	}
}

// answered notes what the answer to a call says of the call's session.
func (m *Monitor) answered(w *nodeWatch, call uint64, err error) {
	if id := w.sessionOf(call); id != "" && errors.Is(err, backend.ErrExpired) {
		w.expired[id] = true
	}
}

// sentCall is a call to the backend, and its session.
type sentCall struct {
	id      uint64
	session string
}

func (w *nodeWatch) calling(id uint64, session string) { w.sent[id%recent] = sentCall{id, session} }

// sessionOf returns the session of a call, empty if it is long past.
func (w *nodeWatch) sessionOf(call uint64) string {
	if c := w.sent[call%recent]; c.id == call {
		return c.session
	}
	return ""
}

// recent is how many calls are remembered.
const recent = 256

// attempting: names are attempted only while their owner wants them, and one
// attempt for a name is under way.
func (m *Monitor) attempting(from *process, msg *backend.AcquireRequest) {
	w := m.node(from.node)
	m.alive(w, msg.Session, "acquires")
	now := w.node.awake()
	a := attempt{
		flight: flight{id: msg.ID, session: msg.Session, until: now.Add(msg.Timeout - rounding)},
		names:  msg.Names, candidacies: make([]uint64, len(msg.Names)),
	}
	for i, name := range msg.Names {
		candidacy, wanted := w.wanted[name]
		if !wanted {
			m.violate(NoAttemptUnasked, "%q is attempted, and nobody wants it, on %s", name, w.node)
		}
		if f := w.attempts[name]; f.session == msg.Session && now.Before(f.until) {
			m.violate(OneInFlight, "%q is attempted while attempt #%d is under way, on %s", name, f.id, w.node)
		}
		a.candidacies[i] = candidacy
		w.attempts[name] = a.flight
	}
	if len(w.calls) == recent {
		clear(w.calls) // whose answers come so late are not waited for any more
	}
	w.calls[msg.ID] = a
	w.calling(msg.ID, msg.Session)
}

func (m *Monitor) acquireAnswer(to *process, msg *backend.AcquireAnswer) {
	w := m.node(to.node)
	a, known := w.calls[msg.ID]
	for _, name := range a.names {
		if w.attempts[name].id == msg.ID {
			delete(w.attempts, name)
		}
	}
	for _, o := range msg.Outcomes {
		if _, wanted := w.wanted[o.Name]; o.Won && !wanted {
			m.Met[WinAfterStop]++
		}
	}
	m.answered(w, msg.ID, msg.Err)
	remembered := w.node.awake().Before(a.until.Add(2*m.cluster.Params.Lease - rounding))
	if known && !a.answered && remembered && errors.Is(msg.Err, backend.ErrExpired) {
		w.told[a.session] = true
	}
	if a.answered = true; known {
		w.calls[msg.ID] = a
	}
}

// winIsCurrent: a win answers the current attempt, in time, with a token that was
// not given back.
func (m *Monitor) winIsCurrent(w *nodeWatch, msg session.Won) {
	first := msg.Terms[0]
	answer, ok := m.msg.(*backend.AcquireAnswer)
	if !ok || w.client == nil {
		if w.client != nil {
			m.violate(NoStaleWin, "%s begins, and no attempt was answered, on %s", termOf(first), w.node)
		}
		return
	}
	call := w.calls[answer.ID]
	switch {
	case call.session != first.Session() || w.over[call.session]:
		m.violate(NoStaleWin, "%s comes from an attempt of session %s, on %s", termOf(first), short(call.session), w.node)
	case !w.node.Now().Before(w.deadline):
		m.violate(NoStaleWin, "%s comes from an answer past the deadline, on %s", termOf(first), w.node)
	case w.node.arrival() > call.until.Add(2*rounding): // at the very instant, either may come first
		m.violate(NoStaleWin, "%s comes from attempt #%d, which was given up, on %s", termOf(first), answer.ID, w.node)
	}
	for _, t := range msg.Terms {
		if wanted, ok := w.wanted[t.Name()]; !ok || call.candidacy(t.Name()) != wanted || msg.Candidacy != wanted {
			m.violate(NoStaleWin, "%s comes from an attempt that was abandoned, on %s", termOf(t), w.node)
		}
		if t.Token() <= w.released[t.Name()] {
			m.violate(NoStaleWin, "%s has a token that was given back, on %s", termOf(t), w.node)
		}
	}
}

// wants is an owner that contends.
func (w *nodeWatch) wants(msg session.Contend) {
	for _, name := range w.joined[msg.Name].Names {
		w.wanted[name] = msg.Candidacy
	}
}

func (w *nodeWatch) wantsNot(first string) {
	for _, name := range w.joined[first].Names {
		delete(w.wanted, name)
	}
}

// left: whoever has the name next makes attempts of its own.
func (w *nodeWatch) left(msg session.Leave) {
	j, ok := w.joined[msg.Name]
	if !ok || j.Owner != msg.Owner {
		return
	}
	w.wantsNot(msg.Name)
	for _, name := range j.Names {
		delete(w.attempts, name)
	}
	delete(w.joined, msg.Name)
}

// lookAtNode looks at a client after a step of it, or of nobody.
func (m *Monitor) lookAtNode(w *nodeWatch) {
	if w.client != nil {
		if v := w.client.View(); v != nil {
			m.lookAtDeadline(w, v)
			if v.State != w.state {
				if !sessionReach[[2]session.State{w.state, v.State}] {
					m.violate(ReachableStates, "a session goes from %v to %v, on %s", w.state, v.State, w.node)
				}
				w.state = v.State
			}
		}
	}
	m.lookAtTerms(w)
}

// lookAtActor looks at one actor of a client after its step.
func (m *Monitor) lookAtActor(w *nodeWatch, p *process, msg actor.Message) {
	switch msg := msg.(type) {
	case *backend.RenewAnswer:
		m.expiryHeeded(w)
		m.listHeeded(w, msg)
	case *backend.AcquireAnswer:
		m.expiryHeeded(w)
	case *actor.Request:
		if a := w.actor(p); a.contends && (a.ending || w.node.Now().Before(a.coolUntil)) {
			m.violate(NoAttemptUnasked, "%s was asked to stop or to step down, and contends all the same", p)
		}
	}
	if a := w.actors[p]; a != nil && a.election != nil {
		m.lookAtElection(w, a)
	}
}

// expiryHeeded: that a session has expired ends its terms in the step that hears of
// it.
func (m *Monitor) expiryHeeded(w *nodeWatch) {
	for _, t := range w.terms {
		if w.told[t.term.Session()] && t.valid() {
			m.violate(ExpiredIsFinal, "%s is valid, and the backend has said that its session has expired, on %s", termOf(t.term), w.node)
		}
	}
}

// listHeeded: a lease that a renewal does not list any more ends its term in the step
// that hears of it.
func (m *Monitor) listHeeded(w *nodeWatch, a *backend.RenewAnswer) {
	for _, t := range w.terms {
		if t.forsaken && w.answered > max(t.renewals, t.lost) && a.Err == nil && a.Renewal.Complete && !listed(a.Renewal.Leases, t) && t.valid() {
			m.violate(DeadlineFirst, "%s is valid, and a renewal has said that its lease is gone, on %s", termOf(t.term), w.node)
		}
	}
}

// lookAtElection: its states follow its table.
func (m *Monitor) lookAtElection(w *nodeWatch, a *actorWatch) {
	status := a.election.Status()
	if status == a.status {
		return
	}
	if !electionReach[[2]election.Status{a.status, status}] {
		m.violate(ReachableStates, "the election of %q goes from %v to %v, on %s", a.election.name, a.status, status, w.node)
	}
	a.status = status
}

// lookAtDeadline: no answer moves a deadline that has passed, and the deadline
// comes before the expiry.
func (m *Monitor) lookAtDeadline(w *nodeWatch, v *session.Snapshot) {
	if v.Session != w.session {
		w.session, w.deadline = v.Session, actor.MaxInstant
		if v.Session == "" {
			return
		}
	}
	if v.Deadline == nil {
		return
	}
	at, open := v.Deadline.At()
	if !open || at == w.deadline {
		return
	}
	if now := w.node.Now(); at > now && w.deadline <= now {
		m.violate(PassedIsPassed, "the deadline of session %s had passed, and is moved, on %s", short(v.Session), w.node)
	}
	w.deadline, w.deadlines[v.Session] = at, at
	m.deadlineFirst(w)
}

// deadlineFirst: a session's local deadline comes before its expiry at the
// backend. Both instants are compared in true time, so that it does not matter
// when this looks.
func (m *Monitor) deadlineFirst(w *nodeWatch) {
	s := m.store.sessions[w.session]
	if w.session == "" || s == nil || s.lost || !w.node.Now().Before(w.deadline) {
		return
	}
	local := w.node.machine.clock.when(w.deadline)
	expires, known := m.cluster.Model.Expires(w.session)
	if !known {
		m.violate(DeadlineFirst, "session %s is valid for another %v, on %s, and the backend does not know it any more",
			short(w.session), local.Sub(m.cluster.now), w.node)
		return
	}
	if global := m.cluster.Store.machine.clock.when(expires); local > global {
		m.violate(DeadlineFirst, "the deadline of session %s, on %s, is %v after its expiry at the backend",
			short(w.session), w.node, local.Sub(global))
	}
}
