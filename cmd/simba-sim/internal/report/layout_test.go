package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/sim"
)

// sketch writes a layout's bands as text: a line for each strip that is not empty.
func sketch(l *layout) string {
	var out strings.Builder
	line := func(what string, bands []band) {
		if len(bands) == 0 {
			return
		}
		fmt.Fprintf(&out, "%s:", what)
		for _, b := range bands {
			fmt.Fprintf(&out, " [%s %v-%v", b.State, b.From, b.To)
			if b.Token != "" {
				fmt.Fprintf(&out, " #%s", b.Token)
			}
			if b.Open {
				out.WriteString(" open")
			}
			out.WriteString("]")
		}
		out.WriteString("\n")
	}
	for _, ln := range l.Lanes {
		line(ln.Node+" faults", ln.Faults.bands)
		for _, r := range ln.Rows {
			name := ln.Node + " " + r.Name
			if r.Session {
				name = ln.Node + " session"
			}
			line(name+" states", r.States.bands)
			line(name+" terms", r.Terms.bands)
			line(name+" clash", r.Clash)
			line(name+" stale", r.Stale)
			line(name+" tasks", r.Tasks.bands)
			line(name+" overran", r.Overran)
		}
	}
	return out.String()
}

func TestLayout(t *testing.T) {
	of := func(at time.Duration, kind sim.Kind, name string, token uint64, state string) sim.Entry {
		return sim.Entry{At: at, Node: "a", Kind: kind, Name: name, Token: token, State: state}
	}
	on := func(node string, e sim.Entry) sim.Entry { e.Node = node; return e }
	to := func(node string, e sim.Entry) sim.Entry { e.To = node; return e }
	session := func(at time.Duration, state string) sim.Entry { return of(at, sim.KindSession, "", 0, state) }
	fault := func(at time.Duration, state string) sim.Entry { return of(at, sim.KindFault, "", 0, state) }
	tests := []struct {
		name    string
		entries []sim.Entry
		clash   time.Duration // when a violation is seen
		want    string
	}{
		{"a state lasts until the next", []sim.Entry{session(0, "OPENING"), session(s, "LIVE"), session(3*s, "CLOSED")}, 0,
			"a session states: [opening 0s-1s] [live 1s-3s] [closed 3s-10s open]\n"},
		{"a state said again goes on", []sim.Entry{session(0, "LIVE"), session(s, "LIVE"), session(2*s, "SUSPENDED")}, 0,
			"a session states: [live 0s-2s] [suspended 2s-10s open]\n"},
		{"entries in any order", []sim.Entry{session(3*s, "CLOSED"), session(0, "LIVE")}, 0,
			"a session states: [live 0s-3s] [closed 3s-10s open]\n"},
		{"states as words", []sim.Entry{of(0, sim.KindElection, "x", 0, "STEPPING_DOWN"), of(s, sim.KindElection, "x", 0, "STOPPED")}, 0,
			"a x states: [stepping down 0s-1s] [stopped 1s-10s open]\n"},
		{"a lock", []sim.Entry{of(0, sim.KindLock, "x", 0, "WAITING"), of(s, sim.KindTerm, "x", 5, "begun"), of(s, sim.KindLock, "x", 5, "HELD")}, 0,
			"a x states: [waiting 0s-1s] [held 1s-10s #5 open]\na x terms: [begun 1s-10s #5 open]\n"},
		{"a node that believes too long", []sim.Entry{
			of(0, sim.KindElection, "x", 0, "CANDIDATE"),
			of(s, sim.KindTerm, "x", 1, "begun"), of(s, sim.KindElection, "x", 1, "LEADER"),
			of(4*s, sim.KindTerm, "x", 1, "ended"), of(6*s, sim.KindElection, "x", 0, "CANDIDATE")}, 0,
			"a x states: [candidate 0s-1s] [leader 1s-6s #1] [candidate 6s-10s open]\n" +
				"a x terms: [begun 1s-4s #1]\na x stale: [stale 4s-6s #1]\n"},
		{"a task that overruns, in part under another term", []sim.Entry{
			of(s, sim.KindTerm, "x", 1, "begun"), of(2*s, sim.KindTask, "x", 1, "running"), of(4*s, sim.KindTerm, "x", 1, "ended"),
			of(5*s, sim.KindTask, "x", 1, "cancelled"), of(6*s, sim.KindTerm, "x", 2, "begun"), of(7*s, sim.KindTask, "x", 1, "exited")}, 0,
			"a x terms: [begun 1s-4s #1] [begun 6s-10s #2 open]\na x tasks: [running 2s-5s #1] [cancelled 5s-7s #1]\n" +
				"a x overran: [overran 4s-5s #1] [overran 5s-7s #1]\n"},
		{"a task that says no token", []sim.Entry{
			of(s, sim.KindTask, "x", 0, "running"), of(2*s, sim.KindTerm, "x", 1, "begun"), of(3*s, sim.KindTerm, "x", 1, "ended"),
			of(4*s, sim.KindTask, "x", 0, "exited")}, 0,
			"a x terms: [begun 2s-3s #1]\na x tasks: [running 1s-4s]\na x overran: [overran 1s-2s] [overran 3s-4s]\n"},
		{"faults", []sim.Entry{fault(s, "paused"), fault(2*s, "suspended"), fault(3*s, "resumed"), fault(4*s, "woken"), fault(5*s, "outage")}, 0,
			"a faults: [paused 1s-3s] [suspended 2s-4s] [outage 5s-10s open]\n"},
		{"cuts from several", []sim.Entry{to("b", fault(s, "cut")), to("c", fault(2*s, "cut")), to("b", fault(3*s, "healed"))}, 0,
			"a faults: [cut 1s-3s] [cut 2s-10s open]\n"},
		{"a crash ends what its process was doing, and nobody else's", []sim.Entry{
			session(0, "LIVE"), on("b", session(0, "LIVE")), of(s, sim.KindElection, "x", 1, "LEADER"), of(s, sim.KindTerm, "x", 1, "begun"),
			of(s, sim.KindTask, "x", 1, "running"), fault(2*s, "crashed"), fault(5*s, "started"), session(5*s, "OPENING")}, 0,
			"a faults: [crashed 2s-5s]\na x states: [leader 1s-2s #1]\na x terms: [begun 1s-2s #1]\na x tasks: [running 1s-2s #1]\n" +
				"a session states: [live 0s-2s] [opening 5s-10s open]\nb session states: [live 0s-10s open]\n"},
		{"two terms at once", []sim.Entry{
			of(s, sim.KindTerm, "x", 1, "begun"), on("b", of(2*s, sim.KindTerm, "y", 1, "begun")), on("b", of(3*s, sim.KindTerm, "x", 2, "begun"))}, 4 * s,
			"a x terms: [begun 1s-10s #1 open]\na x clash: [clash 3s-10s #1 open]\n" +
				"b x terms: [begun 3s-10s #2 open]\nb x clash: [clash 3s-10s #2 open]\nb y terms: [begun 2s-10s #1 open]\n"},
		{"one term after another", []sim.Entry{
			of(s, sim.KindTerm, "x", 1, "begun"), of(3*s, sim.KindTerm, "x", 1, "ended"), on("b", of(3*s, sim.KindTerm, "x", 2, "begun"))}, 3 * s,
			"a x terms: [begun 1s-3s #1]\nb x terms: [begun 3s-10s #2 open]\n"},
		{"a token beyond 53 bits", []sim.Entry{of(s, sim.KindTerm, "x", 1<<64-1, "begun")}, 0,
			"a x terms: [begun 1s-10s #18446744073709551615 open]\n"},
		{"nothing", nil, 0, ""},
	}
	for _, test := range tests {
		story := Story{Length: 10 * s, Entries: test.entries}
		if test.clash != 0 {
			story.Violation = &sim.Violation{At: test.clash}
		}
		if got := sketch(layOut(story)); got != test.want {
			t.Errorf("%s:\n%s\nwant:\n%s", test.name, got, test.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	l := layOut(Story{Entries: []sim.Entry{
		{At: s, Node: "client-10", Kind: sim.KindWrite, Name: "x", Token: 3, State: "accepted", To: "resource"},
		{At: s, Node: "client-2", Kind: sim.KindMessage, To: "store", Until: 2 * s},
		{At: s, Node: "client-2", Kind: sim.KindSession, State: "LIVE"},
		{At: s, Node: "client-2", Kind: sim.KindCallback, Name: "x-10", State: "elected"},
		{At: s, Node: "client-2", Kind: sim.KindCallback, Name: "x-9", State: "elected"},
		{At: s, Node: "network", Kind: sim.KindFault, State: "slow"},
		{At: s, Node: "client-2", Kind: sim.KindFault, State: "resumed"},
		{At: s, Node: "client-2", Kind: sim.KindFault, State: "paused"},
		{At: 3 * s, Node: "client-2", Kind: sim.KindViolation, Name: "x-9"},
	}})
	var nodes []string
	for _, ln := range l.Lanes {
		nodes = append(nodes, ln.Node)
	}
	if want := []string{"network", "client-2", "client-10", "store", "resource"}; !slices.Equal(nodes, want) {
		t.Errorf("lanes %q, want %q", nodes, want)
	}
	type place struct {
		lane, row, to int
		point         bool
	}
	var places []place
	for _, e := range l.Entries {
		places = append(places, place{e.Lane, e.Row, e.To, e.Point})
	}
	want := []place{{2, 0, 4, false}, {1, -1, 3, false}, {1, 2, -1, false}, {1, 1, -1, false}, {1, 0, -1, false},
		{0, -1, -1, true}, {1, -1, -1, true}, {1, -1, -1, false}, {1, -1, -1, false}}
	if !slices.Equal(places, want) {
		t.Errorf("places %v, want %v", places, want)
	}
	if l.Length != 3*s {
		t.Errorf("the world is %v long, want 3s: its last entry is then", l.Length)
	}
}

func TestFocus(t *testing.T) {
	var entries []sim.Entry
	for at := range 100 * s / s {
		entries = append(entries,
			sim.Entry{At: at * s, Node: "a", Kind: sim.KindWrite, State: "accepted"},
			sim.Entry{At: at * s, Node: "a", Kind: sim.KindMessage, To: "store"})
	}
	for _, test := range []struct{ at, from time.Duration }{{80 * s, 51 * s}, {10 * s, 0}, {0, 0}} {
		got := layOut(Story{Entries: entries, Violation: &sim.Violation{At: test.at}}).Violation
		if got.At != test.at || got.From != test.from {
			t.Errorf("at %v the focus is from %v to %v, want from %v", test.at, got.From, got.At, test.from)
		}
	}
	if got := layOut(Story{Entries: entries}).Violation; got != nil {
		t.Errorf("focus %v without a violation", got)
	}
}
