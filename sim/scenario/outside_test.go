package scenario_test

import (
	"testing"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/scenario"
)

// TestOutsideTheAssumptions: where clocks differ by more than they may, two terms are
// valid at once, and stale writes are tried. The resource that checks tokens accepts
// none of them, for that is [sim.ResourceSafe], which nothing tolerates; the one
// without a check accepts them all.
func TestOutsideTheAssumptions(t *testing.T) {
	outside := scenario.Outside()
	if len(outside) != 2 {
		t.Errorf("there are %d stories outside the assumptions, want 2", len(outside))
	}
	for _, s := range outside {
		t.Run(s.Title, func(t *testing.T) {
			const worlds = 15
			var violations int
			var refused, accepted uint64
			for seed := range uint64(worlds) {
				c, err := s.Build(sim.Random(seed))
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Play(c); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				violations += c.Monitor.Tolerated[sim.OneValidTerm.Number]
				refused += c.Monitor.Met[sim.StaleRefused]
				accepted += c.Monitor.Met[sim.StaleAccepted]
			}
			if violations < worlds || refused < worlds || accepted < worlds {
				t.Errorf("in %d worlds invariant 1 was violated %d times, and %d stale writes refused and %d accepted; want some in each", worlds, violations, refused, accepted)
			}
			t.Logf("in %d worlds: %d violations of invariant 1; %d stale writes refused by the resource that checks, %d accepted by the other", worlds, violations, refused, accepted)
		})
	}
}

// TestInsideTheAssumptions: the same stories hold every invariant once the clock is
// within its bound.
func TestInsideTheAssumptions(t *testing.T) {
	for _, s := range scenario.Outside() {
		t.Run(s.Title, func(t *testing.T) {
			s.Expect = scenario.Expect{Leader: s.Expect.Leader}
			s.Clients[0].Rate = 0.991
			for i := range s.Events {
				if s.Events[i].Do == "jump" { // no jump is within a bound, so the leader crashes instead
					s.Events[i] = scenario.Event{At: s.Events[i].At, Do: "crash", On: "a"}
				}
			}
			for seed := range uint64(8) {
				if err := s.Run(sim.Random(seed)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}
