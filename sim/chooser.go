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

// Random returns a chooser that draws from a pseudo-random sequence. The same seed
// makes the same choices.
func Random(seed uint64) Chooser {
	r := rand.New(rand.NewPCG(seed, 0))
	return ChooserFunc(func(_ string, n int64) int64 { return r.Int64N(n) })
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
