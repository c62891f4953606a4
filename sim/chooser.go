package sim

import "math/rand/v2"

// Chooser makes the decisions of a world. The label says what for. Decisions are
// arranged so that 0, and no, is the calm one: a chooser that shrinks a failure
// towards small numbers shrinks it towards a world in which little happens.
type Chooser interface {
	// Choose returns a number in [0, n), for n > 0.
	Choose(label string, n int64) int64
	// Once decides whether something happens that does so once in odds times, for
	// odds > 0.
	Once(label string, odds int64) bool
}

// ChooserFunc is a function that is a [Chooser]. What happens once in odds times
// happens for its last number.
type ChooserFunc func(label string, n int64) int64

// Choose calls f.
func (f ChooserFunc) Choose(label string, n int64) int64 { return f(label, n) }

// Once calls f.
func (f ChooserFunc) Once(label string, odds int64) bool { return f(label, odds) == odds-1 }

// Calm returns a chooser for which everything is calm.
func Calm() Chooser { return Decisions(nil).Chooser() }

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
	// Decisions are those that were made so far.
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
	r.record(label, v)
	return v
}

// Once passes the choice of the other one on.
func (r *Recording) Once(label string, odds int64) bool {
	if r.from.Once(label, odds) {
		r.record(label, 1)
		return true
	}
	r.record(label, 0)
	return false
}

func (r *Recording) record(label string, v int64) {
	r.Choices++
	r.number[label]++
	if v != 0 {
		r.Decisions = append(r.Decisions, Decision{label, r.number[label], v})
	}
}

// Chooser returns one that makes these decisions again. What they do not say is
// calm. A decision goes by its label and number, and not by its place among all
// choices: so to leave one out hardly changes what the others are about. A value
// that is too large for its choice is the largest possible.
func (ds Decisions) Chooser() Chooser {
	r := &replay{values: make(map[choice]int64, len(ds)), number: make(map[string]int)}
	for _, d := range ds {
		r.values[choice{d.Label, d.Number}] = d.Value
	}
	return r
}

// replay is the chooser of some decisions.
type replay struct {
	values map[choice]int64
	number map[string]int
}

type choice struct {
	label  string
	number int
}

// Choose returns what was decided.
func (r *replay) Choose(label string, n int64) int64 {
	r.number[label]++
	return min(max(r.values[choice{label, r.number[label]}], 0), n-1)
}

// Once returns what was decided.
func (r *replay) Once(label string, odds int64) bool {
	r.number[label]++
	return odds == 1 || r.values[choice{label, r.number[label]}] > 0
}

// Once decides that something happens once in odds times; never for odds of zero.
func (w *World) Once(label string, odds int64) (yes bool) {
	if odds > 0 {
		w.decide(func() { yes = w.chooser.Once(label, odds) })
	}
	return yes
}

// Choose draws a decision from the world's chooser.
func (w *World) Choose(label string, n int64) (chosen int64) {
	w.decide(func() { chosen = w.chooser.Choose(label, n) })
	return chosen
}

// decide notes whether the chooser has given up, by a panic.
func (w *World) decide(f func()) {
	gaveUp := true
	defer func() { w.gaveUp = gaveUp }()
	f()
	gaveUp = false
}
