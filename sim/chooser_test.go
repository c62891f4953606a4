package sim_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/sim"
)

// choice is one that a world makes.
type choice struct {
	label string
	n     int64 // how many possibilities there are; minus the odds of something that may happen
}

func drawChoices() *rapid.Generator[[]choice] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) choice {
		return choice{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "label"), rapid.SampledFrom([]int64{1, 2, 3, 1 << 53, -1, -2, -3}).Draw(t, "n")}
	}))
}

func choose(c sim.Chooser, choices []choice) []int64 {
	made := make([]int64, len(choices))
	for i, ch := range choices {
		switch {
		case ch.n > 0:
			made[i] = c.Choose(ch.label, ch.n)
		case c.Once(ch.label, -ch.n):
			made[i] = 1
		}
	}
	return made
}

// The decisions of a recording make the same choices again, and are what is recorded
// of them, also after they were written down.
func TestRecordAndReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choices := drawChoices().Draw(t, "choices")
		r := sim.Record(sim.Random(rapid.Uint64().Draw(t, "seed")))
		made := choose(r, choices)
		calm := 0
		for _, v := range made {
			if v == 0 {
				calm++
			}
		}
		if r.Choices != len(choices) || len(r.Decisions) != len(choices)-calm {
			t.Fatalf("%d choices, %d of them calm, are recorded as %d and %v", len(choices), calm, r.Choices, r.Decisions)
		}
		written, err := json.Marshal(r.Decisions)
		if err != nil {
			t.Fatal(err)
		}
		var read sim.Decisions
		if err := json.Unmarshal(written, &read); err != nil || !slices.Equal(read, r.Decisions) {
			t.Fatalf("%v is written as %s and read as %v: %v", r.Decisions, written, read, err)
		}
		again := sim.Record(read.Chooser())
		if got := choose(again, choices); !slices.Equal(got, made) || !slices.Equal(again.Decisions, r.Decisions) {
			t.Fatalf("%v makes %v, want %v", r.Decisions, got, made)
		}
	})
}

