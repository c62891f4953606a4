package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// conn is one connection to a database, used by one goroutine at a time. It works
// on the driver itself and not through database/sql: it must know on which
// connection a transaction runs and that it was ended there, and it wants no
// goroutine for each statement, which is what a context costs.
type conn struct {
	raw      driver.Conn
	prepared map[string]driver.Stmt
	durable  bool // what synchronous is set to
	file     file // that the connection has open
}

// dial opens the database at an absolute path. Mode is "rw", or "rwc" to create an
// empty one if there is none.
func dial(path, mode string) (*conn, error) {
	// A Driver of our own has none of the functions and hooks that the rest of
	// the program may have registered.
	raw, err := new(sqlite.Driver).Open(dsn(path, mode))
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, prepared: make(map[string]driver.Stmt), durable: true}
	// Waiting for locks is up to us: SQLite's own way of waiting is unfair, and
	// pays no heed to a context.
	if err := c.run("PRAGMA busy_timeout = 0"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// dsn is the path as a URI, in which all characters stand for themselves.
func dsn(path, mode string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/folder/file
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode}
	return u.String()
}

// writable reports whether SQLite could open the file for writing. If it could
// not, it opened it for reading without a word.
func (c *conn) writable() (bool, error) {
	readOnly, err := c.raw.(interface {
		IsReadOnly(schema string) (bool, error)
	}).IsReadOnly("main")
	return !readOnly, err
}

// run executes a statement that is not worth preparing.
func (c *conn) run(query string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), query, nil)
	return err
}

// exec executes a prepared statement and returns how many rows it changed. Like
// all statements it takes no context: none takes long, and one that is
// interrupted leaves more questions than one that is not.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := s.(driver.StmtExecContext).ExecContext(context.Background(), values(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query calls each for the rows of a prepared statement's result.
func (c *conn) query(each func(r row), query string, args ...any) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), values(args))
	if err != nil {
		return err
	}
	r := make(row, len(rows.Columns()))
	for {
		if err = rows.Next(r); err != nil {
			break
		}
		each(r)
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

func (c *conn) prepare(query string) (driver.Stmt, error) {
	if s, ok := c.prepared[query]; ok {
		return s, nil
	}
	s, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.prepared[query] = s
	return s, nil
}

// synchronous says whether what is committed from here on must survive a crash of
// the machine. What is committed at all survives one of the process.
func (c *conn) synchronous(durable bool) error {
	if c.durable == durable {
		return nil
	}
	// It takes effect when it is compiled, so it cannot be prepared.
	query := "PRAGMA synchronous = NORMAL"
	if durable {
		query = "PRAGMA synchronous = FULL"
	}
	err := c.run(query)
	if err == nil {
		c.durable = durable
	}
	return err
}

// close ends the connection, and with it a transaction that it may be in.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// row is a row of a result. The tables are STRICT, so a value of another type than
// its column's is a bug, or the file is damaged.
type row []driver.Value

func (r row) null(i int) bool    { return r[i] == nil }
func (r row) number(i int) int64 { return r[i].(int64) }
func (r row) text(i int) string  { return r[i].(string) }

func values(args []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return values
}
