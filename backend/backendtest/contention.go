package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/backend"
)

// A call whose context is done already returns soon, whatever it returns. What
// went before is as it was.
func cancelledCallsReturn(s *suite) {
	c := s.open()
	token := c.win("a")
	lease := backend.Lease{Name: "a", Token: token}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	calls := map[string]func() error{
		"Open":         func() error { _, err := c.driver.Open(cancelled, long, ""); return err },
		"Renew":        func() error { _, err := c.driver.Renew(cancelled, c.id, 0, true); return err },
		"Acquire":      func() error { _, err := c.driver.Acquire(cancelled, c.id, []string{"b"}, false); return err },
		"Inspect":      func() error { _, err := c.driver.Inspect(cancelled, []string{"a"}); return err },
		"Release":      func() error { return c.driver.Release(cancelled, c.id, []backend.Lease{{Name: "b", Token: 1}}) },
		"CloseSession": func() error { return c.driver.CloseSession(cancelled, "no-such-session") },
	}
	for name, call := range calls {
		done := make(chan error, 1)
		go func() { done <- call() }()
		select {
		case err := <-done:
			if errors.Is(err, backend.ErrExpired) {
				s.Fatalf("%s with a cancelled context returned ErrExpired for a session that lives: that is final", name)
			}
		case <-time.After(s.config.Patience):
			s.Fatalf("%s did not return within %v after its context was cancelled", name, s.config.Patience)
		}
	}
	c.owns(s.holder("a"), "a", token)
	c.release(lease)
}

// Whatever a call that was given up did or did not do, the next renewal's list is
// what the session owns, and releasing that frees everything.
func unknownOutcomesCanBeFound(s *suite) {
	c := s.open()
	names := numbered("unknown-%d", 20)
	for range 10 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(2000))*time.Microsecond)
		outcomes, err := c.driver.Acquire(ctx, c.id, names, false)
		cancel()
		if errors.Is(err, backend.ErrExpired) {
			s.Fatalf("an acquisition that was given up returned ErrExpired for a session that lives: that is final")
		}
		leases := c.renew().Leases
		if err == nil && len(leases) != len(outcomes) {
			s.Fatalf("an acquisition of %d names succeeded, and the renewal lists %d leases", len(outcomes), len(leases))
		}
		for _, l := range leases {
			c.owns(s.holder(l.Name), l.Name, l.Token)
		}
		c.release(leases...)
		// A call that was given up may still be carried out after a later one.
		s.until("R25: releasing what the renewals list frees what an acquisition took that was given up", func() bool {
			for _, h := range s.inspect(names...) {
				if h.Held {
					c.release(c.renew().Leases...)
					return false
				}
			}
			return true
		})
	}
}

func numbered(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

func (s *suite) clients(n int) []*client {
	s.Helper()
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = s.open()
	}
	return clients
}

// Of sessions that acquire a free name at the same moment, exactly one wins.
func oneWinner(s *suite) {
	const rounds = 8
	clients, names := s.clients(8), numbered("name-%d", 10)
	last := make(map[string]uint64)
	for range rounds {
		got := make([][]backend.Outcome, len(clients))
		s.parallel(len(clients), func(i int) (err error) {
			shuffled := shuffle(names)
			got[i], err = clients[i].tryAcquire(false, shuffled...)
			return err
		})
		winner := make(map[string]*client)
		token := make(map[string]uint64)
		for i, outcomes := range got {
			for _, o := range outcomes {
				switch {
				case !o.Won:
				case winner[o.Name] != nil:
					s.Fatalf("%q was won by %q and by %q", o.Name, winner[o.Name].id, clients[i].id)
				case o.Token <= last[o.Name]:
					s.Fatalf("R19: token %d of %q came after token %d", o.Token, o.Name, last[o.Name])
				default:
					winner[o.Name], token[o.Name] = clients[i], o.Token
				}
			}
		}
		for _, h := range s.inspect(names...) {
			if winner[h.Name] == nil {
				s.Fatalf("nobody won %q, which was free", h.Name)
			}
			winner[h.Name].owns(h, h.Name, token[h.Name])
			winner[h.Name].free(h.Name, h.Token)
		}
		last = token
	}
}

func shuffle(names []string) []string {
	shuffled := append([]string(nil), names...)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return shuffled
}

