//go:build unix

package redis

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

// Clients compete for one lease while their connections are cut, stall and lose answers, scripts are forgotten, and
// the server is stopped, and killed and started without its data. No two may believe at once that they own it, nor
// may one that it does twice; tokens rise; and when it is over, each gets its turn.
func TestChaos(t *testing.T) {
	const (
		crowd  = 5
		lease  = 500 * time.Millisecond
		rounds = 15
	)
	server, ns := started(t), namespace()
	ctx, cancel := context.WithCancel(t.Context())
	history := &history{}
	var living sync.WaitGroup
	defer living.Wait()
	defer cancel()
	contenders := make([]*contender, crowd)
	for i := range contenders {
		s, p := behind(t, server, ns)
		contenders[i] = &contender{store: s, proxy: p, number: i, lease: lease, history: history}
		living.Go(func() { contenders[i].compete(ctx) })
	}
	for range rounds {
		disturb(t, server, contenders[rand.N(crowd)].proxy, lease)
	}
	calm := history.count()
	eventually(t, "each client wins once more", func() bool {
		winners := make(map[int]bool)
		for _, term := range history.since(calm) {
			winners[term.who] = true
		}
		return len(winners) == crowd
	})
	cancel()
	living.Wait()
	history.judge(t)
}

// disturb is one fault, for a while.
func disturb(t *testing.T, server *servers.Server, p *proxy.Proxy, lease time.Duration) {
	defer p.Pass()
	long := rand.N(2 * lease) // also longer than the lease
	switch rand.N(10) {
	case 0, 1:
		p.Cut()
	case 2, 3:
		p.Stall()
	case 4, 5:
		p.DropAnswers(rand.N(100))
	case 6:
		p.CutAnswers(rand.N(100))
	case 7:
		if err := raw(t, server).ScriptFlush(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	case 8:
		if err := server.Pause(); err != nil {
			t.Error(err)
		}
		defer server.Resume()
	case 9:
		restart(t, server)
	}
	time.Sleep(long) // for the fault to last, at a random point of what the clients do
}

// tenure is a time during which a client believed to own the lease.
type tenure struct {
	who         int
	token       uint64
	from, until time.Time
}

// history is what all clients believed.
type history struct {
	mu    sync.Mutex
	terms []*tenure
}

func (h *history) begin(who int, token uint64, from, until time.Time) *tenure {
	h.mu.Lock()
	defer h.mu.Unlock()
	term := &tenure{who, token, from, until}
	h.terms = append(h.terms, term)
	return term
}

func (h *history) end(term *tenure, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	term.until = until
}

func (h *history) count() int { return len(h.since(0)) }

func (h *history) since(n int) []tenure {
	h.mu.Lock()
	defer h.mu.Unlock()
	var terms []tenure
	for _, term := range h.terms[n:] {
		terms = append(terms, *term)
	}
	return terms
}

func (h *history) judge(t *testing.T) {
	terms := h.since(0)
	t.Logf("%d terms", len(terms))
	slices.SortFunc(terms, func(a, b tenure) int { return cmp.Compare(a.token, b.token) })
	for i, term := range terms[1:] {
		before := terms[i]
		if term.token == before.token {
			t.Errorf("R19: %+v and %+v have one token", before, term)
		}
		if term.from.Before(before.until) {
			t.Errorf("%+v began before %+v was over", term, before)
		}
	}
}

// contender does by hand what a session does: it counts its deadline from when it asked (R8), never moves one that
// has passed (R10), and believes what a renewal lists only if it asked after it won (R24).
type contender struct {
	store   *store
	proxy   *proxy.Proxy
	number  int
	lease   time.Duration
	history *history

	session  string
	deadline time.Time
	term     *tenure
	released uint64 // the highest token that was given back
}

// ask makes one call, for a quarter of the lease at most. All errors but one mean that nobody knows.
func (c *contender) ask(call func(ctx context.Context) error) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.lease/4)
	defer cancel()
	sent = time.Now()
	return sent, call(ctx)
}

