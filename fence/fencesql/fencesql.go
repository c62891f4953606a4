// Package fencesql guards what is in a database, through database/sql: SQLite, PostgreSQL,
// and MySQL or MariaDB.
//
// [Column] is for rows that have a column for their token: the check is part of the one
// statement that writes. [Table] is for everything else that a transaction writes: it
// keeps the token in a small table, in the same transaction.
//
// Tokens are stored as signed numbers of 64 bits. Those of this project's stores fit.
package fencesql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/simba-go/simba/fence/internal/statement"
)

// Dialect says which database it is.
type Dialect = statement.Dialect

// The databases. MySQL is MariaDB too.
const (
	SQLite     = statement.SQLite
	PostgreSQL = statement.PostgreSQL
	MySQL      = statement.MySQL
)

// DB is a *sql.DB, a *sql.Conn or a *sql.Tx.
type DB interface {
	// ExecContext runs a statement.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	// QueryRowContext runs a query for one row.
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// store is a DB for package statement.
type store struct {
	db      DB
	dialect Dialect
}

// Exec runs a statement.
func (s store) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Token reads a number.
func (s store) Token(ctx context.Context, query string, args ...any) (token int64, found bool, err error) {
	err = s.db.QueryRowContext(ctx, query, args...).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return token, err == nil, err
}

// Refused knows what the errors of drivers say without their help. What it does not know
// may have happened.
func (s store) Refused(err error) bool {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	if s.dialect == SQLite {
		var e interface{ Code() int } // of modernc.org/sqlite
		return errors.As(err, &e) && statement.RefusedByCode(e.Code())
	}
	return s.answered(err)
}

// Undone trusts nobody but PostgreSQL itself. A transaction that is done may have been
// committed by its user, drivers have called connections bad after the commit was sent, and
// a commit that SQLite could not finish may stay open.
func (s store) Undone(err error) bool { return s.answered(err) }

// answered reports whether PostgreSQL has said no.
func (s store) answered(err error) bool {
	var e interface{ SQLState() string } // of pgx and of lib/pq
	return s.dialect == PostgreSQL && errors.As(err, &e) && statement.RefusedByState(e.SQLState())
}
