package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/servers"
)

// The server writes what is committed to the system at once, so that it survives being killed.
func mariaDB(args ...string) (*servers.Server, error) {
	return servers.MariaDB(append([]string{"--innodb-flush-log-at-trx-commit=2"}, args...)...)
}

var server = servers.Share(mariaDB)

func TestMain(m *testing.M) {
	drivertest.Parallel()
	goleak.VerifyTestMain(servers.During(m, server))
}

var databases atomic.Int64

// newDatabase makes the tables in a database of the test's own, and returns the URL of it.
func newDatabase(tb testing.TB, s *servers.Server) (url string) {
	tb.Helper()
	url = empty(tb, s)
	migrated(tb, url)
	return url
}

func empty(tb testing.TB, s *servers.Server) (url string) {
	tb.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	admin(tb, "mysql://root@"+s.Addr+"/mysql").do("CREATE DATABASE " + name)
	return "mysql://root@" + s.Addr + "/" + name
}

func migrated(tb testing.TB, url string) {
	tb.Helper()
	config, err := ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	if err := Migrate(drivertest.Within(tb), config); err != nil {
		tb.Fatal(err)
	}
}

// shell is somebody's command-line client: one connection.
type shell struct {
	*sql.Conn
	tb testing.TB
}

func admin(tb testing.TB, url string) *shell {
	tb.Helper()
	config, err := ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	config.InterpolateParams = true
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := db.Conn(drivertest.Within(tb))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close()
		db.Close()
	})
	return &shell{conn, tb}
}

func (s *shell) do(query string, args ...any) {
	s.tb.Helper()
	if _, err := s.ExecContext(drivertest.Within(s.tb), query, args...); err != nil {
		s.tb.Fatalf("%s: %v", query, err)
	}
}

func (s *shell) number(query string, args ...any) (n int64) {
	s.tb.Helper()
	if err := s.QueryRowContext(drivertest.Within(s.tb), query, args...).Scan(&n); err != nil {
		s.tb.Fatalf("%s: %v", query, err)
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
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &store{s, drivertest.NewClient(tb, s)}
}

// beside returns a store in a new database, and a client beside it.
func beside(tb testing.TB) (*store, *shell) {
	tb.Helper()
	url := newDatabase(tb, server.For(tb))
	return opened(tb, url), admin(tb, url)
}

// fails checks that an error is what it must be, and says which database it is about.
func fails(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "simba: mysql: ") {
		tb.Fatalf("got the error %v in place of %v", err, want)
	}
	if errors.Is(err, backend.ErrExpired) {
		tb.Fatalf("R2: it ends a session for good: %v", err)
	}
}

func expired(err error) bool { return errors.Is(err, backend.ErrExpired) }

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// leavesNothing checks that no connection of the pools is in use.
func (s *store) leavesNothing() {
	s.TB.Helper()
	drivertest.Eventually(s.TB, "no connection is in use", func() bool {
		return s.calls.Stats().InUse == 0 && s.renewals.Stats().InUse == 0
	})
}