// Between winning a name and releasing it, nobody else wins it, and the tokens
// rise in the order of the terms.
func oneOwnerAtATime(s *suite) {
	const attempts = 25
	clients := s.clients(6)
	var owner atomic.Pointer[client]
	var last atomic.Uint64
	s.parallel(len(clients), func(i int) error {
		c := clients[i]
		for range attempts {
			outcomes, err := c.tryAcquire(false, "critical")
			if err != nil {
				return err
			}
			o := outcomes[0]
			if !o.Won {
				continue
			}
			if !owner.CompareAndSwap(nil, c) {
				return fmt.Errorf("%q won the lease while it was another's", c.id)
			}
			// Only owners come here, one at a time, so load and store are enough.
			if previous := last.Load(); o.Token <= previous {
				return fmt.Errorf("R19: token %d came after token %d", o.Token, previous)
			}
			last.Store(o.Token)
			time.Sleep(pace) // a term that others have the time to overlap
			owner.Store(nil)
			if err := c.tryRelease(backend.Lease{Name: "critical", Token: o.Token}); err != nil {
				return err
			}
		}
		return nil
	})
	if last.Load() == 0 {
		s.Fatalf("nobody won a lease that was free most of the time")
	}
}

// Sessions that want all or none of overlapping names at the same moment, in
// different orders, do not block each other for ever, and none gets a part.
func allOrNoneUnderContention(s *suite) {
	const rounds, size = 10, 5
	clients, names := s.clients(6), numbered("part-%d", 8) // any two of them want something in common
	for range rounds {
		got := make([][]backend.Outcome, len(clients))
		s.parallel(len(clients), func(i int) (err error) {
			got[i], err = clients[i].tryAcquire(true, shuffle(names)[:size]...)
			return err
		})
		held := s.inspect() // before anything is released
		winner := ""
		for i, c := range clients {
			leases := c.renew().Leases
			if won := len(wins(got[i])); won != len(leases) {
				s.Fatalf("a session that won %d names has %d leases", won, len(leases))
			}
			switch {
			case len(leases) == 0:
				continue
			case len(leases) != size:
				s.Fatalf("all or none of %d names took %d", size, len(leases))
			case winner != "":
				s.Fatalf("%q and %q both have %d of %d names", winner, c.id, size, len(names))
			}
			winner = c.id
			c.release(leases...)
		}
		for _, h := range held {
			if h.Session != winner {
				s.Fatalf("%q holds %q without having all", h.Session, h.Name)
			}
		}
	}
	s.vacant(names...)
}

// wins returns the leases that were won.
func wins(outcomes []backend.Outcome) (leases []backend.Lease) {
	for _, o := range outcomes {
		if o.Won {
			leases = append(leases, backend.Lease{Name: o.Name, Token: o.Token})
		}
	}
	return leases
}

// R30 also holds for attempts of one session that overtake each other.
func acquireAgainUnderContention(s *suite) {
	const rounds, attempts = 8, 6
	c := s.open()
	for round := range rounds {
		name := fmt.Sprintf("again-%d", round)
		tokens := make([]uint64, attempts)
		s.parallel(attempts, func(i int) error {
			outcomes, err := c.tryAcquire(i%2 == 0, name)
			if err != nil {
				return err
			}
			if !outcomes[0].Won {
				return fmt.Errorf("a session lost %q to itself: %+v", name, outcomes[0].Holder)
			}
			tokens[i] = outcomes[0].Token
			return nil
		})
		for _, token := range tokens {
			if token != tokens[0] {
				s.Fatalf("R30: one session won %q with the tokens %d", name, tokens)
			}
		}
	}
}

// Renewals keep everything alive, so they do not queue up behind acquisitions.
func renewalIsNotStarved(s *suite) {
	const renewals, load = 20, 4
	c := s.open()
	c.win("kept")
	busy := s.clients(load)
	var started, stop atomic.Int64
	var running sync.WaitGroup
	for i, b := range busy {
		running.Go(func() {
			names := numbered(fmt.Sprintf("busy-%d-%%d", i), 100)
			for stop.Load() == 0 {
				started.Add(1)
				if err := b.churn(names); err != nil {
					s.Errorf("under load: %v", err)
					return
				}
			}
		})
	}
	defer running.Wait()
	defer stop.Store(1)
	s.until("load", func() bool { return started.Load() > load })
	if err := c.renewals(renewals); err != nil {
		s.Fatalf("while %d sessions acquired: %v", load, err)
	}
}

// churn acquires and releases the names once.
func (c *client) churn(names []string) error {
	outcomes, err := c.tryAcquire(false, names...)
	if err != nil {
		return err
	}
	return c.tryRelease(wins(outcomes)...)
}

// renewals renews n times within the time that a single call may take.
func (c *client) renewals(n int) error {
	ctx, cancel := c.call()
	defer cancel()
	for i := range n {
		time.Sleep(pace) // so that the load gets ahead again
		if _, err := c.driver.Renew(ctx, c.id, 0, true); err != nil {
			return fmt.Errorf("renewal %d of %d, which should take well under %v together: %w", i+1, n, c.config.Patience, err)
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%d renewals took more than %v", n, c.config.Patience)
	}
	return nil
}
