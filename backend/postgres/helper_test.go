package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/servers"
)

var (
	server = servers.Share(servers.Postgres, "-c", "max_connections=200")
	pooler = servers.Share(func(args ...string) (*servers.Server, error) {
		s, err := server.Get()
		if err != nil {
			return nil, err
		}
		return servers.PgBouncer(s, args...)
	})
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.During(m, pooler, server)) }

// bound is for how long a test waits for what must happen.
const bound = 30 * time.Second

func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	tb.Cleanup(cancel)
	return ctx
}

var schemas atomic.Int64

// newSchema makes the tables in a schema of the test's own, and returns the URL of it.
func newSchema(tb testing.TB, s *servers.Server) (url string, options Options) {
	tb.Helper()
	options.Schema = fmt.Sprintf("test_%d", schemas.Add(1))
	db := admin(tb, s)
	if err := Migrate(within(tb), db.Conn, options); err != nil {
		tb.Fatal(err)
	}
	return s.URL + "&simba_schema=" + options.Schema, options
}

// session is somebody's psql.
type psql struct {
	*pgx.Conn
	tb testing.TB
}

func admin(tb testing.TB, s *servers.Server) *psql {
	tb.Helper()
	conn, err := pgx.Connect(within(tb), s.URL+"&application_name=psql")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(context.Background()) })
	return &psql{conn, tb}
}

func (p *psql) do(sql string, args ...any) {
	p.tb.Helper()
	if _, err := p.Exec(within(p.tb), sql, args...); err != nil {
		p.tb.Fatalf("%s: %v", sql, err)
	}
}

func (p *psql) number(sql string, args ...any) (n int64) {
	p.tb.Helper()
	if err := p.QueryRow(within(p.tb), sql, args...).Scan(&n); err != nil {
		p.tb.Fatalf("%s: %v", sql, err)
	}
	return n
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
	s, err := Open(within(tb), url)
	if err != nil {
		tb.Fatal(err)
	}
	return kept(tb, s)
}

func kept(tb testing.TB, s *Store) *store {
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &store{s, tb, within(tb)}
}

// fresh returns a store in a new schema.
func fresh(tb testing.TB) *store {
	tb.Helper()
	url, _ := newSchema(tb, server.For(tb))
	return opened(tb, url)
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

// eventually waits for a condition.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for end := time.Now().Add(bound); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within %v: %s", bound, what)
		}
	}
}
