//go:build unix

package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Processes compete for one lease while some of them are killed, and others stopped
// for longer than the lease. No two may believe at once that they own it, by the
// clock that they share; tokens rise; and when it is over, each gets its turn.
func TestKilledAndStoppedProcesses(t *testing.T) {
	const lease = 500 * time.Millisecond
	dir := t.TempDir()
	path, log := filepath.Join(dir, "leases.db"), filepath.Join(dir, "log")
	begin := func() *process { return start(t, "contend", path, log, lease) }
	processes := make([]*process, crowd)
	for i := range processes {
		processes[i] = begin()
	}
	for _, p := range processes {
		p.expect("ready")
	}
	signal := func(p *process, s os.Signal) {
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	const rounds = 10
	for range rounds {
		time.Sleep(rand.N(lease / 2)) // at random points
		i := rand.N(crowd)
		signal(processes[i], syscall.SIGKILL)
		processes[i].wait()
		processes[i] = begin()

		stopped := processes[(i+1+rand.N(crowd-1))%crowd]
		signal(stopped, syscall.SIGSTOP)
		time.Sleep(rand.N(2 * lease))
		signal(stopped, syscall.SIGCONT)
	}
	// All are well again.
	calm := len(readTerms(t, log))
	eventually(t, "each process wins once more", func() bool {
		winners := make(map[int]bool)
		for _, term := range readTerms(t, log)[calm:] {
			winners[term.pid] = true
		}
		return !slices.ContainsFunc(processes, func(p *process) bool { return !winners[p.cmd.Process.Pid] })
	})
	for _, p := range processes {
		p.in.Close()
	}
	for _, p := range processes {
		if err := p.wait(); err != nil {
			t.Errorf("a process ended with %v: %s", err, p.errs.String())
		}
	}
	terms := readTerms(t, log)
	t.Logf("%d terms", len(terms))
	slices.SortFunc(terms, func(a, b tenure) int { return cmp.Compare(a.from, b.from) })
	for i, term := range terms[1:] {
		before := terms[i]
		if term.token <= before.token {
			t.Errorf("R19: the token %d came after %d", term.token, before.token)
		}
		if term.from < before.until {
			t.Errorf("%+v began before %+v was over", term, before)
		}
	}
}

// tenure is a time during which a process believed to own the lease.
type tenure struct {
	pid         int
	token       uint64
	from, until actor.Instant
}

// readTerms reads the log of the processes. Each line is written at once.
func readTerms(tb testing.TB, log string) []tenure {
	text, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		tb.Fatal(err)
	}
	var terms []tenure
	index := make(map[uint64]int)
	for line := range strings.Lines(string(text)) {
		var event string
		var pid int
		var token uint64
		var at, until actor.Instant
		if _, err := fmt.Sscan(line, &event, &pid, &token, &at, &until); err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		switch event {
		case "win":
			if i, used := index[token]; used {
				tb.Fatalf("R19: %d and %d have the token %d", terms[i].pid, pid, token)
			}
			index[token] = len(terms)
			terms = append(terms, tenure{pid, token, at, until})
		case "renewed":
			terms[index[token]].until = until
		case "end":
			terms[index[token]].until = min(terms[index[token]].until, at)
		}
	}
	return terms
}

func init() { roles["contend"] = contendRole }

// contendRole: PATH LOG LEASE. It acquires, renews and releases one name until its
// input ends, and begins anew when it has lost its session.
func contendRole(p *player) error {
	s, err := open(context.Background(), p.args[0], system())
	if err != nil {
		return err
	}
	defer s.Close()
	log, err := os.OpenFile(p.args[1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.await()
	}()
	p.say("ready")
	c := &contender{store: s, log: log, lease: p.duration(2)}
	for {
		select {
		case <-ended:
			return nil
		default:
		}
		if err := c.live(ended); err != nil {
			return err
		}
	}
}

// contender does by hand what a session does: it counts its deadline from when it
// asked (R8), and never moves one that has passed (R10).
type contender struct {
	store    *Store
	log      *os.File
	lease    time.Duration
	session  string
	deadline actor.Instant
	token    uint64 // of the term, 0 without one
	released uint64 // the highest token that was given back
}

// ask makes one call, for a quarter of the lease at most.
func (c *contender) ask(call func(ctx context.Context) error) (sent actor.Instant, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.lease/4)
	defer cancel()
	sent = c.store.clock.Now()
	err = call(ctx)
	if err != nil && !isExpired(err) && !errors.Is(err, context.DeadlineExceeded) {
		return sent, fmt.Errorf("unexpected: %w", err)
	}
	return sent, err
}

func (c *contender) write(event string, at, until actor.Instant) {
	fmt.Fprintf(c.log, "%s %d %d %d %d\n", event, os.Getpid(), c.token, int64(at), int64(until))
}

func (c *contender) valid() bool { return c.store.clock.Now() < c.deadline }

// live is one session. It returns an error that should not happen.
func (c *contender) live(ended <-chan struct{}) error {
	var grant backend.Grant
	sent, err := c.ask(func(ctx context.Context) (err error) {
		grant, err = c.store.Open(ctx, c.lease, "contender")
		return err
	})
	if err != nil {
		return ignore(err)
	}
	c.session, c.deadline, c.token, c.released = grant.Session, sent.Add(grant.Remaining), 0, 0
	renewed := sent
	for c.valid() {
		select {
		case <-ended:
			if c.token != 0 {
				c.write("end", c.store.clock.Now(), 0) // R23: closing frees the lease
			}
			return c.store.CloseSession(context.Background(), c.session)
		default:
		}
		switch now := c.store.clock.Now(); {
		case now.Sub(renewed) > c.lease/4:
			renewed, err = now, c.renew()
		case c.token == 0:
			err = c.acquire()
		case rand.N(10) == 0:
			err = c.release()
		default:
			time.Sleep(time.Millisecond) // the work
		}
		if isExpired(err) {
			return nil
		}
		if err = ignore(err); err != nil {
			return err
		}
	}
	return nil
}

// ignore drops the errors that belong to this life.
func ignore(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (c *contender) renew() error {
	var r backend.Renewal
	sent, err := c.ask(func(ctx context.Context) (err error) {
		r, err = c.store.Renew(ctx, c.session, 0, true)
		return err
	})
	if err != nil {
		return err
	}
	if c.valid() {
		c.deadline = sent.Add(r.Remaining)
		if c.token != 0 {
			c.write("renewed", sent, c.deadline)
		}
	}
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
	switch now := c.store.clock.Now(); {
	case err != nil:
		return err
	case !o.Won:
		time.Sleep(rand.N(10 * time.Millisecond))
	case o.Token <= c.released: // its release was lost (R28)
		return c.giveBack(o.Token)
	case now < c.deadline:
		c.token = o.Token
		c.write("win", now, c.deadline)
	}
	return nil
}

func (c *contender) release() error {
	token := c.token
	c.write("end", c.store.clock.Now(), 0) // R23: before the lease is released
	c.token, c.released = 0, token
	return c.giveBack(token)
}

func (c *contender) giveBack(token uint64) error {
	_, err := c.ask(func(ctx context.Context) error {
		return c.store.Release(ctx, c.session, []backend.Lease{{Name: "lease", Token: token}})
	})
	return err
}
