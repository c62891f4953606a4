package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// The token that follows is greater than the last one, and not below the wall
// clock, which may have been set back.
func TestTokens(t *testing.T) {
	c := &clock{}
	wall := time.UnixMicro(1_000_000)
	env := c.environment()
	env.wall = func() time.Time { return wall }
	s := fresh(t, env)
	session := s.session(time.Hour)
	for _, step := range []struct {
		wall int64
		want uint64
	}{
		{1_000_000, 1_000_000},
		{1_000_000, 1_000_001},
		{0, 1_000_002},
		{-5, 1_000_003},
		{2_000_000, 2_000_000},
		{maxToken - 1, maxToken - 1},
		{0, maxToken},
	} {
		wall = time.UnixMicro(step.wall)
		got := s.win(session, "name")
		if got != step.want {
			t.Errorf("at %d, the token is %d in place of %d", step.wall, got, step.want)
		}
		s.free(session, "name", got)
	}
	// There is none above; nothing must be taken then.
	for _, at := range []int64{0, maxToken + 1, math.MaxInt64 / 1000} {
		wall = time.UnixMicro(at)
		_, err := s.Acquire(s.ctx, session, []string{"name", "other"}, false)
		if err == nil || !strings.Contains(err.Error(), "wall clock") {
			t.Errorf("at %d: got %v", at, err)
		}
	}
	for _, h := range []backend.Holder{s.holder("name"), s.holder("other")} {
		if h.Held {
			t.Errorf("%+v", h)
		}
	}
}

// Before 1970, tokens count from 1.
func TestTokensBeforeTheEpoch(t *testing.T) {
	env := (&clock{}).environment()
	env.wall = func() time.Time { return time.Unix(-1, 0) }
	s := fresh(t, env)
	if got := s.win(s.session(time.Hour), "name"); got != 1 {
		t.Errorf("the token is %d", got)
	}
}

// A token is on the disk before anybody hears of it, and all else is not waited
// for: a crash of the machine ends the sessions anyway.
func TestOnlyTokensAreDurable(t *testing.T) {
	const full, normal = 2, 1
	c := &clock{}
	env := c.environment()
	var s *store
	level := func() int64 { return s.writer.conn.number(t, "PRAGMA synchronous") }
	var atToken int64
	env.wall = func() time.Time {
		atToken = level()
		return c.wall()
	}
	s = fresh(t, env)
	session := s.session(time.Hour)
	if got := level(); got != normal {
		t.Errorf("synchronous is %d for opening a session", got)
	}
	token := s.win(session, "name")
	if atToken != full {
		t.Errorf("synchronous is %d for a token", atToken)
	}
	s.free(session, "name", token)
	if got := level(); got != normal {
		t.Errorf("synchronous is %d for a release", got)
	}
	s.renew(session)
	if got := s.renewer.conn.number(t, "PRAGMA synchronous"); got != normal {
		t.Errorf("synchronous is %d for a renewal", got)
	}
}

