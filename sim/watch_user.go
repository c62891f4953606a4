package sim

import (
	"errors"
	"strconv"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// asked is told of what a user asks an election, lock or session for, when it is
// about to be heard.
func (m *Monitor) asked(p *process, r *actor.Request) {
	w := m.node(p.node)
	a := w.actor(p)
	switch msg := r.Message.(type) {
	case session.Close:
		w.closing = true
	case election.StepDown:
		if msg.Cooldown >= 0 {
			a.stepDown = true
			w.gaveUp(p, r.ReplyTo())
			a.coolUntil = max(a.coolUntil, w.node.Now().Add(msg.Cooldown))
		}
	case election.Stop, lock.Release:
		a.ending = true
		w.gaveUp(p, r.ReplyTo())
	case lock.Abandon: // which nobody waits for
		a.ending = true
	}
}

// gaveUp notes which terms somebody waits for who asks their owner to give up what it
// has: those that it knows of. One that comes later is ended without anybody having
// seen it.
func (w *nodeWatch) gaveUp(owner *process, caller actor.Ref) {
	a := w.actor(owner)
	for _, t := range w.terms {
		if t.owner == owner && t.taken {
			if a.givesUp == nil {
				a.givesUp = make(map[actor.Ref][]*watched)
			}
			a.givesUp[caller] = append(a.givesUp[caller], t)
		}
	}
}

// done: when a caller hears that a term has been given up, its lease is free. A term
// that was lost was not given up, and the lease of a session that has ended here lasts
// until it expires.
func (m *Monitor) done(owner *process, caller actor.Ref) {
	w := m.node(owner.node)
	a := w.actors[owner]
	if a == nil {
		return
	}
	for _, t := range a.givesUp[caller] {
		lost := t.reason != term.None && !t.reason.Voluntary()
		if !lost && !w.over[t.term.Session()] && m.leased(t) {
			m.violate(FreeWhenDone, "%s says that it is done, and the backend still has the lease of %s, on %s", owner, termOf(t.term), w.node)
		}
	}
	delete(a.givesUp, caller)
}

// joined notes the names of an owner whose request to join them has been granted.
func (m *Monitor) joined(p *process) {
	if r, ok := m.msg.(*actor.Request); ok {
		if j, ok := r.Message.(session.Join); ok {
			m.node(p.node).joined[j.Names[0]] = j
		}
	}
}

// contends: an election contends neither after Stop nor during a cooldown.
func (m *Monitor) contends(p *process, msg session.Contend) {
	w := m.node(p.node)
	a := w.actor(p)
	a.contends, a.candidacy = true, msg.Candidacy
	now := w.node.Now()
	switch {
	case a.ending:
		m.violate(NoAttemptUnasked, "%q is contended for after it was stopped, on %s", msg.Name, w.node)
	case now.Before(a.coolUntil):
		m.violate(NoAttemptUnasked, "%q is contended for, and its cooldown lasts for another %v, on %s", msg.Name, a.coolUntil.Sub(now), w.node)
	}
}

// elected: whoever was told to stop or to step down does not take a win any more.
func (m *Monitor) elected(w *nodeWatch, e observe.Elected) {
	if t := w.term(e.Name, e.Token); t != nil {
		t.taken, t.elected = true, m.cluster.now
	}
	a := w.actors[m.current]
	if a == nil {
		return
	}
	if a.ending || w.node.Now().Before(a.coolUntil) {
		m.violate(NoStaleWin, "%q is won with token %d by %s, which was told to stop or to step down", e.Name, e.Token, m.current)
	}
	if won, ok := m.msg.(session.Won); ok && won.Candidacy != a.candidacy {
		m.violate(NoStaleWin, "%q is won with token %d by %s for candidacy %d, and its last word was %d", e.Name, e.Token, m.current, won.Candidacy, a.candidacy)
	}
}

// taskExited is told that a task has returned.
func (m *Monitor) taskExited(from *process, to actor.Ref, msg election.TaskExited) {
	w := m.node(from.node)
	if t := w.find(msg.Term); t != nil {
		t.running = false
		if to == t.owner { // and not a schedule, one of whose runs has returned
			t.left = true
			w.actor(t.owner).exited = true
		}
	}
}

// errTaskPanicked is what a task panics with.
var errTaskPanicked = errors.New("sim: the task panicked")

func (m *Monitor) taskEnded(err error) {
	switch {
	case errors.Is(err, errTaskPanicked):
		m.Met[TaskPanicked]++
	case err != nil:
		m.Met[TaskFailed]++
	}
}

// wrote is told what a resource did with a write: one that checks tokens never
// accepts a smaller one after a larger one.
func (m *Monitor) wrote(w Write, checks, accepted bool) {
	if checks {
		state := "refused"
		if accepted {
			state = "accepted"
		}
		m.cluster.entry(Entry{Node: "resource", Kind: KindWrite, Name: w.Name, Token: w.Token, State: state, Text: "a write under token " + strconv.FormatUint(w.Token, 10) + " is " + state})
	}
	highest := m.writes[checks]
	stale := w.Token < highest[w.Name]
	switch {
	case checks && stale && accepted:
		m.violate(ResourceSafe, "the resource accepts token %d for %q after token %d", w.Token, w.Name, highest[w.Name])
	case checks && stale:
		m.Met[StaleRefused]++
	case stale:
		m.Met[StaleAccepted]++
	}
	highest[w.Name] = max(highest[w.Name], w.Token)
}