func (c *contender) compete(ctx context.Context) {
	for ctx.Err() == nil {
		if c.open() {
			c.live(ctx)
		}
	}
}

func (c *contender) open() bool {
	var grant backend.Grant
	sent, err := c.ask(func(ctx context.Context) (err error) {
		grant, err = c.store.Open(ctx, c.lease, "contender")
		return err
	})
	c.session, c.deadline, c.term, c.released = grant.Session, sent.Add(grant.Remaining), nil, 0
	return err == nil
}

func (c *contender) live(ctx context.Context) {
	renewed := time.Now()
	for time.Now().Before(c.deadline) {
		var err error
		switch now := time.Now(); {
		case ctx.Err() != nil:
			c.stop(now) // R23: closing frees the lease
			c.ask(func(ctx context.Context) error { return c.store.CloseSession(ctx, c.session) })
			return
		case now.Sub(renewed) > c.lease/4:
			renewed, err = now, c.renew()
		case c.term == nil:
			err = c.acquire()
		case rand.N(10) == 0:
			err = c.release()
		default:
			time.Sleep(time.Millisecond) // the work
		}
		if errors.Is(err, backend.ErrExpired) {
			c.stop(time.Now())
			return
		}
	}
}

// stop ends the term, if there is one and its deadline has not ended it.
func (c *contender) stop(now time.Time) {
	if c.term != nil && now.Before(c.term.until) {
		c.history.end(c.term, now)
	}
	c.term = nil
}

func (c *contender) renew() error {
	term := c.term
	var r backend.Renewal
	sent, err := c.ask(func(ctx context.Context) (err error) {
		r, err = c.store.Renew(ctx, c.session, 0, true)
		return err
	})
	if now := time.Now(); err != nil || !now.Before(c.deadline) {
		return err
	}
	c.deadline = sent.Add(r.Remaining)
	if term == nil {
		return nil
	}
	if !slices.Contains(r.Leases, backend.Lease{Name: "lease", Token: term.token}) {
		c.stop(time.Now()) // lost with what the server has forgotten
		return nil
	}
	c.history.end(term, c.deadline)
	return nil
}

func (c *contender) acquire() error {
	var o backend.Outcome
	_, err := c.ask(func(ctx context.Context) error {
		outcomes, err := c.store.Acquire(ctx, c.session, []string{"lease"}, false)
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
		c.term = c.history.begin(c.number, o.Token, now, c.deadline)
	}
	return nil
}

func (c *contender) release() error {
	token := c.term.token
	c.stop(time.Now()) // R23: before the lease is released
	c.released = token
	return c.giveBack(token)
}

func (c *contender) giveBack(token uint64) error {
	_, err := c.ask(func(ctx context.Context) error {
		return c.store.Release(ctx, c.session, []backend.Lease{{Name: "lease", Token: token}})
	})
	return err
}

// A server that is stopped for longer than a call may take: the call ends in time. What it was asked for it
// does when it goes on, by a clock that has gone on as well.
func TestStoppedServer(t *testing.T) {
	server := started(t)
	s := settled(t, server, namespace())
	const lease = time.Second
	long, short := s.session(bound), s.session(lease)
	token := s.win(short, "mine")
	s.win(long, "long")
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var calls sync.WaitGroup
	for name, call := range operations(s, short, token) {
		calls.Go(func() {
			const patience = 200 * time.Millisecond
			called := time.Now()
			err := call(within(t, patience))
			if took := time.Since(called); err == nil || errors.Is(err, backend.ErrExpired) || took > patience+bound/10 {
				t.Errorf("%s returned %v after %v", name, err, took)
			}
		})
	}
	calls.Wait()
	time.Sleep(time.Until(began.Add(lease + 50*time.Millisecond))) // until the session is dead
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	s.expired(short)
	if h := s.holder("mine"); h.Held {
		t.Errorf("the lease of a dead session is held by %+v", h)
	}
	if again := s.win(long, "mine"); again <= token {
		t.Errorf("R19: token %d came after %d", again, token)
	}
	if h := s.holder("new"); h.Held {
		t.Errorf("a dead session has acquired a name: %+v", h)
	}
}
