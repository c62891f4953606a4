package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/simba-go/simba/backend/internal/drivertest"
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

func TestMain(m *testing.M) {
	drivertest.Parallel()
	goleak.VerifyTestMain(servers.During(m, pooler, server))
}

var schemas atomic.Int64

// newSchema makes the tables in a schema of the test's own, and returns the URL of it.
func newSchema(tb testing.TB, s *servers.Server) (url string, options Options) {
	tb.Helper()
	options.Schema = fmt.Sprintf("test_%d", schemas.Add(1))
	db := admin(tb, s)
	if err := Migrate(drivertest.Within(tb), db.Conn, options); err != nil {
		tb.Fatal(err)
	}
	return s.URL + "&simba_schema=" + options.Schema + "&application_name=" + options.Schema, options
}

// session is somebody's psql.
type psql struct {
	*pgx.Conn
	tb testing.TB
}

func admin(tb testing.TB, s *servers.Server) *psql {
	tb.Helper()
	conn, err := pgx.Connect(drivertest.Within(tb), s.URL+"&application_name=psql")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(context.Background()) })
	return &psql{conn, tb}
}

func (p *psql) do(sql string, args ...any) {
	p.tb.Helper()
	if _, err := p.Exec(drivertest.Within(p.tb), sql, args...); err != nil {
		p.tb.Fatalf("%s: %v", sql, err)
	}
}

func (p *psql) number(sql string, args ...any) (n int64) {
	p.tb.Helper()
	if err := p.QueryRow(drivertest.Within(p.tb), sql, args...).Scan(&n); err != nil {
		p.tb.Fatalf("%s: %v", sql, err)
	}
	return n
}

// store is a store in a test.
type store struct {
	*Store
	*drivertest.Client
}

// opened returns a store that is closed with the test.
func opened(tb testing.TB, url string) *store {
	tb.Helper()
	s, err := Open(drivertest.Within(tb), url)
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
	return &store{s, drivertest.NewClient(tb, s)}
}

// fresh returns a store in a new schema.
func fresh(tb testing.TB) *store {
	tb.Helper()
	url, _ := newSchema(tb, server.For(tb))
	return opened(tb, url)
}
