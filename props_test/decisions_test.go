package props_test

import (
	"maps"
	"math/bits"
	"slices"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// experience is what worlds of a pseudo-random sequence have decided. What is drawn
// are decisions like these: most others would be about choices that nobody makes.
type experience struct {
	// rare are the decisions under labels of which a world has one or none, common
	// those of which it has some. Those of which it has many come in storms: by label.
	rare, common sim.Decisions
	storms       []sim.Decisions
	// needs are the decisions without which nothing is chosen under a label.
	needs map[string]sim.Decisions
}

const (
	// worlds is how many of them are learned from.
	worlds = 100
	// some worlds must have had a label: what these have in common is no coincidence.
	some = worlds / 10
)

// learn lets worlds live.
func learn() *experience {
	x := &experience{needs: make(map[string]sim.Decisions)}
	by, in := make(map[string]sim.Decisions), make(map[string]int) // decisions and worlds, by label
	for seed := range uint64(worlds) {
		r := sim.Record(sim.Random(seed))
		_ = swarm.New(r).Run()
		makeup := slices.DeleteFunc(slices.Clone(r.Decisions), func(d sim.Decision) bool { return d.Phase > 0 })
		for label, ds := range labels(r.Decisions) {
			if in[label]++; in[label] > 1 {
				x.needs[label] = intersect(x.needs[label], makeup)
			} else {
				x.needs[label] = makeup
			}
			by[label] = append(by[label], ds...)
		}
	}
	delete(by, "behaviours") // jitter and ids
	for _, label := range slices.Sorted(maps.Keys(by)) {
		if in[label] < some {
			delete(x.needs, label)
		}
		switch often := len(by[label]) / in[label]; {
		case often < 2:
			x.rare = append(x.rare, by[label]...)
		case often < 26:
			x.common = append(x.common, by[label]...)
		default:
			x.storms = append(x.storms, by[label])
		}
	}
	return x
}

// labels returns the decisions of each label.
func labels(ds sim.Decisions) map[string]sim.Decisions {
	by := make(map[string]sim.Decisions)
	for _, d := range ds {
		by[d.Label] = append(by[d.Label], d)
	}
	return by
}

// intersect returns the decisions that are in both.
func intersect(a, b sim.Decisions) sim.Decisions {
	var both sim.Decisions
	for _, d := range a {
		if slices.Contains(b, d) {
			both = append(both, d)
		}
	}
	return both
}

// Lists of lists come out longer than lists, and rapid first tries to leave out whole
// ones.
var (
	five    = rapid.SliceOf(rapid.Uint64())
	fives   = rapid.SliceOf(five)
	hundred = rapid.SliceOf(fives)
)

// draw draws a world. What its decisions need comes with them, or most would be
// without effect. What is drawn twice counts once.
func (x *experience) draw(t *rapid.T) sim.Decisions {
	var ds sim.Decisions
	p := picker(rapid.Uint16().Draw(t, "salt"))
	add := func(from sim.Decisions, list []uint64) {
		for _, u := range list {
			if len(from) == 0 {
				return // worlds with a planted bug may end before they decide such things
			}
			d := p.pick(from, u)
			ds = append(append(ds, x.needs[d.Label]...), d)
		}
	}
	add(x.rare, slices.Concat(fives.Draw(t, "rare")...))
	for _, lists := range hundred.Draw(t, "common") {
		add(x.common, slices.Concat(lists...))
	}
	for _, lists := range hundred.Draw(t, "storms") {
		if list := slices.Concat(lists...); len(list) > 0 && len(x.storms) > 0 {
			add(x.storms[list[0]%uint64(len(x.storms))], list[1:])
		}
	}
	return ds
}

// picker makes all decisions of a list equally likely, from numbers of which rapid
// prefers the small ones.
type picker uint64

func (p picker) pick(from sim.Decisions, u uint64) sim.Decision {
	const odd = 0x9e3779b97f4a7c15
	high, low := bits.Mul64((u+1)*odd, (uint64(p)+1)*odd)
	return from[((high^low)*odd>>32)%uint64(len(from))]
}
