package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Timeout is for how long the server works on a statement at most. When a connection is cut off,
// nobody can tell the server to stop; so this is how late a call that was given up may still write.
const Timeout = 5 * time.Second

// lockTimeout is for how long a statement waits for a row that somebody has locked. The server looks
// for deadlocks after a second, so this must be longer.
const lockTimeout = 2 * time.Second

// cancelDelay is how long the server may take to confirm that a call was given up. The connection
// of one that does not is not used again.
const cancelDelay = 500 * time.Millisecond

// dialTimeout is for a server that does not even answer, unless the user says otherwise.
const dialTimeout = 5 * time.Second

// settings are those of all connections of our own.
var settings = map[string]string{
	"statement_timeout":             milliseconds(Timeout),
	"lock_timeout":                  milliseconds(lockTimeout),
	"default_transaction_isolation": "read committed",
	// A client that was cut off is noticed, and what it has locked is free, after half a minute.
	"tcp_keepalives_idle":     "10",
	"tcp_keepalives_interval": "5",
	"tcp_keepalives_count":    "4",
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// pool is connections to a database.
type pool struct {
	*pgxpool.Pool
	own bool
	// bounded says that the connections have the settings. Otherwise the timeouts travel with each
	// statement.
	bounded bool
}

// ownPool makes connections of our own. If settings do not get through, there is a pooler
// in between; then connections have no state that would last.
func ownPool(ctx context.Context, config *pgxpool.Config) (*pool, error) {
	direct := config.Copy()
	prepare(direct.ConnConfig, settings)
	// A call that is given up is cancelled at the server, and the connection goes on.
	direct.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelDelay}
	}
	p, err := openPool(ctx, direct)
	if err == nil || !pooled(err) {
		return p, err
	}
	// Its connection ends with a call that is given up: a request to cancel, when the call
	// ends at the same moment, brings PgBouncer 1.18 down.
	through := config.Copy()
	prepare(through.ConnConfig, nil)
	if through.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		through.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	p, err = openPool(ctx, through)
	if p != nil {
		p.bounded = false
	}
	return p, err
}

// prepare adds what we want of a connection to what the user wants.
func prepare(c *pgx.ConnConfig, params map[string]string) {
	if _, ok := c.RuntimeParams["application_name"]; !ok {
		c.RuntimeParams["application_name"] = "simba"
	}
	for name, value := range params {
		c.RuntimeParams[name] = value
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = dialTimeout
	}
}

// errNotSet says that a pooler has swallowed the settings.
var errNotSet = errors.New("the connection is not set as it should be")

// pooled reports whether an error shows that there is a pooler.
func pooled(err error) bool {
	var e *pgconn.PgError
	return errors.Is(err, errNotSet) || errors.As(err, &e) && e.Code == "08P01" // unsupported startup parameter
}

func openPool(ctx context.Context, config *pgxpool.Config) (*pool, error) {
	p, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if want, ok := config.ConnConfig.RuntimeParams["statement_timeout"]; ok {
		var got string
		// In milliseconds, as pg_settings has it, whatever the unit of the text is.
		err = p.QueryRow(ctx, "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'").Scan(&got)
		if err == nil && got != want {
			err = errNotSet
		}
	} else {
		err = p.Ping(ctx)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return &pool{Pool: p, own: true, bounded: true}, nil
}

func (p *pool) close() {
	if p != nil && p.own {
		p.Close()
	}
}

// bounds sets the timeouts for the rest of a transaction: here, of the batch.
var bounds = fmt.Sprintf("SELECT set_config('statement_timeout', '%s', true), set_config('lock_timeout', '%s', true)",
	milliseconds(Timeout), milliseconds(lockTimeout))

// query calls each for the rows of a statement's result. The statement is a transaction.
func (p *pool) query(ctx context.Context, each func(rows pgx.Rows) error, sql string, args ...any) error {
	conn, err := p.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("not done, because no connection could be had: %w", err)
		}
		return err
	}
	defer conn.Release()
	err = p.run(ctx, conn.Conn(), each, sql, args...)
	if readOnly(err) {
		conn.Conn().Close(ctx) // the next one may lead to the primary
	}
	return err
}

func (p *pool) run(ctx context.Context, conn *pgx.Conn, each func(rows pgx.Rows) error, sql string, args ...any) (err error) {
	if p.bounded {
		return read(each)(conn.Query(ctx, sql, args...))
	}
	var batch pgx.Batch
	batch.Queue(bounds)
	batch.Queue(sql, args...)
	results := conn.SendBatch(ctx, &batch)
	if _, err = results.Exec(); err == nil {
		err = read(each)(results.Query())
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

// read reads all rows.
func read(each func(rows pgx.Rows) error) func(rows pgx.Rows, err error) error {
	return func(rows pgx.Rows, err error) error {
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}
