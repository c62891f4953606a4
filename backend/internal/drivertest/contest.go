package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/simba-go/simba/backend"
)

// Name is the lease that is contended for.
const Name = "contested"

// Term is a time during which a contender believed to own the lease.
type Term struct {
	// Who is the contender.
	Who int
	// Token is the fencing token.
	Token uint64
	// From and Until are its first and its last moment.
	From, Until time.Time
}

// Record is what contenders write down. Its zero value is empty; it is safe for concurrent use.
type Record struct {
	mu    sync.Mutex
	terms []Term
	index map[uint64]int
	fault error
}

func (r *Record) begin(t Term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil {
		r.index = make(map[uint64]int)
	}
	if i, used := r.index[t.Token]; used {
		r.fault = fmt.Errorf("R19: %d and %d have the token %d", r.terms[i].Who, t.Who, t.Token)
	}
	r.index[t.Token] = len(r.terms)
	r.terms = append(r.terms, t)
}

func (r *Record) renewed(token uint64, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.terms[r.index[token]].Until = until
}

func (r *Record) end(token uint64, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := &r.terms[r.index[token]]; at.Before(t.Until) {
		t.Until = at
	}
}

// Winners returns which contenders have had a term since the first n.
func (r *Record) Winners(n int) map[int]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	winners := make(map[int]bool)
	for _, t := range r.terms[n:] {
		winners[t.Who] = true
	}
	return winners
}

// Len is how many terms there were.
func (r *Record) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.terms)
}

// Check returns what was wrong: two terms at once, or a token that did not rise.
func (r *Record) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.terms, func(a, b Term) int { return a.From.Compare(b.From) })
	errs := []error{r.fault}
	for i := 1; i < len(r.terms); i++ {
		before, t := r.terms[i-1], r.terms[i]
		if t.Token <= before.Token {
			errs = append(errs, fmt.Errorf("R19: the token %d came after %d", t.Token, before.Token))
		}
		if t.From.Before(before.Until) {
			errs = append(errs, fmt.Errorf("%+v began before %+v was over", t, before))
		}
	}
	return errors.Join(errs...)
}

// Contender acquires, renews and releases the lease again and again. It counts its deadline from when
// it asked (R8), and never moves one that has passed (R10).
type Contender struct {
	// Driver is the store.
	Driver backend.Driver
	// Who is the contender in the record.
	Who int
	// Lease is for how long its sessions ask.
	Lease time.Duration
	// Record is where it writes what it believes.
	Record *Record
	// Refused reports whether an error belongs to the weather; nil for any.
	Refused func(error) bool

	session  string
	deadline time.Time
	token    uint64 // of the term, 0 without one
	released uint64 // the highest token that was given back
}

// Run contends until ctx is done, and begins anew when it has lost its session. It returns an error
// that does not belong to the weather.
func (c *Contender) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.live(ctx); err != nil {
			return fmt.Errorf("contender %d: %w", c.Who, err)
		}
	}
	return nil
}

// ask makes one call, for a quarter of the lease at most.
func (c *Contender) ask(call func(ctx context.Context) error) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Lease/4)
	defer cancel()
	sent = time.Now()
	return sent, call(ctx)
}

// ignore drops the errors that belong to the weather.
func (c *Contender) ignore(err error) error {
	if err == nil || errors.Is(err, context.DeadlineExceeded) || c.Refused == nil || c.Refused(err) {
		return nil
	}
	return err
}

func (c *Contender) valid() bool { return time.Now().Before(c.deadline) }

// live is one session.
func (c *Contender) live(ctx context.Context) error {
	var grant backend.Grant
	sent, err := c.ask(func(ctx context.Context) (err error) {
		grant, err = c.Driver.Open(ctx, c.Lease, "contender")
		return err
	})
	if err != nil {
		time.Sleep(c.Lease / 20)
		return c.ignore(err)
	}
	c.session, c.deadline, c.token, c.released = grant.Session, sent.Add(grant.Remaining), 0, 0
	renewed := sent
	for c.valid() {
		if ctx.Err() != nil {
			if c.token != 0 {
				c.Record.end(c.token, time.Now()) // R23: closing frees the lease
			}
			_, err := c.ask(func(ctx context.Context) error { return c.Driver.CloseSession(ctx, c.session) })
			return c.ignore(err)
		}
		switch now := time.Now(); {
		case now.Sub(renewed) > c.Lease/4:
			renewed, err = now, c.renew()
		case c.token == 0:
			err = c.acquire()
		case rand.N(10) == 0:
			err = c.release()
		default:
			err = nil
			time.Sleep(time.Millisecond) // the work
		}
		if errors.Is(err, backend.ErrExpired) {
			return nil
		}
		if err = c.ignore(err); err != nil {
			return err
		}
	}
	return nil
}

func (c *Contender) renew() error {
	var r backend.Renewal
	sent, err := c.ask(func(ctx context.Context) (err error) {
		r, err = c.Driver.Renew(ctx, c.session, 0, true)
		return err
	})
	if err != nil || !c.valid() {
		return err
	}
	c.deadline = sent.Add(r.Remaining)
	if c.token == 0 {
		return nil
	}
	if !slices.Contains(r.Leases, backend.Lease{Name: Name, Token: c.token}) {
		return fmt.Errorf("R24: the renewal lists %v, without the lease with token %d", r.Leases, c.token)
	}
	c.Record.renewed(c.token, c.deadline)
	return nil
}

func (c *Contender) acquire() error {
	var o backend.Outcome
	_, err := c.ask(func(ctx context.Context) error {
		outcomes, err := c.Driver.Acquire(ctx, c.session, []string{Name}, false)
		if err == nil {
			o = outcomes[0]
		}
		return err
	})
	switch now := time.Now(); {
	case err != nil:
		return err
	case !o.Won:
		time.Sleep(rand.N(10 * time.Millisecond))
	case o.Token <= c.released: // its release was lost (R28)
		return c.giveBack(o.Token)
	case now.Before(c.deadline):
		c.token = o.Token
		c.Record.begin(Term{Who: c.Who, Token: o.Token, From: now, Until: c.deadline})
	}
	return nil
}

func (c *Contender) release() error {
	token := c.token
	c.Record.end(token, time.Now()) // R23: before the lease is released
	c.token, c.released = 0, token
	return c.giveBack(token)
}

func (c *Contender) giveBack(token uint64) error {
	_, err := c.ask(func(ctx context.Context) error {
		return c.Driver.Release(ctx, c.session, []backend.Lease{{Name: Name, Token: token}})
	})
	return err
}
