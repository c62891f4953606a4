package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/servers"
)

// bound is for how long a test waits for what must happen.
const bound = 30 * time.Second

// shared is for tests that leave the server as it is.
var shared = servers.Share(servers.Redis)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.During(m, shared)) }

// started is a server of the test's own.
func started(tb testing.TB, args ...string) *servers.Server {
	tb.Helper()
	server, err := servers.Redis(args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return server
}

var namespaces atomic.Int64

// namespace is one that no other test has.
func namespace() string { return fmt.Sprintf("test-%d", namespaces.Add(1)) }

// at is the URL of a namespace.
func at(server *servers.Server, namespace string) string {
	return server.URL + "?namespace=" + namespace
}

// store is a store in a test: calls that must succeed do, or end the test.
type store struct {
	*Store
	tb  testing.TB
	ctx context.Context
}

// opened returns a store that is closed with the test.
func opened(tb testing.TB, url string) *store {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	tb.Cleanup(cancel)
	s, err := Open(ctx, url)
	if err != nil {
		tb.Fatal(err)
	}
	return wrap(tb, s)
}

func wrap(tb testing.TB, s *Store) *store {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	tb.Cleanup(cancel)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &store{s, tb, ctx}
}

// settle makes a namespace one that its server process has known for longer than any lease, so that it
// grants what it is asked for.
func settle(tb testing.TB, c goredis.Scripter, namespace string) {
	tb.Helper()
	const script = `return redis.call('HSET', KEYS[1], 'until', 0,
		'run', string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') .. ' ' ..
		string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)'))`
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if err := c.Eval(ctx, script, []string{"{" + namespace + "}:meta"}).Err(); err != nil {
		tb.Fatal(err)
	}
}

// fresh returns a store in a new namespace of the shared server.
func fresh(tb testing.TB) *store {
	tb.Helper()
	return settled(tb, shared.For(tb), namespace())
}

// settled returns a store in a namespace that has been there for long.
func settled(tb testing.TB, server *servers.Server, namespace string) *store {
	tb.Helper()
	settle(tb, raw(tb, server), namespace)
	return opened(tb, at(server, namespace))
}

func (s *store) session(lease time.Duration) string {
	s.tb.Helper()
	grant, err := s.Open(s.ctx, lease, "label")
	if err != nil {
		s.tb.Fatal(err)
	}
	return grant.Session
}

// doomed makes a session that owns a name and is about to expire.
func (s *store) doomed(name string) (session string) {
	s.tb.Helper()
	eventually(s.tb, "a short session acquires "+name, func() bool {
		session = s.session(20 * time.Millisecond)
		outcomes, err := s.Acquire(s.ctx, session, []string{name}, false)
		return err == nil && outcomes[0].Won // it may have expired before
	})
	return session
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
		s.tb.Fatalf("%q is not won: %+v", name, o.Holder)
	}
	return o.Token
}

// take acquires a number of names.
func (s *store) take(session string, names ...string) []backend.Lease {
	s.tb.Helper()
	var leases []backend.Lease
	for len(names) > 0 {
		n := min(len(names), backend.MaxBatch)
		outcomes, err := s.Acquire(s.ctx, session, names[:n], true)
		if err != nil {
			s.tb.Fatal(err)
		}
		for _, o := range outcomes {
			if !o.Won {
				s.tb.Fatalf("%q is not won: %+v", o.Name, o.Holder)
			}
			leases = append(leases, backend.Lease{Name: o.Name, Token: o.Token})
		}
		names = names[n:]
	}
	return leases
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

// expired checks that a session is dead.
func (s *store) expired(session string) {
	s.tb.Helper()
	if _, err := s.Renew(s.ctx, session, 0, true); !errors.Is(err, backend.ErrExpired) {
		s.tb.Fatalf("Renew returned %v in place of ErrExpired", err)
	}
}

// within is the context of one call, for which the store's own is too generous.
func within(tb testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// raw returns a client beside the store.
func raw(tb testing.TB, server *servers.Server) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	tb.Cleanup(func() { c.Close() })
	return c
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

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("orders:%d", i)
	}
	return names
}

// contains fails unless an error says each of the words.
func contains(tb testing.TB, err error, words ...string) {
	tb.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			tb.Errorf("the error does not say %q: %v", word, err)
		}
	}
}
