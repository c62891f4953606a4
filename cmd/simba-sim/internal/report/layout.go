package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simba-go/simba/sim"
)

// layout is what the script draws. What lies where in time is decided here, where it can be tested; the script only turns
// it into pixels.
type layout struct {
	Length    time.Duration `json:"length"`
	Lanes     []*lane       `json:"lanes"`
	Entries   []entry       `json:"entries"`
	Violation *focus        `json:"violation,omitempty"`
}

// lane is one node's part of the timeline.
type lane struct {
	Node   string `json:"node"`
	Faults *strip `json:"faults"`
	Rows   []*row `json:"rows"` // a row per lease, then the session's
}

// row is what a node has to do with one lease, or its session.
type row struct {
	Name    string `json:"name"`
	Session bool   `json:"session,omitempty"`
	States  *strip `json:"states"` // of the session, the election or the lock
	Terms   *strip `json:"terms"`  // while they are valid
	Tasks   *strip `json:"tasks"`
	Overran []band `json:"overran"` // the parts of the tasks that no valid term covers
	Clash   []band `json:"clash"`   // the parts of the terms in which another one is valid too, at the violation
	Stale   []band `json:"stale"`   // in which the node believes that it leads, and no valid term covers that
}

// entry is a sim.Entry and its place. The token is text because a number of JavaScript holds only 53 bits.
type entry struct {
	At    time.Duration `json:"at"`
	Lane  int           `json:"lane"`
	Row   int           `json:"row"` // in the lane, -1 for none
	Kind  sim.Kind      `json:"kind"`
	Name  string        `json:"name,omitempty"`
	Token string        `json:"token,omitempty"`
	State string        `json:"state,omitempty"`
	Text  string        `json:"text"`
	To    int           `json:"to"` // a lane, -1 for none
	Until time.Duration `json:"until,omitempty"`
	Point bool          `json:"point,omitempty"` // a fault that has no length
}

// focus is a violation's place in time, and how far back to look for what led to it.
type focus struct {
	At   time.Duration `json:"at"`
	From time.Duration `json:"from"`
}

// layOut places a story's entries in lanes, rows and strips.
func layOut(s Story) *layout {
	entries := slices.Clone(s.Entries)
	slices.SortStableFunc(entries, func(a, b sim.Entry) int { return cmp.Compare(a.At, b.At) })
	l := &layout{Length: s.Length, Lanes: lanes(entries), Entries: make([]entry, 0, len(entries))}
	for _, e := range entries {
		l.Length = max(l.Length, e.At)
	}
	for i, e := range entries {
		l.Entries = append(l.Entries, l.place(i, e))
	}
	for _, ln := range l.Lanes {
		ln.finish(l.Length)
	}
	if v := s.Violation; v != nil {
		l.Violation = &focus{At: v.At, From: before(entries, v.At)}
		markClash(l.Lanes, v.At)
	}
	return l
}

// place finds the lane and the row of entry i, and draws what it changes there.
func (l *layout) place(i int, e sim.Entry) entry {
	at := l.laneOf(e.Node)
	ln := l.Lanes[at]
	placed := entry{At: e.At, Lane: at, Row: ln.rowOf(e), Kind: e.Kind, Name: e.Name, Token: number(e.Token),
		State: forPeople(e.State), Text: e.Text, To: -1, Until: e.Until}
	if e.To != "" {
		placed.To = l.laneOf(e.To)
	}
	if e.Kind == sim.KindFault {
		placed.Point = ln.fault(i, e)
	} else if placed.Row >= 0 {
		ln.Rows[placed.Row].draw(i, e)
	}
	return placed
}

func (l *layout) laneOf(node string) int {
	return slices.IndexFunc(l.Lanes, func(ln *lane) bool { return ln.Node == node })
}

// forPeople writes a state such as STEPPING_DOWN as words.
func forPeople(state string) string { return strings.ToLower(strings.ReplaceAll(state, "_", " ")) }

// number writes a token, and nothing for none.
func number(token uint64) string {
	if token == 0 {
		return ""
	}
	return strconv.FormatUint(token, 10)
}

// ended has, for each state that ends a fault, the fault. A fault of any other state has no length, unless it is one of
// these.
var ended = map[string]string{
	"resumed": "paused", "woken": "suspended", "started": "crashed", "healed": "cut", "restored": "outage",
}

