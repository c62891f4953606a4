// Package mysql is a backend in a MySQL or MariaDB database: processes that reach the same database
// compete for leases.
//
// [Migrate] makes its tables and procedures, once. See docs/backends/mysql.md for what is guaranteed
// and what is not, for versions and privileges, and for what to do about which error.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Store is an open database. It is safe for concurrent use, and one is enough for all clients of
// a process.
//
// A call ends soon after its context is done. The server may still carry it out, but not later
// than some seconds after it began: see [Timeout]. What it did shows in the next renewal.
type Store struct {
	where string          // for errors
	life  context.Context // until Close
	end   context.CancelFunc

	calls    *sql.DB // opens, acquires, releases, closes, looks
	renewals *sql.DB // renews, so that nothing else of this process is in the way

	closing sync.Once
}

var (
	_ backend.Store   = (*Store)(nil)
	_ backend.Driver  = (*Store)(nil)
	_ backend.Watcher = (*Store)(nil)
	_ backend.Noter   = (*Store)(nil)
)

// How many connections there are at most. A renewal that waits for a row that somebody has locked must
// not hold up those of other sessions.
const (
	callConns    = 8
	renewalConns = 2
)

// Open connects to the database that the URL names. [ParseURL] says how. [Migrate] must have made the
// tables. ctx bounds the opening and nothing else.
//
// Errors match [ErrNoSchema], [ErrVersion] and the others of this package.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return New(ctx, config)
}

// New is [Open] with a configuration of the driver.
func New(ctx context.Context, config *mysql.Config) (*Store, error) {
	c, err := newConnector(config)
	if err != nil {
		return nil, fmt.Errorf("simba: mysql: %w", err)
	}
	s := &Store{where: where(config), calls: pool(c, callConns), renewals: pool(c, renewalConns)}
	s.life, s.end = context.WithCancel(context.Background())
	// At once, so that an error comes when the store is opened, and the first renewal is as quick as
	// others.
	err = check(ctx, s.calls)
	if err == nil {
		err = s.renewals.PingContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.at(err), s.Close())
	}
	return s, nil
}

func where(c *mysql.Config) string { return c.Addr + "/" + c.DBName }

// pool is so many connections at most. Each is renewed now and then, as networks and servers end those
// that are old.
func pool(c *connector, conns int) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(3 * time.Minute)
	return db
}

// Backend returns [backend.Serve] of the store.
func (s *Store) Backend() actor.Behavior { return backend.Serve(s) }

// Close ends the use of the database; sessions that are still open stay so until they expire. Calls
// that are under way end with [ErrClosed]. It may be called again, and returns nil: what is left of a connection that
// has broken is closed too, although the driver cannot say goodbye to the server and calls that an error.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.end()
		s.renewals.Close()
		s.calls.Close()
	})
	return nil
}

// call bounds ctx by the life of the store.
func (s *Store) call(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
