// Package postgres is a backend in a PostgreSQL database: processes that reach the same database
// compete for leases.
//
// [Migrate] makes its tables and functions, once. See docs/backends/postgres.md for what is
// guaranteed and what is not, for privileges and poolers, and for what to do about which error.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Store is an open database. It is safe for concurrent use, and one is enough for all clients of
// a process.
//
// A call ends soon after its context is done. The server may still carry it out, but not later
// than some seconds after it began: see [Timeout]. What it did shows in the next renewal.
type Store struct {
	where   string // for errors
	options Options
	life    context.Context // until Close
	end     context.CancelFunc

	calls    *pool // opens, acquires, releases, closes, looks
	renewals *pool // renews, so that nothing else of this process is in the way
	listener *listener
	crier    *crier

	closing sync.Once
}

var (
	_ backend.Store   = (*Store)(nil)
	_ backend.Driver  = (*Store)(nil)
	_ backend.Watcher = (*Store)(nil)
	_ backend.Noter   = (*Store)(nil)
)

// Open connects to the database that the URL names, as pgxpool.ParseConfig takes it. [Migrate] must
// have made the tables. [ParseURL] says what else a URL may say. ctx bounds the opening and nothing
// else.
//
// Errors match [ErrNoSchema], [ErrVersion] and the others of this package.
func Open(ctx context.Context, url string) (*Store, error) {
	config, options, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	s := newStore(config, options)
	return s.open(ctx, func(ctx context.Context) (err error) {
		s.calls, err = ownPool(ctx, config)
		return err
	})
}

// New uses a pool of the caller's, who closes it after the store. Renewals, and the wait for
// releases, have connections of their own, which are made as the pool's are.
//
// The pool's connections must not be set to another isolation than READ COMMITTED.
func New(ctx context.Context, p *pgxpool.Pool, options Options) (*Store, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	s := newStore(p.Config(), options)
	return s.open(ctx, func(context.Context) error {
		s.calls = &pool{Pool: p}
		return nil
	})
}

func newStore(config *pgxpool.Config, options Options) *Store {
	c := config.ConnConfig
	s := &Store{where: fmt.Sprintf("%s:%d/%s", c.Host, c.Port, c.Database), options: options}
	s.life, s.end = context.WithCancel(context.Background())
	s.listener = newListener(config, options)
	s.crier = newCrier(s.cry)
	return s
}

// open makes the connections at once, so that an error comes when the store is opened, and the
// first renewal is as quick as others.
func (s *Store) open(ctx context.Context, connect func(context.Context) error) (*Store, error) {
	err := connect(ctx)
	if err == nil {
		err = s.calls.writes(ctx)
	}
	if err == nil {
		err = s.calls.version(ctx, s.options.quoted())
	}
	if err == nil {
		config := s.calls.Config()
		config.MaxConns, config.MinConns, config.MinIdleConns = renewalConns, 0, 0
		s.renewals, err = ownPool(ctx, config)
	}
	if err != nil {
		return nil, errors.Join(s.at(err), s.Close())
	}
	return s, nil
}

// renewalConns is how many renewals are under way at most: one that waits for a row that somebody
// has locked must not hold up those of other sessions.
const renewalConns = 2

// Backend returns [backend.Serve] of the store.
func (s *Store) Backend() actor.Behavior { return backend.Serve(s) }

// Close ends the use of the database; sessions that are still open stay so until they expire. Calls
// that are under way end with [ErrClosed]. Before, it tells those who wait of what has been
// released last, which takes a second at most.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.crier.close()
		s.end()
		s.renewals.close()
		s.calls.close()
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
