package sim

import (
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/schedule"
)

// tickWatch is what is watched of the schedules of one name.
type tickWatch struct {
	token uint64 // under which the last run began
	// The rest is about the ticks of durable schedules.
	last    int64 // that has run
	skipped int   // ticks for which the next run stands as well, as it says
	// excuses are the terms since then that did not end well, and may have taken a tick
	// with them.
	excuses map[uint64]bool
}

// tick returns what is watched of the ticks of a name.
func (m *Monitor) tick(name string) *tickWatch {
	w := m.ticks[name]
	if w == nil { // most names have no schedule
		w = &tickWatch{excuses: make(map[uint64]bool)}
		m.ticks[name] = w
	}
	return w
}

// scheduled takes the events of schedules.
func (m *Monitor) scheduled(c *Client, e observe.Event) {
	switch e := e.(type) {
	case observe.RunStarted:
		m.Met[ScheduleRan]++
		m.ticked(c, e)
	case observe.TicksSkipped:
		m.Met[TicksSkipped]++
		m.tick(e.Name).skipped = e.Ticks
	case observe.NoteFailed:
		if t := m.node(c.Node).term(e.Name, e.Token); t != nil && t.handover {
			t.untidy = true // a note was not taken back, as far as is known
		}
	}
}

// Ran reports whether a schedule of the name has begun a run under a token, or under a
// later one.
func (m *Monitor) Ran(name string, token uint64) bool {
	w := m.ticks[name]
	return w != nil && w.token >= token
}

// ticked: no tick of a durable schedule runs twice, by whichever leader, and each has a
// run or one that stands for it.
func (m *Monitor) ticked(c *Client, e observe.RunStarted) {
	w := m.tick(e.Name)
	skipped, before := w.skipped, w.token
	w.skipped, w.token = 0, e.Token
	if e.Tick == 0 {
		return
	}
	m.Met[DurableTick]++
	if t := m.node(c.Node).term(e.Name, e.Token); t != nil && m.store.lost(t.term.Session()) {
		return // its note went with the backend's data
	}
	if e.Tick <= w.last {
		m.violate(TickOnce, "the tick %d of %q runs under token %d, and %d has run", e.Tick, e.Name, e.Token, w.last)
	}
	delete(w.excuses, e.Token)
	if w.last != 0 && before != e.Token {
		m.Met[TicksHandedOn]++
	}
	if w.last != 0 && len(w.excuses) == 0 {
		m.complete(c, e, w.last, skipped)
	}
	w.last = e.Tick
	clear(w.excuses)
	w.excuses[e.Token] = true
}

// complete: the ticks since the last one are the run's own and those that it stands
// for.
func (m *Monitor) complete(c *Client, e observe.RunStarted, last int64, skipped int) {
	plan, n := c.leading(e.Name, e.Token).host.script.Plan, 0
	tick, ok := schedule.Moment(last), true
	for ok && tick < schedule.Moment(e.Tick) {
		tick, ok = plan.Next(tick)
		n++
	}
	if tick != schedule.Moment(e.Tick) || n != skipped+1 {
		m.violate(TickKept, "a run of %q under token %d is for the tick %d and %d others; since the last one, %d, there are %d",
			e.Name, e.Token, e.Tick, skipped, last, n)
	}
}

// noting is told of a call for a note.
func (m *Monitor) noting(from *process, r *backend.NoteRequest) {
	if t := m.node(from.node).term(r.Lease.Name, r.Lease.Token); t != nil && t.handover && r.Note.Version > 0 {
		m.Met[NoteTakenBack]++
	}
}

// noted is told of what the backend keeps after a call.
func (m *Monitor) noted(r *backend.NoteRequest, kept backend.Note) {
	if r.Note.Version > 0 && kept.Version > r.Note.Version {
		m.Met[LateNote]++
	}
}

// tidied: a term whose schedule had the time to leave everything behind in good order
// has lost no tick.
func (m *Monitor) tidied(t *watched) {
	if w := m.ticks[t.term.Name()]; w != nil && t.reason.Voluntary() && !t.untidy {
		delete(w.excuses, t.token)
	}
}
