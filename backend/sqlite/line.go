package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// line is a connection and whose turn it is to use it.
type line struct {
	store *Store
	turn  chan struct{} // has room for the one whose turn it is
	doors []*door       // to pass before a transaction, in order

	// What follows belongs to the one whose turn it is.
	conn    *conn     // nil until it is needed, and after it failed
	trusted time.Time // until when a transaction may begin without further ado
}

// trust is for how long after a transaction that nobody stood in the way of the
// next ones of the same line need not pass the doors, nor look whether the file is
// still there. It makes a row of calls some ten percent faster. For others it means
// to wait for at most this much longer.
const trust = 5 * time.Millisecond

func newLine(s *Store) *line { return &line{store: s, turn: make(chan struct{}, 1)} }

// call runs f when it is the caller's turn.
func call[T any](ctx context.Context, l *line, f func() (T, error)) (value T, err error) {
	if err := l.take(ctx); err != nil {
		return value, l.store.at(err)
	}
	defer l.leave()
	returned := false
	defer func() {
		if !returned { // a panic, which a damaged file may cause: who knows in what state
			l.drop()
		}
	}()
	result, err := f()
	returned = true
	if err != nil {
		return value, l.store.at(err)
	}
	return result, nil
}

// do is call for what has no result.
func do(ctx context.Context, l *line, f func() error) error {
	_, err := call(ctx, l, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// take waits for the caller's turn, which ends with leave.
func (l *line) take(ctx context.Context) error {
	if err := l.store.gone(ctx); err != nil {
		return err
	}
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("not done, because earlier calls of this process still wait for the file: %w", context.Cause(ctx))
	case <-l.store.life.Done():
		return ErrClosed
	}
}

func (l *line) leave() { <-l.turn }

// drop ends the connection, and with it a transaction that it is in. It is made
// anew when it is needed.
func (l *line) drop() error {
	if l.conn == nil {
		return nil
	}
	c := l.conn
	l.conn = nil
	return c.close()
}

// connect makes sure that there is a connection to the file that the store uses.
func (l *line) connect(ctx context.Context) error {
	if l.conn != nil && l.conn.file.same(l.store.file()) {
		return nil
	}
	if err := l.drop(); err != nil {
		return err
	}
	c, err := l.store.join(ctx)
	l.conn = c
	return err
}

// read runs f, which must be one statement, so that what it sees belongs together.
func (l *line) read(ctx context.Context, f func(c *conn) error) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	if err := l.conn.file.stillAt(l.store.path); err != nil {
		return errors.Join(err, l.drop())
	}
	return l.store.retry(ctx, func() error { return f(l.conn) })
}

// tx is a transaction that holds the database's only write lock.
type tx struct {
	*conn
	clock actor.Clock
	time  actor.Instant // if asked
	asked bool
}

// now is the time of the transaction.
//
// The clock is read under the lock. Read before it, it would be stale by however
// long the lock took, and a session that has expired meanwhile could be renewed
// after its leases were taken.
//
// A process that is stopped from here on still holds the lock, so nobody takes
// anything meanwhile. When it goes on and commits, what it writes is based on a
// time in the past, which is safe: a deadline counts from then, and so it comes
// early, never late; and whoever had expired by then has expired.
func (t *tx) now() actor.Instant {
	if !t.asked {
		t.time, t.asked = t.clock.Now(), true
	}
	return t.time
}

// write runs f in a transaction. If f returns an error, the transaction leaves no
// trace, unless the error is the answer that a session has expired: f has then
// written down that it is dead. Durable is for what must survive a crash of the
// machine.
func (l *line) write(ctx context.Context, durable bool, f func(t *tx) error) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	if err := l.store.retry(ctx, func() error { return l.conn.synchronous(durable) }); err != nil {
		return err
	}
	unlock, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	err = f(&tx{conn: l.conn, clock: l.store.clock})
	if err != nil && !isExpired(err) {
		return errors.Join(err, l.rollback())
	}
	if _, failed := l.conn.exec("COMMIT"); failed != nil {
		return errors.Join(failed, l.rollback())
	}
	return err
}

// begin takes the write lock, in an order that is fair to other processes, and
// looks whether the file is still there. unlock must be called after the
// transaction.
func (l *line) begin(ctx context.Context) (unlock func(), err error) {
	if time.Now().Before(l.trusted) {
		if err := l.lock(); !busy(err) {
			return func() {}, err
		}
	}
	l.trusted = time.Time{}
	unlock, waited, err := pass(ctx, l.store, l.doors)
	if err != nil {
		return nil, err
	}
	err = l.store.retry(ctx, func() error {
		err := l.lock()
		waited = waited || busy(err)
		return err
	})
	if err == nil {
		// Under the lock, so that what follows is seen by all who use the file.
		if err = l.conn.file.stillAt(l.store.path); err != nil {
			err = errors.Join(err, l.drop())
		}
	}
	if err != nil {
		unlock()
		return nil, err
	}
	if !waited {
		l.trusted = time.Now().Add(trust)
	}
	return unlock, nil
}

// lock begins a transaction that has the write lock.
func (l *line) lock() error {
	_, err := l.conn.exec("BEGIN IMMEDIATE")
	if err != nil && !busy(err) {
		return errors.Join(err, l.drop())
	}
	return err
}

// rollback leaves the transaction. If that fails, for example because SQLite has
// left it by itself, nobody knows for sure in which state the connection is, so it
// is not used again.
func (l *line) rollback() error {
	if _, err := l.conn.exec("ROLLBACK"); err != nil {
		return l.drop()
	}
	return nil
}

func isExpired(err error) bool { return errors.Is(err, backend.ErrExpired) }
