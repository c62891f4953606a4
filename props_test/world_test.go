package props_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// TestWorld draws the decisions of a world from rapid: a short list of those that are
// other than calm. Rapid shrinks what it finds by leaving decisions out, and each
// list is a world. Drawing every choice of a world one by one would leave it with
// hundreds of them.
func TestWorld(t *testing.T) {
	decision := rapid.Custom(drawDecision(catalog()))
	some := rapid.SliceOf(rapid.SliceOf(decision)) // lists of lists come out longer than lists
	rapid.Check(t, func(t *rapid.T) {
		ds := sim.Decisions(slices.Concat(some.Draw(t, "decisions")...))
		r := sim.Record(ds.Chooser())
		err := swarm.New(r).Run()
		if v := (*sim.Violation)(nil); errors.As(err, &v) {
			t.Fatalf("invariant %d, %q, takes %d decisions to break: %s\n%v", v.Number, v.Name, len(r.Decisions), v.What, r.Decisions)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// choice is one that worlds make.
type choice struct {
	label string
	n     int64 // how many possibilities there are
	often int   // how often it is made
}

// catalog returns the choices that a few worlds make, by their labels.
func catalog() []choice {
	made := make(map[string]choice)
	for seed := range uint64(40) {
		from, count := sim.Random(seed), make(map[string]int)
		_ = swarm.New(sim.ChooserFunc(func(label string, n int64) int64 {
			count[label]++
			if c := made[label]; n > 1 {
				made[label] = choice{label, max(n, c.n), max(count[label], c.often)}
			}
			return from.Choose(label, n)
		})).Run()
	}
	delete(made, "behaviours") // jitter and ids
	var all []choice
	for _, c := range made {
		c.often = min(c.often, 40)
		for range weight(c) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b choice) int { return strings.Compare(a.label, b.label) })
	return all
}

// weight is how often a choice is among those that are drawn from. What is done to
// a world matters most.
func weight(c choice) int {
	switch c.label {
	case "action":
		return 25
	case "client", "calm":
		return 8
	case "name", "what is met", "what it meets", "delay", "cooldown", "late", "lose", "double", "error before", "error after":
		return 4
	}
	return min(2, c.often)
}

func drawDecision(all []choice) func(*rapid.T) sim.Decision {
	return func(t *rapid.T) sim.Decision {
		c := rapid.SampledFrom(all).Draw(t, "what")
		return sim.Decision{
			Label:  c.label,
			Number: rapid.IntRange(1, c.often).Draw(t, "number"),
			Value:  drawValue(t, c.n),
		}
	}
}

// drawValue draws one of n possibilities, but the calm one. What happens once in a
// while happens for the last of them.
func drawValue(t *rapid.T, n int64) int64 {
	if n > 2 && n <= 64 && rapid.Bool().Draw(t, "the last") {
		return n - 1
	}
	return rapid.Int64Range(1, n-1).Draw(t, "value")
}
