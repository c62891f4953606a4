package sim

import "math/rand/v2"

// Chooser makes the decisions of a world. The label says what for. Decisions are
// arranged so that 0 is the calm one: a chooser that shrinks a failure towards
// small numbers shrinks it towards a world in which little happens.
type Chooser interface {
	// Choose returns a number in [0, n), for n > 0.
	Choose(label string, n int64) int64
}

// ChooserFunc is a function that is a [Chooser].
type ChooserFunc func(label string, n int64) int64

// Choose calls f.
func (f ChooserFunc) Choose(label string, n int64) int64 { return f(label, n) }

// Calm returns a chooser for which everything is calm.
func Calm() Chooser { return ChooserFunc(func(string, int64) int64 { return 0 }) }

// Random returns a chooser that draws from a pseudo-random sequence. The same seed
// makes the same choices.
func Random(seed uint64) Chooser {
	r := rand.New(rand.NewPCG(seed, 0))
	return ChooserFunc(func(_ string, n int64) int64 { return r.Int64N(n) })
}

// Decision is a choice other than the calm one: of all choices that were made under
// Label, counted from 1, the one with this Number was Value.
type Decision struct {
	Label  string `json:"label"`
	Number int    `json:"number"`
	Value  int64  `json:"value"`
}

// Decisions are all that makes a world other than calm: together with the code they
// make it happen again.
type Decisions []Decision

// Recording is a [Chooser] that remembers the decisions of another one.
type Recording struct {
	Decisions Decisions
	// Choices counts all choices, also the calm ones.
	Choices int

	from   Chooser
	number map[string]int
}

// Record returns a chooser that chooses as from does, and remembers it.
func Record(from Chooser) *Recording { return &Recording{from: from, number: make(map[string]int)} }

// Choose passes the choice of the other one on.
func (r *Recording) Choose(label string, n int64) int64 {
	v := r.from.Choose(label, n)
	r.Choices++
	r.number[label]++
	if v != 0 {
		r.Decisions = append(r.Decisions, Decision{label, r.number[label], v})
	}
	return v
}

// Chooser returns one that makes these decisions again. What they do not say is
// calm. A decision goes by its label and number, and not by its place among all
// choices: so to leave one out hardly changes what the others are about. A value
// that is too large for its choice is the largest possible.
func (ds Decisions) Chooser() Chooser {
	type key struct {
		label  string
		number int
	}
	values := make(map[key]int64, len(ds))
	for _, d := range ds {
		values[key{d.Label, d.Number}] = d.Value
	}
	number := make(map[string]int)
	return ChooserFunc(func(label string, n int64) int64 {
		number[label]++
		return min(max(values[key{label, number[label]}], 0), n-1)
	})
}

// Once decides that something happens once in odds times; never for odds of zero.
func (w *World) Once(label string, odds int64) bool {
	return odds > 0 && w.Choose(label, odds) == odds-1
}

// Choose draws a decision from the world's chooser.
func (w *World) Choose(label string, n int64) int64 {
	gaveUp := true
	defer func() { w.gaveUp = gaveUp }()
	chosen := w.chooser.Choose(label, n)
	gaveUp = false
	return chosen
}
