// Package fencepgx guards what is in PostgreSQL, through pgx. It is package fencesql for those
// who use pgx without database/sql.
//
// [Column] is for rows that have a column for their token: the check is part of the one
// statement that writes. [Table] is for everything else that a transaction writes: it
// keeps the token in a small table, in the same transaction.
package fencepgx

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simba-go/simba/fence/internal/statement"
)

// DB is a *pgxpool.Pool, a *pgx.Conn or a pgx.Tx.
type DB interface {
	// Exec runs a statement.
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	// QueryRow runs a query for one row.
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// Beginner is a *pgxpool.Pool or a *pgx.Conn.
type Beginner interface {
	// Begin begins a transaction.
	Begin(ctx context.Context) (pgx.Tx, error)
}

// store is a DB for package statement.
type store struct{ db DB }

// Exec runs a statement.
func (s store) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.db.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// Token reads a number.
func (s store) Token(ctx context.Context, query string, args ...any) (token int64, found bool, err error) {
	err = s.db.QueryRow(ctx, query, args...).Scan(&token)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return token, err == nil, err
}

// Refused trusts what the server has said, and pgx where it has sent nothing.
func (s store) Refused(err error) bool {
	return errors.Is(err, pgx.ErrTxClosed) || s.answered(err)
}

// Undone is the same for a commit, except that a transaction that is closed may have been
// committed by its user.
func (s store) Undone(err error) bool {
	return errors.Is(err, pgx.ErrTxCommitRollback) || s.answered(err)
}

func (s store) answered(err error) bool {
	var e *pgconn.PgError
	return pgconn.SafeToRetry(err) || errors.As(err, &e) && statement.RefusedByState(e.Code)
}
