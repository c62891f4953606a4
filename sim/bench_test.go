package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/simba-go/simba/sim"
)

// BenchmarkWorld is a quiet world of three nodes, with and without an election for
// which all of them contend: events per second, and virtual hours per second.
func BenchmarkWorld(b *testing.B) {
	for _, names := range []int{0, 1} {
		b.Run(fmt.Sprintf("elections=%d", names), func(b *testing.B) {
			c := sim.NewCluster(sim.Random(1), params)
			for i := range 3 {
				cl := c.NewClient(fmt.Sprint("client-", i), 0, 1)
				for n := range names {
					cl.Elect(fmt.Sprint("n", n), sim.Script{Callback: sim.Quick, Task: sim.Diligent})
				}
			}
			c.RunFor(time.Minute)
			before := c.Steps()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				c.RunFor(time.Hour)
			}
			if err := c.Err(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(c.Steps()-before)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hours/s")
		})
	}
}
