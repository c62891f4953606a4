package backendtest

import (
	"errors"
	"time"

	"github.com/simba-go/simba/backend"
)

func expiryFreesEverything(s *suite) {
	names := []string{"a", "b", "c"}
	c, old := s.doomed(names...)
	c.expire(names[0])
	s.vacant(names...)
	if all := s.inspect(); len(all) != 0 {
		s.Fatalf("Inspect of everything lists leases of a session that has expired: %+v", all)
	}
	next := s.open()
	for i, token := range next.tokens(next.acquire(true, names...)) {
		if token <= old[i] {
			s.Fatalf("R19: after its owner expired, %q was won with token %d, not above %d", names[i], token, old[i])
		}
	}
}

func expiredIsFinal(s *suite) {
	c, _ := s.doomed("a", "b")
	c.expire("a")
	c.dead("has expired")
	s.vacant("a", "b")
	next := s.open()
	token := next.win("a")
	c.dead("has expired and lost its lease")
	next.free("a", token)
	c.dead("has expired")
	s.vacant("a", "b")
}

func expiredTakesNothing(s *suite) {
	c, _ := s.doomed("own")
	c.expire("own")
	for _, all := range []bool{false, true} {
		outcomes, err := c.tryAcquire(all, "own", "free")
		if !errors.Is(err, backend.ErrExpired) {
			s.Fatalf("R2: Acquire by a session that has expired returned %+v, %v in place of ErrExpired", outcomes, err)
		}
	}
	s.vacant("own", "free")
	next := s.open()
	next.win("own")
	next.win("free")
}

func expiredReleasesNothing(s *suite) {
	c, old := s.doomed("a")
	c.expire("a")
	next := s.open()
	token := next.win("a")
	c.free("a", old[0])
	c.free("a", token)
	c.close()
	next.owns(s.holder("a"), "a", token)
	next.lists(backend.Lease{Name: "a", Token: token})
}

func expiryIsNeverEarly(s *suite) {
	if s.store.Advance != nil {
		s.expiryIsExact()
		return
	}
	for _, part := range []float64{0.6, 0.9, 0.99} {
		lease, told := s.config.Lease, false
		for try := 0; try < tries && !told; try++ {
			// At the very last moment, the renewal may well be too late.
			told = s.raceExpiry(lease, part) || part > 0.95
			lease *= 2
		}
		if !told {
			s.Fatalf("the machine is too slow to renew a session within %v", lease/2)
		}
	}
}

func (s *suite) expiryIsExact() {
	for _, part := range []float64{0.6, 0.9, 0.99} {
		c, old := s.doomed("contended")
		s.store.Advance(time.Duration(float64(c.granted) * part))
		s.open().lose("contended")
		c.renew()
		s.store.Advance(c.granted - time.Millisecond)
		s.open().lose("contended")
		s.store.Advance(time.Millisecond)
		s.higher(s.open(), "contended", old[0])
	}
}

func (s *suite) raceExpiry(lease time.Duration, part float64) bool {
	s.Helper()
	c, old := s.doomedFor(lease, "contended")
	other := s.open()
	won := make(chan backend.Outcome, 1)
	go s.pursue(other, "contended", 10*lease, won)
	time.Sleep(time.Until(c.sentAt.Add(time.Duration(float64(c.granted) * part))))
	_, err := c.tryRenew(0, false)
	end := c.sentAt.Add(c.granted) // the renewal's, if it succeeded
	if answered := time.Now(); errors.Is(err, backend.ErrExpired) && answered.Before(end) {
		s.Errorf("R9: the session expired %v before what it had been granted was over", end.Sub(answered))
	} else if err != nil && !errors.Is(err, backend.ErrExpired) {
		s.Errorf("Renew: %v", err)
	}
	o := <-won
	switch now := time.Now(); {
	case !o.Won:
		s.Fatalf("the lease of an expired session could not be taken: %+v", o)
	case now.Before(end):
		s.Fatalf("R9: the lease was given away %v before what its owner had been granted was over", end.Sub(now))
	case o.Token <= old[0]:
		s.Fatalf("R19: token %d came after token %d", o.Token, old[0])
	}
	c.dead("has expired") // also if its last renewal succeeded
	other.free("contended", o.Token)
	return err == nil
}

func (s *suite) higher(c *client, name string, old uint64) {
	s.Helper()
	token := c.win(name)
	if token <= old {
		s.Fatalf("R19: token %d of %q came after token %d", token, name, old)
	}
	c.free(name, token)
}

func (s *suite) pursue(c *client, name string, atMost time.Duration, won chan<- backend.Outcome) {
	var last backend.Outcome
	defer func() { won <- last }()
	for limit := time.Now().Add(atMost + s.config.Patience); time.Now().Before(limit); time.Sleep(pace) {
		outcomes, err := c.tryAcquire(false, name)
		if err != nil || len(outcomes) != 1 {
			s.Errorf("Acquire(%q): %+v, %v", name, outcomes, err)
			return
		}
		if last = outcomes[0]; last.Won {
			return
		}
	}
}
