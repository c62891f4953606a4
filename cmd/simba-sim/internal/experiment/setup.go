// Package experiment measures what leases cost and what they are worth, in many
// simulated worlds: how long a failover takes, how long nobody leads, how often a
// term is lost for nothing, how many calls it takes, and what happens once clocks do
// not keep to what was assumed of them.
package experiment

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
)

// Setup is what all worlds of a point have in common.
type Setup struct {
	Lease   time.Duration // of all clients; the other parameters derive from it
	Bound   float64       // the drift that clients allow for
	Drift   float64       // that clocks have: each is faster or slower than the backend's by so much
	Latency time.Duration // of a message, one way: exponential, with this mean
	Loss    float64       // share of messages that are lost
	Pause   time.Duration // how long a process of a leader stops
	Nodes   int           // clients, each on a machine of its own
	Jump    time.Duration // by which the backend's clock is set ahead; zero for never
	Every   time.Duration // mean time between two faults, from half of it to one and a half
	Faults  int           // that each world goes through

	sorts []fault // of faults, which take turns; nil for those of mixed
}

// base is what a sweep varies one value of.
func base() Setup {
	return Setup{
		Lease: 10 * time.Second, Bound: 0.01, Drift: 0.01, Latency: 5 * time.Millisecond, Pause: 5 * time.Second, Nodes: 3,
		Every: time.Minute, Faults: 12,
	}
}

func (s *Setup) params() session.Params {
	p := session.Defaults(s.Lease)
	p.Drift = s.Bound
	return p
}

// Outside reports whether the clocks break what leases assume of them, so that two
// terms may be valid at once.
func (s *Setup) Outside() bool { return s.Drift > s.Bound || s.Jump > 0 }

// The limits of what makes sense, and ends.
const (
	maxNodes   = 50
	maxLatency = time.Minute
	maxDrift   = 0.9
	maxLoss    = 0.9
	maxFaults  = 1000
	maxTime    = 24 * time.Hour
)

// validate names the first value that is wrong, and what would be right.
func (s *Setup) validate() error {
	for _, rule := range []struct {
		ok   bool
		flag string
		is   any
		must string
	}{
		{s.Lease >= 100*time.Millisecond && s.Lease <= maxTime, "lease", text(s.Lease), fmt.Sprintf("from 100ms to %s", text(maxTime))},
		{s.Bound >= 0 && s.Bound < 0.5, "bound", percent(s.Bound), "from 0% to below 50%"},
		{s.Drift >= 0 && s.Drift <= maxDrift, "drift", percent(s.Drift), "from 0% to " + percent(maxDrift)},
		{s.Latency >= 0 && s.Latency <= maxLatency, "latency", text(s.Latency), fmt.Sprintf("from 0s to %s", text(maxLatency))},
		{s.Loss >= 0 && s.Loss <= maxLoss, "loss", percent(s.Loss), "from 0% to " + percent(maxLoss)},
		{s.Pause >= 0 && s.Pause <= maxTime, "pause", text(s.Pause), fmt.Sprintf("from 0s to %s", text(maxTime))},
		{s.Nodes >= 2 && s.Nodes <= maxNodes, "nodes", s.Nodes, fmt.Sprintf("from 2 to %d: one must be there to take over", maxNodes)},
		{s.Jump >= 0 && s.Jump <= maxTime, "jump", text(s.Jump), fmt.Sprintf("from 0s to %s", text(maxTime))},
		{s.Every > 0 && s.Every <= maxTime, "every", text(s.Every), fmt.Sprintf("above 0s, and at most %s", text(maxTime))},
		{s.Faults >= 1 && s.Faults <= maxFaults, "faults", s.Faults, fmt.Sprintf("from 1 to %d", maxFaults)},
	} {
		if !rule.ok {
			return fmt.Errorf("--%s is %v; it must be %s", rule.flag, rule.is, rule.must)
		}
	}
	return s.params().Validate()
}

// cluster returns the world of a setup with its clients, whose elections are all for
// the same lease.
func (s *Setup) cluster(c sim.Chooser) *sim.Cluster {
	cl := sim.NewCluster(c, s.params())
	cl.Net.Weather.Delay = sim.Exponential(s.Latency)
	s.lossy(cl)
	if s.Outside() {
		// Where two terms are valid at once, the one with the smaller token may have begun
		// after the other: its answer was slower. That the backend's tokens grow is looked
		// at in world.count.
		cl.Monitor.Tolerate(sim.OneValidTerm, sim.DeadlineFirst, sim.TokensGrow)
	}
	return cl
}
