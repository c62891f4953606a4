package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/sim"
)

// calls counts what a client asks of the backend.
type calls struct {
	renewals, attempts, releases int
	names                        int // in attempts
}

// countCalls counts the calls of one client.
func countCalls(c *sim.Cluster, cl *sim.Client) *calls {
	n := &calls{}
	c.OnSend(func(from, _ actor.Ref, msg actor.Message) {
		if from != cl.Session {
			return
		}
		switch m := msg.(type) {
		case *backend.RenewRequest:
			n.renewals++
		case *backend.AcquireRequest:
			n.attempts++
			n.names += len(m.Names)
		case *backend.ReleaseRequest:
			n.releases++
		}
	})
	return n
}

// TestTenThousandElections: the number of renewals does not depend on the number of
// leases, and that of attempts not on the number of elections, beyond chunks.
func TestTenThousandElections(t *testing.T) {
	const (
		elections = 10_000
		chunks    = elections / backend.MaxBatch
		rounds    = 6
	)
	c := sim.NewCluster(sim.Random(1), params)
	c.Net.Weather.Delay = sim.Uniform(0, 20*time.Millisecond)
	leader, follower := c.NewClient("leader", 0, 1), c.NewClient("follower", 0, 1)
	leads, follows := countCalls(c, leader), countCalls(c, follower)
	for i := range elections {
		leader.Elect(fmt.Sprint("n", i), sim.Script{})
	}
	if !c.RunUntil(time.Second, func() bool { return leader.Live() && leader.View().Leases == elections }) {
		t.Fatalf("the leader has %d leases after a second: %v", leader.View().Leases, c.Err())
	}
	if leads.attempts > chunks+2 {
		t.Errorf("%d calls to win %d names, want at most %d", leads.attempts, elections, chunks+2)
	}
	for i := range elections {
		follower.Elect(fmt.Sprint("n", i), sim.Script{})
	}
	c.RunFor(time.Second)
	*leads, *follows = calls{}, calls{}
	c.RunFor(rounds * params.RenewInterval)

	for who, n := range map[string]*calls{"leader": leads, "follower": follows} {
		if n.renewals != rounds {
			t.Errorf("the %s renews %d times in %d intervals", who, n.renewals, rounds)
		}
	}
	if leads.attempts+leads.releases > 0 {
		t.Errorf("the leader makes %+v", *leads)
	}
	// A period is half an interval at least, and so there are at most two in each.
	if most := 2 * rounds * (chunks + 2); follows.attempts == 0 || follows.attempts > most {
		t.Errorf("the follower makes %d attempts in %d periods, want 1 to %d", follows.attempts, 2*rounds, most)
	}
	if least := follows.attempts / (chunks + 2) * elections; follows.names < least {
		t.Errorf("%d attempts were for %d names, want at least %d", follows.attempts, follows.names, least)
	}
	t.Logf("in %d intervals with %d names: %d renewals by the leader; %d renewals and %d attempts by the follower",
		rounds, elections, leads.renewals, follows.renewals, follows.attempts)

	// All of them change hands at once.
	*leads, *follows = calls{}, calls{}
	closed := leader.Close()
	if !c.RunUntil(time.Second, func() bool { return follower.View().Leases == elections && closed.Done() }) {
		t.Fatalf("the follower has %d leases a second after the leader was closed: %v", follower.View().Leases, c.Err())
	}
	if leads.releases > chunks+2 || follows.attempts > 2*(chunks+2) {
		t.Errorf("%d calls to release, %d to acquire %d names", leads.releases, follows.attempts, elections)
	}
	t.Logf("all %d names changed hands by %d releases and %d attempts", elections, leads.releases, follows.attempts)
}
