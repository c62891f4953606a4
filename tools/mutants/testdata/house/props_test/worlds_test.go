// Package props_test says what the worlds of a simulator would, at once.
package props_test

import (
	"flag"
	"testing"

	"example.com/house"
)

var (
	seeds  = flag.Int("seeds", 10, "")
	checks = flag.Int("rapid.checks", 10, "")
	_      = flag.Uint64("rapid.seed", 0, "")
	_      = flag.Duration("rapid.shrinktime", 0, "")
	_      = flag.Bool("rapid.nofailfile", false, "")
)

func TestSafety(t *testing.T) {
	for seed := range *seeds {
		if house.Open(seed) {
			t.Fatalf(`violation: seed %d invariant 1 "the door is shut": visitor %d is inside`, seed, seed)
		}
		if n := house.Rooms(); n != 3 {
			t.Fatalf(`violation: seed %d invariant 2 "three rooms": there are %d`, seed, n)
		}
		if house.Cellar() == 0 {
			t.Fatal("the house has fallen down")
		}
	}
}

func TestWorld(t *testing.T) {
	for visitor := *checks; visitor > 0; visitor /= 2 {
		if house.Open(visitor) {
			t.Logf("invariant 1 does not hold, after %d decisions", visitor)
			t.Fail()
		}
	}
	if house.Rooms() > 3 {
		t.Error("invariant 1 does not hold, after 40 decisions")
	}
}