// The end of a session is one row, however many leases it had; they are free as
// they are, and taken row by row when somebody wants them.
func TestEndOfASessionIsOneRow(t *testing.T) {
	const leases = 3 * backend.MaxBatch
	c := &clock{}
	s := fresh(t, c.environment())
	changes := func(f func()) int64 {
		before := s.writer.conn.number(t, "SELECT total_changes()")
		f()
		return s.writer.conn.number(t, "SELECT total_changes()") - before
	}
	many := func(session string) {
		for i := 0; i < leases; i += backend.MaxBatch {
			names := make([]string, backend.MaxBatch)
			for k := range names {
				names[k] = fmt.Sprintf("name-%d", i+k)
			}
			if _, err := s.Acquire(s.ctx, session, names, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	session := s.session(time.Hour)
	many(session)
	if n := changes(func() {
		if err := s.CloseSession(s.ctx, session); err != nil {
			t.Fatal(err)
		}
	}); n != 1 {
		t.Errorf("closing changed %d rows", n)
	}
	if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) != 0 {
		t.Errorf("%d leases are held: %v", len(held), err)
	}
	session = s.session(time.Hour)
	many(session)
	c.advance(time.Hour)
	other := s.session(time.Hour)
	if n := changes(func() { s.win(other, "name-1") }); n > 3 { // the dead session, the lease, the revision
		t.Errorf("taking one lease changed %d rows", n)
	}
	if _, err := s.Renew(s.ctx, session, 0, false); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("got %v", err)
	}
}

// Sessions whose processes died and that nobody asks about do not pile up.
func TestDeadSessionsAreSwept(t *testing.T) {
	c := &clock{}
	s := fresh(t, c.environment())
	alive := s.session(1000 * time.Hour)
	for range 1000 {
		s.session(time.Second)
		c.advance(time.Second)
	}
	if n := s.raw().number(t, "SELECT count(*) FROM sessions"); n > 200 {
		t.Errorf("there are %d sessions", n)
	}
	s.renew(alive)
}

// A renewal that finds its own session expired writes that down, so that it stays
// so whatever the clock says later.
func TestExpiryIsWrittenDown(t *testing.T) {
	c := &clock{}
	s := fresh(t, c.environment())
	for _, ask := range []func(session string) error{
		func(session string) error { _, err := s.Renew(s.ctx, session, 0, false); return err },
		func(session string) error { _, err := s.Acquire(s.ctx, session, []string{"x"}, false); return err },
	} {
		session := s.session(time.Minute)
		c.advance(time.Minute)
		s.fails(ask(session), backend.ErrExpired)
		c.advance(-time.Minute)
		s.fails(ask(session), backend.ErrExpired)
	}
}

// Whoever takes something from an expired session has ended it for good.
func TestTakingEndsTheSession(t *testing.T) {
	c := &clock{}
	s := fresh(t, c.environment())
	session, other := s.session(time.Minute), s.session(time.Hour)
	token := s.win(session, "a")
	s.win(session, "b")
	c.advance(time.Minute)
	s.win(other, "a")
	c.advance(-time.Minute) // the clock is no excuse
	_, err := s.Renew(s.ctx, session, 0, false)
	s.fails(err, backend.ErrExpired)
	if h := s.holder("b"); h.Held {
		t.Errorf("its other lease is held: %+v", h)
	}
	s.free(session, "a", token)
	if h := s.holder("a"); h.Session != other {
		t.Errorf("a late release had an effect: %+v", h)
	}
}

func TestLeaseMustBePositive(t *testing.T) {
	s := fresh(t, system())
	for _, lease := range []time.Duration{0, -time.Second} {
		if _, err := s.Open(s.ctx, lease, ""); err == nil || !strings.Contains(err.Error(), "above zero") {
			t.Errorf("%v: got %v", lease, err)
		}
	}
	session := s.session(math.MaxInt64) // for ever
	s.win(session, "name")
	s.renew(session)
}

// What an operator removes by hand is gone at the next complete list (R24).
func TestRowsRemovedByHand(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	s.win(session, "a")
	s.win(session, "b")
	s.raw().do(t, "DELETE FROM leases WHERE name = 'a'")
	if r := s.renew(session); len(r.Leases) != 1 || r.Leases[0].Name != "b" {
		t.Errorf("the session has %v", r.Leases)
	}
	s.raw().do(t, "DELETE FROM sessions")
	_, err := s.Renew(s.ctx, session, 0, false)
	s.fails(err, backend.ErrExpired)
}

// A panic leaves no transaction and no turn behind.
func TestPanicInACall(t *testing.T) {
	c := &clock{}
	env := c.environment()
	failing := true
	env.wall = func() time.Time {
		if failing {
			panic("a bug")
		}
		return c.wall()
	}
	s := fresh(t, env)
	session := s.session(time.Hour)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		s.Acquire(context.Background(), session, []string{"name"}, false)
	}()
	failing = false
	s.win(session, "name")
	if n := s.raw().number(t, "SELECT count(*) FROM leases"); n != 1 {
		t.Errorf("there are %d leases", n)
	}
}