// fault draws a fault and reports whether it has no length.
func (ln *lane) fault(i int, e sim.Entry) (point bool) {
	key := func(state string) string { return state + " " + e.To }
	if fault, ok := ended[e.State]; ok {
		return !ln.Faults.end(key(fault), e.At)
	}
	for _, fault := range ended {
		if e.State == fault {
			ln.Faults.begin(key(fault), band{From: e.At, State: fault, Entry: i})
			if fault == "crashed" {
				ln.end(e.At)
			}
			return false
		}
	}
	return true
}

// end ends all that was going on in a process that is gone.
func (ln *lane) end(at time.Duration) {
	for _, r := range ln.Rows {
		r.States.endAll(at)
		r.Terms.endAll(at)
		r.Tasks.endAll(at)
	}
}

// finish draws what is still so at the world's end up to there, and what needs all of the strips.
func (ln *lane) finish(length time.Duration) {
	ln.Faults.finish(length)
	for _, r := range ln.Rows {
		r.States.finish(length)
		r.Terms.finish(length)
		r.Tasks.finish(length)
		r.Overran = uncovered("overran", r.Tasks.bands, r.Terms.bands)
		r.Stale = uncovered("stale", leading(r.States.bands), r.Terms.bands)
	}
}

// draw draws what an entry changes in its row.
func (r *row) draw(i int, e sim.Entry) {
	b := band{From: e.At, State: forPeople(e.State), Token: number(e.Token), Entry: i}
	switch {
	case e.Kind == sim.KindSession, e.Kind == sim.KindElection, e.Kind == sim.KindLock:
		r.States.begin("", b)
	case e.Kind == sim.KindTerm && e.State == "ended":
		r.Terms.end(b.Token, e.At)
	case e.Kind == sim.KindTerm:
		r.Terms.begin(b.Token, b)
	case e.Kind == sim.KindTask && e.State == "exited":
		r.Tasks.end(b.Token, e.At)
	case e.Kind == sim.KindTask:
		r.Tasks.begin(b.Token, b)
	}
}

// uncovered are the parts of bands in which no term of theirs was valid: work, or a belief to lead, that must not count
// on the lease. A band without a token is covered by any term of the row.
func uncovered(state string, bands, terms []band) []band {
	parts := []band{}
	for _, b := range bands {
		rest := b
		rest.State = state
		for _, term := range terms {
			if b.Token != "" && b.Token != term.Token || term.To <= rest.From || term.From >= rest.To {
				continue
			}
			if rest.From < term.From {
				part := rest
				part.To = term.From
				parts = append(parts, part)
			}
			rest.From = min(term.To, rest.To)
		}
		if rest.From < rest.To {
			parts = append(parts, rest)
		}
	}
	return parts
}

// leading are the bands in which an election or a lock believes that it has the lease.
func leading(states []band) []band {
	return slices.DeleteFunc(slices.Clone(states), func(b band) bool { return b.State != "leader" && b.State != "held" })
}

// markClash marks, from where on, the terms of one name are valid together at an instant.
func markClash(lanes []*lane, at time.Duration) {
	type holder struct {
		row  *row
		term band
	}
	valid := map[string][]holder{}
	for _, ln := range lanes {
		for _, r := range ln.Rows {
			for _, b := range r.Terms.bands {
				if b.From <= at && (at < b.To || b.Open) {
					valid[r.Name] = append(valid[r.Name], holder{r, b})
				}
			}
		}
	}
	for _, holders := range valid {
		for i, h := range holders {
			for j, other := range holders {
				if i != j {
					h.term.From, h.term.To = max(h.term.From, other.term.From), min(h.term.To, other.term.To)
				}
			}
			if len(holders) > 1 {
				h.term.State = "clash"
				h.row.Clash = append(h.row.Clash, h.term)
			}
		}
	}
}

// before is a time before at from which on the last events are seen, messages not counted.
func before(entries []sim.Entry, at time.Duration) time.Duration {
	const enough = 30
	seen := 0
	for _, e := range slices.Backward(entries) {
		if e.Kind == sim.KindMessage || e.At > at {
			continue
		}
		if seen++; seen == enough {
			return e.At
		}
	}
	return 0
}
