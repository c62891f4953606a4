package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simba-go/simba/sim"
)

// lanes are those of all nodes that the entries name, each with its rows, still empty.
func lanes(entries []sim.Entry) []*lane {
	byNode := map[string]map[string]bool{} // the names of a node's leases
	session := map[string]bool{}
	add := func(node string) {
		if byNode[node] == nil {
			byNode[node] = map[string]bool{}
		}
	}
	for _, e := range entries {
		add(e.Node)
		if e.To != "" {
			add(e.To)
		}
		if ofLease(e.Kind) {
			byNode[e.Node][e.Name] = true
		}
		session[e.Node] = session[e.Node] || e.Kind == sim.KindSession
	}
	all := []*lane{}
	for _, node := range slices.SortedFunc(maps.Keys(byNode), compareNodes) {
		ln := &lane{Node: node, Faults: newStrip(), Rows: []*row{}}
		for _, name := range slices.SortedFunc(maps.Keys(byNode[node]), natural) {
			ln.Rows = append(ln.Rows, newRow(name, false))
		}
		if session[node] {
			ln.Rows = append(ln.Rows, newRow("", true))
		}
		all = append(all, ln)
	}
	return all
}

func newRow(name string, session bool) *row {
	return &row{Name: name, Session: session, States: newStrip(), Terms: newStrip(), Tasks: newStrip(), Clash: []band{}}
}

// rowOf is the place of the row that an entry belongs to, -1 if it belongs to the whole lane.
func (ln *lane) rowOf(e sim.Entry) int {
	return slices.IndexFunc(ln.Rows, func(r *row) bool {
		if r.Session {
			return e.Kind == sim.KindSession
		}
		return ofLease(e.Kind) && r.Name == e.Name
	})
}

// ofLease tells the kinds that a lease's row shows.
func ofLease(k sim.Kind) bool {
	switch k {
	case sim.KindElection, sim.KindLock, sim.KindTerm, sim.KindTask, sim.KindCallback, sim.KindWrite:
		return true
	}
	return false
}

// compareNodes puts the network first and what the clients share last, so that messages to the store run down and away
// from the clients' own rows.
func compareNodes(a, b string) int {
	rank := map[string]int{"network": -1, "store": 1, "resource": 2, "guarded": 2, "unguarded": 2}
	return cmp.Or(cmp.Compare(rank[a], rank[b]), natural(a, b))
}

// natural orders names as people do: client-2 comes before client-10.
func natural(a, b string) int {
	prefixA, numberA := split(a)
	prefixB, numberB := split(b)
	return cmp.Or(strings.Compare(prefixA, prefixB), cmp.Compare(numberA, numberB), strings.Compare(a, b))
}

// split parts a name from the number at its end.
func split(name string) (prefix string, number uint64) {
	prefix = strings.TrimRight(name, "0123456789")
	number, _ = strconv.ParseUint(name[len(prefix):], 10, 64) // 0 without one, and the largest if it is too large
	return prefix, number
}
