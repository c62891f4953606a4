package props_test

import (
	"context"
	"errors"
	"flag"
	"testing"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

var (
	seeds = flag.Uint64("seeds", 300, "how many worlds TestSafety lets live")
	from  = flag.Uint64("from", 0, "the seed of the first")
)

// TestSafety lets the worlds of many seeds live, looks for one in which something
// does not hold that always must, and runs each twice. Fewer than the default need
// not meet all situations.
func TestSafety(t *testing.T) {
	s := swarm.Sweep{From: *from, Seeds: *seeds, Twice: true}
	found, err := s.Run(t.Context(), nil)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if f := found.Failure; f != nil {
		var v *sim.Violation
		if errors.As(f.Err, &v) {
			t.Fatalf("violation: seed %d invariant %d %q: %s", f.Seed, v.Number, v.Name, v.What)
		}
		t.Fatal(f.Err)
	}
	if missing := found.Met.Missing(); len(missing) > 0 && *seeds >= flagDefault {
		t.Errorf("in %d worlds, these were not met: %v", found.Seeds, missing)
	}
	t.Logf("%d worlds, %d events, %v", found.Seeds, found.Events, found.Virtual)
}

// flagDefault is how many worlds meet every situation.
const flagDefault = 300
