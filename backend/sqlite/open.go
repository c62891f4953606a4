package sqlite

import (
	"errors"
	"fmt"
)

// setUp opens the database at path, creates what is missing, and leaves a database
// alone that is not ours.
func (s *Store) setUp(j *job) (*conn, error) {
	before, err := s.check()
	if err != nil {
		return nil, err
	}
	c, err := dial(s.path, "rwc")
	if err != nil {
		return nil, err
	}
	if err := c.setUp(j); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if c.file, err = identify(s.path); err == nil && before.info != nil && !before.same(c.file) {
		err = ErrReplaced
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// check returns an error if there is something at the path that could not be used
// safely. It returns no file if there is none yet.
func (s *Store) check() (file, error) {
	f, err := identify(s.path)
	if err != nil {
		return f, err
	}
	kind, err := s.network(s.path)
	if err != nil {
		return f, fmt.Errorf("asking for its file system: %w", err)
	}
	if kind != "" {
		return f, fmt.Errorf("%w: it is on %s, where other machines may use it too", ErrNetwork, kind)
	}
	return f, nil
}

func (c *conn) setUp(j *job) error {
	var empty bool
	err := j.retry(func() (err error) {
		empty, err = c.state()
		return err
	})
	if err != nil {
		return err
	}
	if writable, err := c.writable(); err != nil || !writable {
		return errors.Join(ErrReadOnly, err)
	}
	if err := j.retry(c.useWAL); err != nil {
		return err
	}
	if empty {
		if err := c.create(j); err != nil {
			return err
		}
	}
	return j.retry(func() error { return c.synchronous(false) })
}

// useWAL lets readers read while somebody writes. The setting is the file's.
func (c *conn) useWAL() error {
	var mode string
	err := c.query(func(r row) { mode = r.text(0) }, "PRAGMA journal_mode = WAL")
	if err == nil && mode != "wal" {
		err = fmt.Errorf("SQLite keeps the journal mode %q; it must be \"wal\", for which the file system needs shared memory", mode)
	}
	return err
}

// join opens the database that the store uses already.
func (s *Store) join(j *job) (*conn, error) {
	c, err := dial(s.path, "rw")
	if err != nil {
		return nil, err
	}
	c.file = s.file()
	if err := c.file.stillAt(s.path); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := j.retry(func() error { return c.synchronous(false) }); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}