// A decision goes by its label and number, whatever other decisions there are, and
// always makes a choice that there is.
func TestDecisions(t *testing.T) {
	ds := sim.Decisions{{Label: "a", Number: 2, Value: 7}, {Label: "b", Number: 1, Value: 9}, {Label: "c", Number: 1, Value: -3}}
	const n = 10
	for _, tt := range []struct {
		name    string
		choices []choice
		want    []int64
	}{
		{"as they were", []choice{{"a", n}, {"a", n}, {"b", n}}, []int64{0, 7, 9}},
		{"in another order", []choice{{"b", n}, {"a", n}, {"b", n}, {"a", n}}, []int64{9, 0, 0, 7}},
		{"with others between them", []choice{{"x", n}, {"a", n}, {"y", n}, {"a", n}, {"a", n}}, []int64{0, 0, 0, 7, 0}},
		{"of fewer possibilities", []choice{{"b", 9}, {"a", 1}, {"a", 3}}, []int64{8, 0, 2}},
		{"whether something happens", []choice{{"b", -1 << 40}, {"b", -2}, {"a", -2}, {"a", -2}}, []int64{1, 0, 0, 1}},
		{"what always happens", []choice{{"x", -1}, {"c", -1}, {"c", -1}}, []int64{1, 1, 1}},
		{"below zero", []choice{{"c", n}}, []int64{0}},
	} {
		if got := choose(ds.Chooser(), tt.choices); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := choose(sim.Decisions(nil).Chooser(), []choice{{"a", n}}); got[0] != 0 {
		t.Errorf("without decisions the choice is %d, want the calm one", got[0])
	}
}

// TestRandom: the same seed makes the same choices, and another one others; all of
// them are possible.
func TestRandom(t *testing.T) {
	choices := slices.Repeat([]choice{{"a", 3}, {"b", 1000}}, 100)
	first := choose(sim.Random(1), choices)
	if !slices.Equal(first, choose(sim.Random(1), choices)) || slices.Equal(first, choose(sim.Random(2), choices)) {
		t.Error("the choices do not go by the seed")
	}
	for i, v := range first {
		if v < 0 || v >= choices[i].n {
			t.Fatalf("of %d possibilities, %d was chosen", choices[i].n, v)
		}
	}
	if calm := choose(sim.Calm(), choices); slices.Max(calm) != 0 {
		t.Error("the calm choice is not 0")
	}
}

// TestOnce: something that happens once in so many times happens for the last of the
// possibilities, and what never happens takes no decision.
func TestOnce(t *testing.T) {
	r := sim.Record(sim.Random(1))
	w := sim.NewWorld(r)
	before := r.Choices
	if w.Once("never", 0) || w.Once("never", -1) || r.Choices != before {
		t.Errorf("what never happens takes %d choices", r.Choices-before)
	}
	if !w.Once("always", 1) {
		t.Error("what happens once in one time does not")
	}
	happened := 0
	for range 10_000 {
		if w.Once("sometimes", 4) {
			happened++
		}
	}
	if happened < 2250 || happened > 2750 {
		t.Errorf("once in 4 times is %d times in 10000", happened)
	}
	calm := sim.NewWorld(sim.Calm())
	if calm.Once("sometimes", 2) {
		t.Error("in the calm it happens")
	}
}

// TestScope: a decision stays about the same choice when others are not made that came
// before it, in an earlier phase or about something else.
func TestScope(t *testing.T) {
	live := func(c sim.Chooser, early, other int) (decided int64) {
		w := sim.NewWorld(c)
		for range early {
			w.Choose("x", 10)
		}
		w.NextPhase()
		w.About("other")
		for range other {
			w.Choose("x", 10)
		}
		w.About("this")
		decided = w.Choose("x", 10)
		w.About("")
		return decided
	}
	r := sim.Record(sim.ChooserFunc(func(_ string, n int64) int64 { return n - 1 }))
	live(r, 1, 1)
	want := sim.Decision{Phase: 1, Label: "x", About: "this", Number: 1, Value: 9}
	if !slices.Contains(r.Decisions, want) {
		t.Fatalf("%+v are recorded, and not %+v", r.Decisions, want)
	}
	for _, n := range [][2]int{{0, 0}, {1, 0}, {0, 3}, {5, 5}} {
		if got := live(sim.Decisions{want}.Chooser(), n[0], n[1]); got != 9 {
			t.Errorf("after %d choices and %d others, %d is chosen", n[0], n[1], got)
		}
	}
	again := sim.Record(r.Decisions.Chooser()) // a recording of decisions tells them of the scope
	if live(again, 1, 1); !slices.Equal(again.Decisions, r.Decisions) {
		t.Errorf("%+v are recorded as %+v", r.Decisions, again.Decisions)
	}
}

// A chooser gives up by a panic, which is for whoever runs the world, also if the
// choice was an actor's.
func TestChooserGivesUp(t *testing.T) {
	const enough = "enough"
	w := sim.NewWorld(sim.ChooserFunc(func(label string, _ int64) int64 {
		if label == "last" {
			panic(enough)
		}
		return 0
	}))
	w.NewNode("n", 0, 1).Spawn("a", actor.BehaviorFunc(func(actor.Context, actor.Message) { w.Choose("last", 2) }))
	defer func() {
		if v := recover(); v != enough {
			t.Errorf("the panic is %v, want %v", v, enough)
		}
	}()
	w.RunFor(time.Second)
	t.Error("a world goes on whose chooser has given up")
}

// needs is a predicate that fails for decisions which have all of these, or greater
// values, and counts how often it is asked.
func needs(asked *int, want ...sim.Decision) func(sim.Decisions) bool {
	return func(ds sim.Decisions) bool {
		*asked++
		for _, w := range want {
			if !slices.ContainsFunc(ds, func(d sim.Decision) bool {
				return d.Label == w.Label && d.Number == w.Number && d.Value >= w.Value
			}) {
				return false
			}
		}
		return true
	}
}

func someDecisions(n int) sim.Decisions {
	ds := make(sim.Decisions, n)
	for i := range ds {
		ds[i] = sim.Decision{Label: fmt.Sprint("label ", i%7), Number: i/7 + 1, Value: int64(1000 + i)}
	}
	return ds
}

// Whatever few decisions a failure needs, they are found, with their least values, in
// their order, and in fewer tries than there are decisions times their logarithm.
func TestShrinkFindsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someDecisions(rapid.IntRange(0, 200).Draw(t, "decisions"))
		var want sim.Decisions
		for i, d := range all {
			if len(want) < 5 && rapid.IntRange(0, 20).Draw(t, fmt.Sprint("needs ", i)) == 1 {
				d.Value = rapid.Int64Range(1, d.Value).Draw(t, "least")
				want = append(want, d)
			}
		}
		before, asked := slices.Clone(all), 0
		got := sim.Shrink(all, 1<<20, needs(&asked, want...))
		if !slices.Equal(got, want) {
			t.Fatalf("shrunk to %v, want %v", got, want)
		}
		if most := 20 + 60*(len(want)+1) + 4*len(all); asked > most {
			t.Fatalf("it takes %d tries for %d of %d decisions, want at most %d", asked, len(want), len(all), most)
		}
		if !slices.Equal(all, before) {
			t.Fatal("the decisions to start with were changed")
		}
	})
}

// What it returns fails, however soon it has to end and whatever makes it fail, and
// nothing can be left out of it if it did not have to end.
func TestShrinkKeepsFailing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someDecisions(rapid.IntRange(1, 40).Draw(t, "decisions"))
		salt := rapid.Uint64().Draw(t, "salt")
		limit := rapid.SampledFrom([]int{0, 1, 10, 1 << 20}).Draw(t, "limit")
		// It fails for all, and for one in three others, by which decisions they are.
		fails := func(ds sim.Decisions) bool {
			h := salt
			for _, d := range ds {
				h = (h ^ uint64(d.Number*7+len(d.Label)) ^ uint64(d.Label[len(d.Label)-1])) * 0x9e3779b97f4a7c15
			}
			return len(ds) == len(all) || h>>40%3 == 0
		}
		asked := 0
		got := sim.Shrink(all, limit, func(ds sim.Decisions) bool { asked++; return fails(ds) })
		if asked > limit || !fails(got) {
			t.Fatalf("after %d tries of %d, it is shrunk to %v, which fails: %v", asked, limit, got, fails(got))
		}
		for i := range got {
			if limit > 10 && len(got) < len(all) && fails(slices.Delete(slices.Clone(got), i, i+1)) {
				t.Fatalf("%v can be left out of %v", got[i], got)
			}
		}
	})
}
