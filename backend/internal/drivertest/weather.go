package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// Contenders is how many there are in a contest.
const Contenders = 6

// Contend lets contenders compete for one lease, each with a driver of its own, while weather does
// something to the server or the network. No two may believe at once that they own the lease,
// tokens rise, and when it is over each gets its turn.
func Contend(t *testing.T, open func(i int) backend.Driver, weather func()) {
	const lease = time.Second
	var record Record
	ctx, end := context.WithCancel(context.Background())
	defer end()
	var running sync.WaitGroup
	for i := range Contenders {
		c := &Contender{Driver: open(i), Who: i, Lease: lease, Record: &record}
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	Eventually(t, "somebody wins", func() bool { return record.Len() > 0 })
	weather()
	calm := record.Len()
	Eventually(t, "each wins once more", func() bool { return len(record.Winners(calm)) == Contenders })
	end()
	running.Wait()
	t.Logf("%d terms", record.Len())
	if err := record.Check(); err != nil {
		t.Error(err)
	}
}

// Storm lets 16 sessions at a time acquire and release overlapping batches in different orders, while
// many of them expire in the middle. No call may fail but for that.
func Storm(t *testing.T, drivers ...backend.Driver) {
	const clients, rounds = 16, 25
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			for range rounds {
				if err := storm(drivers[i%len(drivers)], Numbered(40)); err != nil && !errors.Is(err, backend.ErrExpired) {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	running.Wait()
}

// storm is a short life of a session.
func storm(d backend.Driver, names []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), Bound)
	defer cancel()
	lease := time.Duration(20+rand.N(200)) * time.Millisecond
	grant, err := d.Open(ctx, lease, "storm")
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for range 4 {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		outcomes, err := d.Acquire(ctx, grant.Session, names[:1+rand.N(len(names)-1)], rand.N(3) == 0)
		if err != nil {
			return fmt.Errorf("acquire: %w", err)
		}
		leases := Won(outcomes)
		if err := d.Release(ctx, grant.Session, leases[rand.N(len(leases)+1):]); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		if _, err := d.Renew(ctx, grant.Session, 0, true); err != nil {
			return fmt.Errorf("renew: %w", err)
		}
	}
	if rand.N(2) == 0 {
		return nil // and let it expire
	}
	if err := d.CloseSession(ctx, grant.Session); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
