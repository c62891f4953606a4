package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

// bound is for how long a test waits for what must happen.
const bound = 30 * time.Second

// clock stands still unless it is advanced, and the wall clock with it.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() actor.Instant      { return actor.Instant(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }
func (c *clock) wall() time.Time         { return time.Unix(1_800_000_000, c.now.Load()) }

func (c *clock) environment() environment {
	return environment{clock: c, wall: c.wall, network: func(string) (string, error) { return "", nil }}
}

// system is what Open uses.
func system() environment {
	clock, err := sharedClock()
	if err != nil {
		panic(err)
	}
	return environment{clock: clock, wall: time.Now, network: network}
}

// store is a store in a test: calls that must succeed do, or end the test.
type store struct {
	*Store
	tb  testing.TB
	ctx context.Context
}

// opened returns a store that is closed with the test.
func opened(tb testing.TB, path string, env environment) *store {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	tb.Cleanup(cancel)
	s, err := open(ctx, path, env)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &store{s, tb, ctx}
}

// fresh returns a store in a new file of the test.
func fresh(tb testing.TB, env environment) *store {
	tb.Helper()
	return opened(tb, filepath.Join(tb.TempDir(), "leases.db"), env)
}

func (s *store) session(lease time.Duration) string {
	s.tb.Helper()
	grant, err := s.Open(s.ctx, lease, "label")
	if err != nil {
		s.tb.Fatal(err)
	}
	return grant.Session
}

// acquire returns the outcome for one name.
func (s *store) acquire(session, name string) backend.Outcome {
	s.tb.Helper()
	outcomes, err := s.Acquire(s.ctx, session, []string{name}, false)
	if err != nil {
		s.tb.Fatal(err)
	}
	return outcomes[0]
}

// win acquires a name and returns the token.
func (s *store) win(session, name string) uint64 {
	s.tb.Helper()
	o := s.acquire(session, name)
	if !o.Won {
		s.tb.Fatalf("%q is held: %+v", name, o.Holder)
	}
	return o.Token
}

func (s *store) renew(session string) backend.Renewal {
	s.tb.Helper()
	r, err := s.Renew(s.ctx, session, 0, true)
	if err != nil {
		s.tb.Fatal(err)
	}
	return r
}

func (s *store) free(session, name string, token uint64) {
	s.tb.Helper()
	if err := s.Release(s.ctx, session, []backend.Lease{{Name: name, Token: token}}); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *store) holder(name string) backend.Holder {
	s.tb.Helper()
	holders, err := s.Inspect(s.ctx, []string{name})
	if err != nil {
		s.tb.Fatal(err)
	}
	return holders[0]
}

// raw returns a connection to the file beside the store.
func (s *store) raw() *conn {
	s.tb.Helper()
	return dialled(s.tb, s.path)
}

func dialled(tb testing.TB, path string) *conn {
	tb.Helper()
	c, err := dial(path, "rwc")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.close() })
	return c
}

// do runs statements one after the other.
func (c *conn) do(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, s := range statements {
		if err := c.run(s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// number returns the number that a query yields.
func (c *conn) number(tb testing.TB, query string) (n int64) {
	tb.Helper()
	if err := c.query(func(r row) { n = r.number(0) }, query); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for end := time.Now().Add(bound); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within %v: %s", bound, what)
		}
	}
}

// fails checks that an error is what it must be, and says which file it is about.
func (s *store) fails(err, want error) {
	s.tb.Helper()
	if !errors.Is(err, want) {
		s.tb.Fatalf("got the error %v in place of %v", err, want)
	}
}
