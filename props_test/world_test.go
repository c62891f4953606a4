package props_test

import (
	"errors"
	"fmt"
	"hash/maphash"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// TestWorld draws worlds from rapid. Half of them are lists of decisions, those that are
// other than calm: rapid shrinks what it finds by leaving decisions out, and each
// list is a world. The others are whole worlds, of a pseudo-random sequence like those
// of a sweep, in which much more happens. Rapid would leave such a world with hundreds
// of decisions, so sim.Shrink goes first. How many it takes is counted where they are
// made, whatever was drawn.
func TestWorld(t *testing.T) {
	x := learn()
	j := judge{hash: maphash.MakeSeed(), known: make(map[uint64]verdict), small: make(map[uint64]sim.Decisions)}
	rapid.Check(t, func(t *rapid.T) {
		var err error
		if rapid.Bool().Draw(t, "whole") {
			err = j.whole(rapid.Uint64().Draw(t, "seed"))
		} else {
			err = j.list(x.draw(t))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// judge lets worlds live, until one breaks an invariant. From then on it looks for
// smaller ones that break the same, for another one would be no smaller form of it.
// As rapid asks for the same world again and again, it remembers those.
type judge struct {
	broken    int // the number of the invariant, 0 for none
	decisions int // that the smallest world takes to break it
	hash      maphash.Seed
	known     map[uint64]verdict       // since then, by the hash of their decisions
	small     map[uint64]sim.Decisions // shrunk, by the seed
}

// shrinking is how many worlds may live to make one smaller.
const shrinking = 2000

func (j *judge) whole(seed uint64) error {
	small, ok := j.small[seed]
	if !ok {
		r := sim.Record(sim.Random(seed))
		v, err := live(r)
		if v == nil || j.broken != 0 && v.Number != j.broken {
			return err
		}
		small = sim.Shrink(r.Decisions, shrinking, func(ds sim.Decisions) bool {
			other, _ := live(ds.Chooser())
			return other != nil && other.Number == v.Number
		})
		j.small[seed] = small
	}
	return j.list(small)
}

func (j *judge) list(ds sim.Decisions) error {
	var key maphash.Hash
	key.SetSeed(j.hash)
	for _, d := range ds {
		maphash.WriteComparable(&key, d)
	}
	v, ok := j.known[key.Sum64()]
	if !ok {
		if v = run(ds); j.broken != 0 || v.err != nil {
			j.known[key.Sum64()] = v
		}
	}
	if j.broken != 0 && (v.broken != j.broken || v.decisions > j.decisions) {
		return nil
	}
	if v.err != nil {
		j.broken, j.decisions = v.broken, v.decisions
	}
	return v.err
}

// verdict is what a world breaks, with so many decisions. An error without that is a
// failure of another kind.
type verdict struct {
	broken, decisions int
	err               error
}

func run(ds sim.Decisions) verdict {
	v, err := live(ds.Chooser())
	if v == nil {
		return verdict{err: err}
	}
	r := sim.Record(ds.Chooser()) // the decisions that somebody asked for
	_, _ = live(r)
	n := len(r.Decisions)
	return verdict{v.Number, n, fmt.Errorf("invariant %d, %q, takes %d decisions to break: %s\n%v", v.Number, v.Name, n, v.What, r.Decisions)}
}

// live lets a world live, and returns what it breaks. An error is for a failure of
// another kind.
func live(c sim.Chooser) (v *sim.Violation, err error) {
	if err = swarm.New(c).Run(); errors.As(err, &v) {
		err = nil
	}
	return v, err
}
