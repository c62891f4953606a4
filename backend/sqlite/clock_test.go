package sqlite

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// blocked waits until n goroutines wait for the lock of a database.
func blocked(tb testing.TB, n int) {
	tb.Helper()
	eventually(tb, "calls wait for the lock", func() bool {
		stacks := make([]byte, 1<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "sqlite.(*Store).pause") >= n
	})
}

// A session that expires while its renewal waits for the lock has expired. With a
// clock that is read before the lock it would be renewed.
func TestClockIsReadUnderTheLock(t *testing.T) {
	c := &clock{}
	s := fresh(t, c.environment())
	session := s.session(time.Minute)
	other := s.raw()
	other.do(t, "BEGIN IMMEDIATE")
	renewed := make(chan error, 1)
	go func() {
		_, err := s.Renew(s.ctx, session, 0, false)
		renewed <- err
	}()
	blocked(t, 1)
	c.advance(time.Minute)
	other.do(t, "COMMIT")
	s.fails(<-renewed, backend.ErrExpired)
}

// stopping is a clock behind which a process is stopped: just after it has read
// the time, until it is told to go on.
type stopping struct {
	*clock
	stopped, goOn chan struct{}
}

func (c stopping) Now() actor.Instant {
	now := c.clock.Now()
	c.stopped <- struct{}{}
	<-c.goOn
	return now
}

// A process that is stopped in the middle of a renewal, for longer than the lease,
// commits what was true in the past. By then nobody has taken anything, because it
// had the lock; and what it commits is over at once.
func TestStoppedInTheMiddleOfARenewal(t *testing.T) {
	c := &clock{}
	a := fresh(t, c.environment())
	b := opened(t, a.path, c.environment())
	mine, theirs := a.session(time.Minute), b.session(time.Hour)
	token := a.win(mine, "name")

	slow := stopping{c, make(chan struct{}), make(chan struct{})}
	a.clock = slow
	renewal := make(chan backend.Renewal, 1)
	go func() {
		r, err := a.Renew(a.ctx, mine, 0, false)
		if err != nil {
			t.Error(err)
		}
		renewal <- r
	}()
	<-slow.stopped
	sent := c.Now()
	c.advance(2 * time.Minute)
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	_, err := b.Acquire(ctx, theirs, []string{"name"}, false)
	b.fails(err, context.DeadlineExceeded)
	close(slow.goOn)
	if r := <-renewal; sent.Add(r.Remaining) > c.Now() {
		t.Errorf("at %v, the owner believes in its lease until %v", c.Now(), sent.Add(r.Remaining))
	}
	if got := b.win(theirs, "name"); got <= token {
		t.Errorf("R19: the token %d came after %d", got, token)
	}
	a.clock = c
	_, err = a.Renew(a.ctx, mine, 0, false)
	a.fails(err, backend.ErrExpired)
}

// The same in the middle of an acquisition.
func TestStoppedInTheMiddleOfAnAcquisition(t *testing.T) {
	c := &clock{}
	a := fresh(t, c.environment())
	b := opened(t, a.path, c.environment())
	mine, theirs := a.session(time.Minute), b.session(time.Hour)

	slow := stopping{c, make(chan struct{}), make(chan struct{})}
	a.clock = slow
	won := make(chan uint64, 1)
	go func() {
		outcomes, err := a.Acquire(a.ctx, mine, []string{"name"}, false)
		if err != nil {
			t.Error(err)
		}
		won <- outcomes[0].Token
	}()
	<-slow.stopped
	c.advance(2 * time.Minute)
	close(slow.goOn)
	token := <-won
	a.clock = c
	if h := b.holder("name"); h.Held {
		t.Errorf("an expired session holds the name: %+v", h)
	}
	if got := b.win(theirs, "name"); got <= token {
		t.Errorf("R19: the token %d came after %d", got, token)
	}
}

// After the machine was started again, the clock begins anew. Sessions of before
// have ended, however far away their deadlines seem to be.
func TestAnotherStartOfTheMachine(t *testing.T) {
	before := &clock{}
	before.advance(100 * 24 * time.Hour)
	s := fresh(t, before.environment())
	session := s.session(time.Minute)
	token := s.win(session, "name")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	after := &clock{}
	after.advance(time.Minute)
	s = opened(t, s.path, after.environment())
	if h := s.holder("name"); h.Held {
		t.Errorf("it is still held: %+v", h)
	}
	if _, err := s.Renew(s.ctx, session, 0, false); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("R2: the old session was renewed: %v", err)
	}
	if got := s.win(s.session(time.Minute), "name"); got <= token {
		t.Errorf("R19: the token %d came after %d", got, token)
	}
}

// If the machine is started again so soon that an old deadline could be one of now,
// the old session seems alive, for its lease at most.
func TestAnotherStartOfTheMachineSoonAfterTheFirst(t *testing.T) {
	before := &clock{}
	before.advance(2 * time.Minute)
	s := fresh(t, before.environment())
	s.win(s.session(time.Minute), "name") // until 3 m
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	after := &clock{}
	after.advance(2*time.Minute + 30*time.Second)
	s = opened(t, s.path, after.environment())
	session := s.session(time.Hour)
	o := s.acquire(session, "name")
	if o.Won || o.Holder.Remaining > time.Minute {
		t.Errorf("got %+v", o)
	}
	after.advance(o.Holder.Remaining)
	s.win(session, "name")
}

// Clocks of two processors may differ a little; that is no new start.
func TestClockOfAnotherProcessor(t *testing.T) {
	a, b := &clock{}, &clock{}
	a.advance(time.Hour)
	b.advance(time.Hour - time.Millisecond)
	s := fresh(t, a.environment())
	session := s.session(time.Minute)
	s.win(session, "name")
	other := opened(t, s.path, b.environment())
	if o := other.acquire(other.session(time.Minute), "name"); o.Won {
		t.Error("a lease was taken from a session that is alive")
	}
	s.renew(session)
}
