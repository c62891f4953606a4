package props_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// TestWorld draws each decision of a world from rapid, which shrinks what it finds
// to a world in which little happens: few choices are other than the calm one, 0.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sim.Record(sim.ChooserFunc(func(label string, n int64) int64 {
			return rapid.Int64Range(0, n-1).Draw(t, label)
		}))
		err := swarm.New(r).Run()
		if v := (*sim.Violation)(nil); errors.As(err, &v) {
			t.Fatalf("%v\nIt took %d decisions, of %d choices: invariant %d", v, len(r.Decisions), r.Choices, v.Number)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
