package sim

import (
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// watched is a term that is watched, also after its end: as long as its task runs,
// and until a later term of the same name.
type watched struct {
	term     *term.Term
	token    uint64 // as it was won
	node     *Node
	owner    actor.Ref
	since    actor.Instant // of true time
	renewals uint64        // of its session, sent before it was won
	until    actor.Instant // when it is over by its node's clock, as last seen
	taken    bool          // by its owner, who may also have given it back unseen
	elected  actor.Instant // of true time, when that was
	forsaken bool          // the backend broke its promise, and nobody can help that
	lost     uint64        // renewals that had been sent when it did
	running  bool          // its task
	left     bool          // its owner was told that the task has exited
	gone     bool          // with its process
	handover bool
	untidy   bool          // its schedule may have left a note of a tick that has not run
	timeUp   actor.Instant // of the handover, by its node's clock
	reason   term.Reason   // as it was reported
}

// valid reports whether the term is valid now for a process that lives, and only
// looks.
func (t *watched) valid() bool { return !t.gone && t.node.Now().Before(term.Until(t.term)) }

// nameWatch is what is watched of the terms of one name.
type nameWatch struct {
	terms []*watched
	token uint64 // the last one
}

// won: a win becomes a term.
func (m *Monitor) won(from *process, owner actor.Ref, msg session.Won) {
	w := m.node(from.node)
	m.winIsCurrent(w, msg)
	if o := w.actor(owner); o.lock {
		if o.won {
			m.violate(LockOnce, "a lock of %q wins again, on %s", msg.Terms[0].Name(), from.node)
		}
		o.won = true
		m.Met[LockAcquired]++
	}
	for _, t := range msg.Terms {
		m.begun(w, owner, t)
		delete(w.wanted, t.Name())
	}
}

func (m *Monitor) begun(w *nodeWatch, owner actor.Ref, t *term.Term) {
	m.Met[TermBegun]++
	w.actor(owner).contends = false
	n := m.name(t.Name())
	next := &watched{term: t, token: t.Token(), node: w.node, owner: owner, since: m.cluster.now, renewals: w.renewals, until: term.Until(t)}
	next.forsaken = m.store.lost(t.Session()) || m.store.removed[backend.Lease{Name: t.Name(), Token: t.Token()}]
	if t.Token() <= n.token && !next.forsaken { // one that the backend has forgotten may come late
		m.violate(TokensGrow, "the token of %q goes from %d to %d", t.Name(), n.token, t.Token())
	}
	n.token = max(n.token, t.Token())
	for _, old := range n.terms {
		if old.running && old.node != w.node {
			m.Met[TakeoverWhileTaskRuns]++
		}
	}
	n.terms = slices.DeleteFunc(n.terms, func(t *watched) bool {
		return !t.running && !t.valid() && (t.gone || t.reason != term.None)
	})
	n.terms = append(n.terms, next)
	m.forget(w, t.Name())
	if w := m.ticks[t.Name()]; w != nil {
		w.excuses[t.Token()] = true // until it ends well
	}
	w.terms = append(w.terms, next)
	w.named[t.Name()] = append(w.named[t.Name()], next)
	m.alone(n, next)
}

// forget drops the terms of a name that are over. There may be many of other names.
func (m *Monitor) forget(w *nodeWatch, name string) {
	over := func(t *watched) bool { return t.reason != term.None && !t.running }
	dropped := false
	for _, t := range w.named[name] {
		if over(t) {
			m.unchanged(t)
			dropped = true
		}
	}
	if dropped {
		w.terms = slices.DeleteFunc(w.terms, func(t *watched) bool { return t.term.Name() == name && over(t) })
		w.named[name] = slices.DeleteFunc(w.named[name], over)
	}
}

// unchanged: what a term has said of itself stays true, also after the next one of
// the same name has begun.
func (m *Monitor) unchanged(t *watched) {
	if t.term.Token() != t.token {
		m.violate(TokensGrow, "%s was won with token %d, on %s", termOf(t.term), t.token, t.node)
	}
	if t.term.Reason() != t.reason {
		m.violate(OneReason, "%s has ended with %v, and says %v now, on %s", termOf(t.term), t.reason, t.term.Reason(), t.node)
	}
}

// alone: at one instant of true time, at most one term of a name is valid.
func (m *Monitor) alone(n *nameWatch, t *watched) {
	if !t.valid() || t.forsaken {
		return
	}
	for _, other := range n.terms {
		if other != t && !other.forsaken && other.valid() {
			m.violate(OneValidTerm, "%q has two valid terms: on %s with token %d and on %s with token %d",
				t.term.Name(), other.node, other.token, t.node, t.token)
		}
	}
}

// lookAtTerms looks at the terms of a node after its step: nobody else changes them.
func (m *Monitor) lookAtTerms(w *nodeWatch) {
	if m.tooMany(w) {
		return
	}
	now := w.node.Now()
	for _, t := range w.terms {
		until := term.Until(t.term)
		if left := until.Sub(now); left > 0 && t.term.Remaining() != left { // which latches nothing while it is valid
			m.violate(EndedIsOver, "%s has %v left, and says %v, on %s", termOf(t.term), left, t.term.Remaining(), w.node)
		}
		if until == t.until {
			continue
		}
		if until > now && t.until <= now {
			m.violate(NeverValidAgain, "%s is valid again, on %s", termOf(t.term), w.node)
		}
		grown := until > t.until
		if t.until = until; grown {
			m.alone(m.name(t.term.Name()), t)
		}
	}
}

// Look looks at all terms, like a user who asks whether they are valid. That is why
// the monitor does not do it by itself: whoever has seen a term invalid has changed
// what may happen.
func (m *Monitor) Look() {
	for _, w := range m.order {
		for _, t := range w.terms {
			valid := t.valid() // before the term latches that it is not
			if !t.gone && t.term.Valid() != valid {
				m.violate(EndedIsOver, "%s should be valid until %v by the clock, and says that it is valid at %v: %v",
					termOf(t.term), time.Duration(term.Until(t.term)), time.Duration(w.node.Now()), t.term.Valid())
			}
			if !t.gone && !t.term.Valid() && t.term.EnsureValid(-1) == nil {
				m.violate(EndedIsOver, "%s is not valid, and EnsureValid does not fail", termOf(t.term))
			}
		}
	}
}

// many is the number of terms of a node above which they are not looked at one by
// one in each step. Their session still is.
const many = 64

func (m *Monitor) tooMany(w *nodeWatch) bool { return len(w.terms) > many }

// lost: a session ends a term against its owner's will.
func (m *Monitor) lost(from *process, msg session.Ended) {
	w := m.node(from.node)
	t := w.find(msg.Term)
	if t != nil && t.valid() {
		m.violate(EndedIsOver, "the session has ended %s, and it is valid, on %s", termOf(t.term), w.node)
	}
	if t == nil || msg.Reason != term.TakenOver {
		return
	}
	a, ok := m.msg.(*backend.RenewAnswer)
	switch {
	case !ok || !a.Renewal.Complete || listed(a.Renewal.Leases, t):
		m.violate(OneReason, "%s ends with TAKEN_OVER, and no renewal said so, on %s", termOf(t.term), w.node)
	case t.renewals >= w.answered:
		m.violate(RenewalJudgesBefore, "renewal #%d ends %s, which was won after it had been sent, on %s", a.ID, termOf(t.term), w.node)
	}
}

func listed(leases []backend.Lease, t *watched) bool {
	return slices.Contains(leases, backend.Lease{Name: t.term.Name(), Token: t.token})
}

// revoked: an owner says that its term has ended.
func (m *Monitor) revoked(w *nodeWatch, e observe.Revoked) {
	t := w.term(e.Name, e.Token)
	if t == nil {
		m.violate(OneReason, "a term of %q with token %d ends, which %s never had", e.Name, e.Token, w.node)
		return
	}
	if t.reason != term.None || e.Reason == term.None || t.term.Reason() != e.Reason {
		m.violate(OneReason, "%s ends with %v, after %v, and says %v, on %s", termOf(t.term), e.Reason, t.reason, t.term.Reason(), w.node)
	}
	t.reason = e.Reason
	if !m.caused(w, t, e.Reason) {
		m.violate(OneReason, "%s ends with %v, which did not happen, on %s", termOf(t.term), e.Reason, w.node)
	}
	if t.term.Remaining() != 0 || t.term.EnsureValid(-1) == nil {
		m.violate(EndedIsOver, "%s has ended, and has %v left, on %s", termOf(t.term), t.term.Remaining(), w.node)
	}
	m.unchanged(t)
	m.tidied(t)
	if t.handover && !e.Reason.Voluntary() {
		m.Met[StepDownMeetsExpiry]++
	}
	m.Met[endings[e.Reason]]++
}

var endings = map[term.Reason]Situation{
	term.Stopped: Stopped, term.SteppedDown: SteppedDown, term.DeadlinePassed: DeadlinePassed,
	term.SessionExpired: ExpiredByBackend, term.TakenOver: TakenOver,
}

// caused reports whether what the reason says has happened.
func (m *Monitor) caused(w *nodeWatch, t *watched, r term.Reason) bool {
	o := w.actor(t.owner)
	switch r {
	case term.Stopped:
		return o.ending || o.exited || w.closing
	case term.SteppedDown:
		return o.stepDown || o.exited || o.refused
	case term.SessionExpired:
		return w.expired[t.term.Session()]
	case term.DeadlinePassed:
		return !w.node.Now().Before(w.deadlines[t.term.Session()])
	}
	return r == term.TakenOver // see lost
}

// releasing: a term has ended before its lease is released. In a handover its task
// has exited before that, or its time is up.
func (m *Monitor) releasing(from *process, id string, l backend.Lease) {
	w := m.node(from.node)
	w.released[l.Name] = max(w.released[l.Name], l.Token)
	t := w.term(l.Name, l.Token)
	if t == nil || t.term.Session() != id {
		return
	}
	if t.term.Reason() == term.None {
		m.violate(EndBeforeRelease, "%s has not ended, and its lease is released, on %s", termOf(t.term), w.node)
	}
	if left := t.timeUp.Sub(w.node.Now()); t.handover && t.running && left > 0 && (t.reason == term.None || t.reason.Voluntary()) {
		m.violate(HandoverInOrder, "the lease of %q with token %d is released, and its task may run for another %v, on %s", l.Name, l.Token, left, w.node)
	}
}

// closing is the release of all leases of a session.
func (m *Monitor) closing(from *process, id string) {
	for _, t := range m.node(from.node).terms {
		if t.term.Session() == id {
			m.releasing(from, id, backend.Lease{Name: t.term.Name(), Token: t.token})
		}
	}
}

// taskStarts: no other task of the name runs in this process, and none elsewhere
// whose term was given up by will and that still has time.
func (m *Monitor) taskStarts(from *process, started *term.Term) {
	w := m.node(from.node)
	if !started.Valid() {
		m.violate(OneTask, "a task starts under %s, which is not valid, on %s", termOf(started), w.node)
	}
	for _, t := range m.name(started.Name()).terms {
		switch {
		case t.term == started || !t.running: // of runs under one term the host sees that they do not overlap
		case t.node == w.node:
			m.violate(OneTask, "the task starts under %s while it runs under token %d, on %s", termOf(started), t.token, w.node)
		case t.handover && t.reason.Voluntary() && t.node.Now().Before(t.timeUp) && !t.forsaken:
			m.violate(HandoverInOrder, "the task of %s starts under %s while that of %s hands token %d over", w.node, termOf(started), t.node, t.token)
		}
	}
	if t := w.find(started); t != nil {
		m.runStarts(from, t)
		t.running = true
	}
}
