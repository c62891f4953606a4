package experiment

import (
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// gauge measures, in true time, for how long nobody leads and for how long two do. A
// term can begin and be extended only in a step of the world, and end by itself
// between two: so it looks after each step, and computes when terms will end.
type gauge struct {
	world   *world
	clients []*measured
	began   bool
	last    actor.Instant // when it has looked last

	crash *measured // whose successor is waited for
	at    actor.Instant
}

// measured is a client.
type measured struct {
	*sim.Client
	rate      float64 // of its clock
	term      *term.Term
	until     actor.Instant // of the term, by its clock
	end       actor.Instant // of the term, in true time; zero for none
	disturbed bool          // it is paused or cut off
	calmSince actor.Instant // when that has ended
}

func newGauge(w *world) *gauge {
	g := &gauge{world: w}
	w.OnStep(g.look)
	return g
}

func (g *gauge) add(cl *sim.Client, rate float64) {
	m := &measured{Client: cl, rate: rate}
	g.clients = append(g.clients, m)
	cl.Sink = func(e observe.Event) { g.event(m, e) }
}

// begin makes it measure from now on.
func (g *gauge) begin() {
	g.look()
	g.began, g.last = true, g.world.Now()
}

// end makes it stop.
func (g *gauge) end() {
	g.look()
	g.began = false
}

// look accounts for the time since it has looked last, and looks at all terms.
func (g *gauge) look() {
	now := g.world.Now()
	before := g.valid(now)
	if g.began {
		g.account(now)
	}
	g.last = now
	for _, m := range g.clients {
		m.look(now)
	}
	after := g.valid(now)
	if g.began && after > 1 && before <= 1 {
		g.world.measure.Overlaps++
	}
	if g.crash != nil && after > 0 {
		g.recovered()
	}
}

// valid counts the terms that are valid at an instant, as last seen.
func (g *gauge) valid(at actor.Instant) (n int) {
	for _, m := range g.clients {
		if m.end > at {
			n++
		}
	}
	return n
}

// account is about the time from the last look to now, in which terms have ended and
// none has begun.
func (g *gauge) account(now actor.Instant) {
	var first, second actor.Instant // the latest ends
	for _, m := range g.clients {
		if m.end > first {
			first, second = m.end, first
		} else {
			second = max(second, m.end)
		}
	}
	r := &g.world.measure
	r.Time += now.Sub(g.last)
	r.Leaderless += max(0, now.Sub(max(first, g.last)))
	r.Overlap += max(0, min(second, now).Sub(g.last))
}

// look finds out when the client's term will end if it is not extended.
func (m *measured) look(now actor.Instant) {
	var t *term.Term
	if e := m.Elections[job]; e != nil {
		t = e.Term()
	}
	if t == nil {
		m.term, m.end = nil, 0
		return
	}
	if until := term.Until(t); t != m.term || until != m.until {
		m.term, m.until = t, until
		left := max(0, until.Sub(m.Now()))
		m.end = now.Add(time.Duration(float64(left) / m.rate))
	}
}

// crashed is told that a leader is about to crash.
func (g *gauge) crashed(cl *sim.Client) {
	g.look()
	g.crash, g.at = g.find(cl), g.world.Now()
	g.crash.term, g.crash.end = nil, 0
}

// recovered is told that somebody leads again, or that it is not waited for any more.
func (g *gauge) recovered() {
	if g.crash != nil {
		g.world.measure.Failovers = append(g.world.measure.Failovers, g.world.Now().Sub(g.at))
		g.crash = nil
	}
}

// disturb is told that a client is about to be paused or cut off.
func (g *gauge) disturb(cl *sim.Client) { g.find(cl).disturbed = true }

// disturbed is told that this is over.
func (g *gauge) disturbed(cl *sim.Client) {
	m := g.find(cl)
	m.disturbed, m.calmSince = false, g.world.Now()
}

func (g *gauge) find(cl *sim.Client) *measured {
	for _, m := range g.clients {
		if m.Client == cl {
			return m
		}
	}
	panic("experiment: a client that was not added")
}

// event counts the terms that were lost for nothing: the process ran, and was not cut
// off, for a lease at least.
func (g *gauge) event(m *measured, e observe.Event) {
	r, ok := e.(observe.Revoked)
	if !ok || !g.began || r.Reason.Voluntary() {
		return
	}
	if !m.disturbed && (m.calmSince == 0 || g.world.Now().Sub(m.calmSince) > g.world.setup.Lease) {
		g.world.measure.Needless++
	}
}
