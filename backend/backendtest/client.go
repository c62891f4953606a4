package backendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

const (
	// pace is the pause between two looks at a condition.
	pace = 2 * time.Millisecond
	// long is the lease of sessions that must not expire meanwhile.
	long = time.Minute
	// tries is how often a check starts again with a longer lease after the
	// machine itself was too slow for the last one.
	tries = 6
)

// suite is one check at work on a store of its own.
type suite struct {
	testing.TB
	config  Config
	store   Store
	drivers []backend.Driver
	opened  int
}

func newSuite(tb testing.TB, c Config) *suite {
	tb.Helper()
	if c.Lease <= 0 {
		c.Lease = 500 * time.Millisecond
	}
	if c.Patience <= 0 {
		c.Patience = 10 * time.Second
	}
	s := &suite{TB: tb, config: c, store: c.Open(tb)}
	s.drivers = []backend.Driver{s.store.Driver}
	if s.store.Peer != nil {
		s.drivers = append(s.drivers, s.store.Peer(tb))
	}
	return s
}

// call returns the context of a call that must succeed.
func (s *suite) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), s.config.Patience)
}

// until waits for a condition.
func (s *suite) until(what string, met func() bool) {
	s.Helper()
	for deadline := time.Now().Add(s.config.Patience); !met(); time.Sleep(pace) {
		if time.Now().After(deadline) {
			s.Fatalf("%s: not within %v", what, s.config.Patience)
		}
	}
}

// parallel runs n calls of f at the same time, and fails with what they return.
func (s *suite) parallel(n int, f func(i int) error) {
	s.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
}

// short prints a list that may have a thousand elements.
func short(list any) string { return fmt.Sprintf("%.200s", fmt.Sprint(list)) }

// client is a session. Its methods fail the check if the driver returns an error;
// those whose names start with try return it.
type client struct {
	*suite
	driver  backend.Driver
	id      string
	label   string
	asked   time.Duration
	granted time.Duration
	sentAt  time.Time // of the last request that made it live for granted
}

// open begins a session that lives for long enough. Sessions take turns at the
// drivers.
func (s *suite) open() *client { s.Helper(); return s.openFor(long, "host-1:4711") }

func (s *suite) openFor(lease time.Duration, label string) *client {
	s.Helper()
	c := &client{suite: s, driver: s.drivers[s.opened%len(s.drivers)], label: label, asked: lease, sentAt: time.Now()}
	s.opened++
	ctx, cancel := s.call()
	defer cancel()
	grant, err := c.driver.Open(ctx, lease, label)
	switch {
	case err != nil:
		s.Fatalf("Open(%v, %q): %v", lease, label, err)
	case grant.Session == "":
		s.Fatalf("Open(%v, %q) granted a session without an id", lease, label)
	case grant.Remaining <= 0 || grant.Remaining > lease:
		s.Fatalf("Open(%v, %q) granted %v: it must be above zero and no more than what was asked for",
			lease, label, grant.Remaining)
	}
	c.id, c.granted = grant.Session, grant.Remaining
	return c
}

// doomed begins a session that owns the names and is not renewed.
func (s *suite) doomed(names ...string) (*client, []uint64) {
	s.Helper()
	return s.doomedFor(s.config.Lease, names...)
}

func (s *suite) doomedFor(lease time.Duration, names ...string) (*client, []uint64) {
	s.Helper()
	for range tries {
		c := s.openFor(lease, "doomed")
		outcomes, err := c.tryAcquire(false, names...)
		if c.late(err) {
			lease *= 2
			continue
		}
		if err != nil {
			s.Fatalf("Acquire(%q): %v", names, err)
		}
		return c, c.tokens(outcomes)
	}
	s.Fatalf("the machine is too slow: a session with a lease of %v expired before its first call", lease/2)
	return nil, nil
}

// late reports whether a session may have expired only because this process was
// too slow to renew it, which says nothing about the store.
func (c *client) late(err error) bool {
	return errors.Is(err, backend.ErrExpired) && c.store.Advance == nil && time.Since(c.sentAt) >= c.granted
}

// expire lets the session's time run out; it owns name.
func (c *client) expire(name string) {
	c.Helper()
	if c.store.Advance != nil {
		c.store.Advance(c.granted)
		if h := c.holder(name); h.Held {
			c.Fatalf("R2: %q is still held by %q after the session's %v have passed", name, h.Session, c.granted)
		}
		return
	}
	// How much longer than granted a store keeps a session is its own affair.
	limit := c.sentAt.Add(10*c.granted + c.config.Patience)
	for h := c.holder(name); h.Held; h = c.holder(name) {
		if time.Now().After(limit) {
			c.Fatalf("R2: %q is still held by %q, %v after its session was granted %v",
				name, h.Session, time.Since(c.sentAt), c.granted)
		}
		time.Sleep(pace)
	}
}

func (c *client) tryRenew(known uint64, full bool) (backend.Renewal, error) {
	ctx, cancel := c.call()
	defer cancel()
	sentAt := time.Now()
	r, err := c.driver.Renew(ctx, c.id, known, full)
	if err == nil {
		c.sentAt, c.granted = sentAt, r.Remaining
	}
	return r, err
}

// renew asks for the whole list.
func (c *client) renew() backend.Renewal {
	c.Helper()
	r, err := c.tryRenew(0, true)
	if err != nil {
		c.Fatalf("Renew(%q): %v", c.id, err)
	}
	if !r.Complete {
		c.Fatalf("Renew(full) did not return the complete list")
	}
	return r
}

