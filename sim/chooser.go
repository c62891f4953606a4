package sim

import "math/rand/v2"

// Random returns a chooser that draws from a pseudo-random sequence. The same seed
// makes the same choices.
func Random(seed uint64) Chooser { return prng{rand.New(rand.NewPCG(seed, 0))} }

type prng struct{ *rand.Rand }

func (r prng) Choose(_ string, n int64) int64 { return r.Int64N(n) }
