package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// setUp opens the database at path, creates what is missing, and leaves a database
// alone that is not ours.
func (s *Store) setUp(ctx context.Context) (*conn, error) {
	before, err := s.check()
	if err != nil {
		return nil, err
	}
	c, err := dial(s.path, "rwc")
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if c.file, err = identify(s.path); err == nil && before != nil && !os.SameFile(before, c.file[0].info) {
		err = ErrReplaced
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// check returns an error if what is at the path, or could be, cannot be shared
// safely. It returns nothing if there is nothing yet.
func (s *Store) check() (os.FileInfo, error) {
	info, err := usable(s.path)
	if err != nil {
		return nil, err
	}
	where := s.path
	if info == nil {
		where = filepath.Dir(where)
	}
	kind, err := s.network(where)
	if err != nil {
		return nil, fmt.Errorf("asking for its file system: %w", err)
	}
	if kind != "" {
		return nil, fmt.Errorf("%w: it is on %s, which other machines may use too", ErrNetwork, kind)
	}
	return info, nil
}

func (s *Store) prepare(ctx context.Context, c *conn) error {
	// Before anything is read, because that would make files beside it that cannot
	// be written either.
	if writable, err := c.writable(); err != nil || !writable {
		return errors.Join(ErrReadOnly, err)
	}
	var missing []string
	err := s.retry(ctx, func() (err error) {
		missing, err = c.state()
		return err
	})
	if err != nil {
		return err
	}
	if err := s.retry(ctx, c.useWAL); err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := s.create(ctx, c); err != nil {
			return err
		}
	}
	return s.retry(ctx, func() error { return c.synchronous(false) })
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
func (s *Store) join(ctx context.Context) (*conn, error) {
	c, err := dial(s.path, "rw")
	if err != nil {
		return nil, err
	}
	err = s.retry(ctx, func() error { return c.synchronous(false) }) // which reads the file
	if err == nil {
		c.file, err = identify(s.path)
	}
	if err == nil && !c.file.same(s.file()) {
		err = ErrReplaced
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// create makes an empty database one of ours, and one of an earlier format one of the
// present, unless somebody else has.
func (s *Store) create(ctx context.Context, c *conn) error {
	if err := s.retry(ctx, func() error { return c.run("BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	missing, err := c.state()
	for _, statement := range missing {
		if err == nil {
			err = c.run(statement)
		}
	}
	if err != nil {
		return err // and with the connection the transaction ends
	}
	return c.run("COMMIT")
}
