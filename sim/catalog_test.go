package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/simba-go/simba/sim"
)

// TestInvariants: each has a number of its own, in their order, and says what it is.
func TestInvariants(t *testing.T) {
	last := 0
	for _, i := range sim.Invariants() {
		if i.Number <= last || i.Name == "" || !strings.HasSuffix(i.Says, ".") {
			t.Errorf("after %d comes %+v", last, i)
		}
		last = i.Number
	}
	v := &sim.Violation{Invariant: sim.OneTask, At: 1, Step: 2, What: "two tasks run"}
	for _, want := range []string{"1ns", "step 2", "15", sim.OneTask.Name, "two tasks run"} {
		if !strings.Contains(v.Error(), want) {
			t.Errorf("the violation says %q, without %q", v, want)
		}
	}
}

// TestSituations: each has a name of its own.
func TestSituations(t *testing.T) {
	names := make(map[string]bool)
	for _, s := range sim.Situations() {
		if name := s.String(); names[name] || strings.Contains(name, "(") {
			t.Errorf("a situation is called %q", name)
		} else {
			names[name] = true
		}
	}
	if got := sim.Situation(len(sim.Situations())).String(); names[got] {
		t.Errorf("the situation after the last one is called %q", got)
	}
	var a, b sim.Counts
	a[sim.TermBegun], b[sim.TermBegun], b[sim.LockHeld] = 1, 2, 3
	a.Add(&b)
	if a[sim.TermBegun] != 3 || a[sim.LockHeld] != 3 {
		t.Errorf("added up they are %v", a)
	}
	missing := a.Missing()
	if len(missing) != len(sim.Situations())-2 || slices.Contains(missing, sim.TermBegun) || slices.Contains(missing, sim.LockHeld) {
		t.Errorf("missing are %v", missing)
	}
}
