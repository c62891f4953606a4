package sqlite

import (
	"errors"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// tx is a transaction that holds the database's only write lock.
type tx struct {
	*conn
	now actor.Instant
}

// write runs f in a transaction. If f returns an error, the transaction leaves no
// trace, unless the error is the answer that a session has expired: f has then
// written down that it is dead. Durable is for what must survive a crash of the
// machine.
func (w *worker) write(j *job, durable bool, f func(t *tx) error) error {
	c, err := w.connection(j)
	if err != nil {
		return err
	}
	if !j.reach(locking) {
		return j.done()
	}
	leave, err := pass(j, w.doors)
	if err != nil {
		return err
	}
	defer leave()
	if err := c.synchronous(durable); err != nil {
		return errors.Join(err, w.drop())
	}
	if err := j.retry(func() error { _, err := c.exec("BEGIN IMMEDIATE"); return err }); err != nil {
		return err
	}
	// The caller may have left meanwhile, and then nothing must be done any more.
	if !j.reach(running) {
		return errors.Join(j.done(), w.rollback())
	}
	if err := c.file.stillAt(w.store.path); err != nil {
		return errors.Join(err, w.drop())
	}
	// The clock is read under the lock. Read before it, it would be stale by
	// however long the lock took, and a session that has expired meanwhile could
	// be renewed after its leases were taken.
	//
	// A process that is stopped from here on still holds the lock, so nobody takes
	// anything meanwhile. When it goes on and commits, what it wrote is based on a
	// time in the past. That can only make a session look dead too early to its
	// owner, never alive too long: a deadline counts from then, and whoever was
	// found expired then has stayed so.
	err = f(&tx{conn: c, now: w.store.clock.Now()})
	if err != nil && !isExpired(err) {
		return errors.Join(err, w.rollback())
	}
	if _, failed := c.exec("COMMIT"); failed != nil {
		return errors.Join(failed, w.rollback())
	}
	return err
}

// rollback leaves the transaction. If that fails, for example because SQLite has
// left it by itself, nobody knows for sure in which state the connection is, so it
// is not used again.
func (w *worker) rollback() error {
	if _, err := w.conn.exec("ROLLBACK"); err != nil {
		return w.drop()
	}
	return nil
}

// read runs f, which must be one statement, so that what it sees belongs together.
func (w *worker) read(j *job, f func(c *conn) error) error {
	c, err := w.connection(j)
	if err != nil {
		return err
	}
	if !j.reach(running) {
		return j.done()
	}
	if err := c.file.stillAt(w.store.path); err != nil {
		return errors.Join(err, w.drop())
	}
	return j.retry(func() error { return f(c) })
}

// connection returns the worker's connection to the file that the store uses.
func (w *worker) connection(j *job) (*conn, error) {
	if w.conn != nil && w.conn.file.same(w.store.file()) {
		return w.conn, nil
	}
	if err := w.drop(); err != nil {
		return nil, err
	}
	c, err := w.store.join(j)
	w.conn = c
	return c, err
}

func isExpired(err error) bool { return errors.Is(err, backend.ErrExpired) }