// tryAcquire returns an error as well unless there is one sensible outcome for
// each name, in order.
func (c *client) tryAcquire(all bool, names ...string) ([]backend.Outcome, error) {
	ctx, cancel := c.call()
	defer cancel()
	outcomes, err := c.driver.Acquire(ctx, c.id, names, all)
	if err != nil {
		return outcomes, err
	}
	if len(outcomes) != len(names) {
		return nil, fmt.Errorf("there are %d outcomes for %d names", len(outcomes), len(names))
	}
	for i, o := range outcomes {
		switch {
		case o.Name != names[i]:
			return nil, fmt.Errorf("the outcome of %q is in place of that of %q", o.Name, names[i])
		case o.Won && (o.Token == 0 || o.Token >= 1<<53):
			return nil, fmt.Errorf("R19: the token of %q is %d: it must be above zero and below 2^53", o.Name, o.Token)
		case o.Won && o.Holder.Held:
			return nil, fmt.Errorf("%q was won although %q holds it", o.Name, o.Holder.Session)
		case !o.Won && o.Holder.Name != o.Name:
			return nil, fmt.Errorf("the holder of %q is said to be that of %q", o.Name, o.Holder.Name)
		}
	}
	return outcomes, nil
}

func (c *client) acquire(all bool, names ...string) []backend.Outcome {
	c.Helper()
	outcomes, err := c.tryAcquire(all, names...)
	if err != nil {
		c.Fatalf("Acquire(%s): %v", short(names), err)
	}
	return outcomes
}

// tokens returns the tokens of outcomes that must all be wins.
func (c *client) tokens(outcomes []backend.Outcome) []uint64 {
	c.Helper()
	tokens := make([]uint64, len(outcomes))
	for i, o := range outcomes {
		if !o.Won {
			c.Fatalf("Acquire(%q) was lost to %+v: it should be free", o.Name, o.Holder)
		}
		tokens[i] = o.Token
	}
	return tokens
}

// win acquires a name that must be free and returns its token.
func (c *client) win(name string) uint64 {
	c.Helper()
	return c.tokens(c.acquire(false, name))[0]
}

// lose tries to acquire a name that must be taken.
func (c *client) lose(name string) backend.Holder {
	c.Helper()
	o := c.acquire(false, name)[0]
	if o.Won {
		c.Fatalf("Acquire(%q) was won with token %d although somebody else owns it", name, o.Token)
	}
	return o.Holder
}

func (c *client) tryRelease(leases ...backend.Lease) error {
	ctx, cancel := c.call()
	defer cancel()
	return c.driver.Release(ctx, c.id, leases)
}

func (c *client) release(leases ...backend.Lease) {
	c.Helper()
	if err := c.tryRelease(leases...); err != nil {
		c.Fatalf("Release(%s): %v", short(leases), err)
	}
}

func (c *client) free(name string, token uint64) {
	c.Helper()
	c.release(backend.Lease{Name: name, Token: token})
}

func (c *client) close() {
	c.Helper()
	ctx, cancel := c.call()
	defer cancel()
	if err := c.driver.CloseSession(ctx, c.id); err != nil {
		c.Fatalf("CloseSession(%q): %v", c.id, err)
	}
}

// dead checks that there is no way back for a session that has ended.
func (c *client) dead(why string) {
	c.Helper()
	if _, err := c.tryRenew(0, true); !errors.Is(err, backend.ErrExpired) {
		c.Fatalf("R2: Renew of a session that %s returned %v in place of ErrExpired", why, err)
	}
	if _, err := c.tryAcquire(false, "of-the-dead"); !errors.Is(err, backend.ErrExpired) {
		c.Fatalf("R2: Acquire by a session that %s returned %v in place of ErrExpired", why, err)
	}
	if h := c.holder("of-the-dead"); h.Held {
		c.Fatalf("R2: a session that %s acquired a name", why)
	}
}

// inspect asks the first driver, and checks the form of the answer.
func (s *suite) inspect(names ...string) []backend.Holder {
	s.Helper()
	ctx, cancel := s.call()
	defer cancel()
	holders, err := s.drivers[0].Inspect(ctx, names)
	if err != nil {
		s.Fatalf("Inspect(%s): %v", short(names), err)
	}
	if len(names) > 0 && len(holders) != len(names) {
		s.Fatalf("Inspect returned %d holders for %d names", len(holders), len(names))
	}
	for i, h := range holders {
		switch {
		case len(names) > 0 && h.Name != names[i]:
			s.Fatalf("Inspect returned the holder of %q in place of %q", h.Name, names[i])
		case len(names) == 0 && !h.Held:
			s.Fatalf("Inspect of everything returned %q, which is vacant", h.Name)
		case !h.Held && h != (backend.Holder{Name: h.Name}):
			s.Fatalf("Inspect returned details of a vacant name: %+v", h)
		}
	}
	return holders
}

func (s *suite) holder(name string) backend.Holder { s.Helper(); return s.inspect(name)[0] }

// owns checks what Inspect and a loser's outcome say about the owner of a name.
func (c *client) owns(h backend.Holder, name string, token uint64) {
	c.Helper()
	want := backend.Holder{Name: name, Held: true, Session: c.id, Label: c.label, Token: token, Remaining: h.Remaining}
	if h != want {
		c.Fatalf("the holder is %+v in place of %+v", h, want)
	}
	if h.Remaining <= 0 || h.Remaining > c.asked {
		c.Fatalf("%q is held for another %v by a session with a lease of %v", name, h.Remaining, c.asked)
	}
}

// vacant checks that nobody owns the names.
func (s *suite) vacant(names ...string) {
	s.Helper()
	for _, h := range s.inspect(names...) {
		if h.Held {
			s.Fatalf("%q is held by %q with token %d: it should be vacant", h.Name, h.Session, h.Token)
		}
	}
}
