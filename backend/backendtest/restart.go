package backendtest

import (
	"errors"
	"time"

	"github.com/simba-go/simba/backend"
)

// restarted continues the check on a driver that replaces all of those before.
func (s *suite) restarted(driver backend.Driver) {
	s.drivers = []backend.Driver{driver}
	s.store.Driver = driver
}

// R19: tokens rise across restarts of the store, whether the lease was released,
// its session closed, or neither.
func tokensSurviveARestart(s *suite) {
	if s.store.Reopen == nil {
		s.Skip("the store has no Reopen")
	}
	s.drivers = s.drivers[:1]
	names := []string{"released", "closed", "kept"}
	old := make(map[string]uint64)
	for range 3 {
		c, closed := s.open(), s.open()
		for _, name := range names {
			owner := c
			if name == "closed" {
				owner = closed
			}
			token := owner.win(name)
			if token <= old[name] {
				s.Fatalf("R19: after a restart, token %d of %q came after token %d", token, name, old[name])
			}
			old[name] = token
		}
		c.free("released", old["released"])
		closed.close()
		s.restarted(s.store.Reopen(s.TB))
		c.driver = s.store.Driver
		c.renewOrDie("kept", old["kept"])
		c.close()
	}
}

// renewOrDie checks that a session has either survived a restart with its lease,
// or is dead.
func (c *client) renewOrDie(name string, token uint64) {
	c.Helper()
	switch _, err := c.tryRenew(0, true); {
	case err == nil:
		c.owns(c.holder(name), name, token)
		c.lists(backend.Lease{Name: name, Token: token})
	case errors.Is(err, backend.ErrExpired):
		c.vacant(name)
		c.dead("did not survive a restart")
	default:
		c.Fatalf("Renew after a restart: %v", err)
	}
}

// R2: what was dead before a restart is dead after it.
func deathSurvivesARestart(s *suite) {
	if s.store.Reopen == nil {
		s.Skip("the store has no Reopen")
	}
	s.drivers = s.drivers[:1]
	expired, _ := s.doomed("a")
	expired.expire("a")
	closed := s.open()
	closed.win("b")
	closed.close()
	s.restarted(s.store.Reopen(s.TB))
	for _, c := range []*client{expired, closed} {
		c.driver = s.store.Driver
		c.dead("had ended before a restart")
	}
	s.vacant("a", "b")
}

// R19: tokens stay ahead even of those that were lost with the data.
func tokensSurviveLoss(s *suite) {
	if s.store.Wipe == nil {
		s.Skip("the store has no Wipe")
	}
	s.drivers = s.drivers[:1]
	c := s.open()
	old := c.win("a")
	s.restarted(s.store.Wipe(s.TB))
	if s.store.Advance != nil {
		s.store.Advance(time.Second) // a restart takes time
	}
	c.driver = s.store.Driver
	c.dead("was lost with the store's data")
	s.higher(s.open(), "a", old)
}
