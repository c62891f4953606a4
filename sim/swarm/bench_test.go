package swarm_test

import (
	"testing"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

func BenchmarkSwarm(b *testing.B) {
	var steps uint64
	for seed := range uint64(b.N) {
		w := swarm.New(sim.Random(seed))
		if err := w.Run(); err != nil {
			b.Fatal(err)
		}
		steps += w.Steps()
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "worlds/s")
}
