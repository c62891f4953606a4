package sim_test

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
)

// The leader's machine stops, and its neighbour takes over when the lease has run
// out: in virtual time, and always in the same way.
func Example() {
	c := sim.NewCluster(sim.Random(1), session.Defaults(15*time.Second))
	a, b := c.NewClient("a", 0, 1), c.NewClient("b", time.Hour, 0.995)
	a.Elect("job", sim.Script{Task: sim.Diligent})
	c.RunUntil(time.Second, c.Led("job"))
	b.Elect("job", sim.Script{Task: sim.Diligent})
	c.RunFor(time.Minute)

	fmt.Println("leader:", c.Leader("job"))
	a.Pause()
	c.RunUntil(time.Minute, func() bool { return c.Leader("job") == nil })
	fmt.Println("its term is over after", time.Duration(c.Now()).Round(100*time.Millisecond))
	c.RunUntil(time.Minute, c.Led("job"))
	fmt.Println("leader:", c.Leader("job"), "after", time.Duration(c.Now()).Round(100*time.Millisecond))
	fmt.Println("error:", c.Err())
	// Output:
	// leader: a
	// its term is over after 1m14.8s
	// leader: b after 1m15s
	// error: <nil>
}
