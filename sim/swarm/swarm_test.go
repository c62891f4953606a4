package swarm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// TestSweepCountsAlike: however many worlds run at once, a sweep finds the same.
func TestSweepCountsAlike(t *testing.T) {
	var first swarm.Found
	for i, workers := range []int{1, 3} {
		found, err := swarm.Sweep{From: 7, Seeds: 100, Workers: workers}.Run(t.Context(), nil)
		if err != nil || found.Seeds != 100 {
			t.Fatalf("%d workers run %d worlds: %v", workers, found.Seeds, err)
		}
		if i > 0 && found != first {
			t.Errorf("%d workers find %+v, one finds %+v", workers, found, first)
		}
		first = found
	}
}

func TestSweepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	found, err := swarm.Sweep{Seeds: 1 << 40}.Run(ctx, func(swarm.Found) { cancel() })
	if !errors.Is(err, context.Canceled) || found.Seeds == 0 {
		t.Errorf("after %d worlds: %v, want some and context.Canceled", found.Seeds, err)
	}
}

// TestSameCourse: the same decisions give the same world, whoever makes them.
func TestSameCourse(t *testing.T) {
	for seed := range uint64(50) {
		r := sim.Record(sim.Random(seed))
		w := swarm.New(r)
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
		again := swarm.New(r.Decisions.Chooser())
		if err := again.Run(); err != nil || again.Hash() != w.Hash() || again.Steps() != w.Steps() {
			t.Errorf("seed %d: %d steps with the hash %x, and by its decisions %d with %x: %v", seed, w.Steps(), w.Hash(), again.Steps(), again.Hash(), err)
		}
	}
}
