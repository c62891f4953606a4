package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/simba-go/simba/backend"
)

// result takes the rows of one result of a procedure.
type result func(rows *sql.Rows) error

// do runs one statement, which may have several results.
func (s *Store) do(ctx context.Context, db *sql.DB, results []result, query string, args ...any) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return s.at(context.Cause(ctx))
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("not done, because no connection could be had: %w", err)
		}
		return s.at(given(ctx, err))
	}
	defer conn.Close()
	return s.at(given(ctx, read(ctx, conn, results, query, args...)))
}

// read reads all results to the end, where an error of the commit would be.
func read(ctx context.Context, conn *sql.Conn, results []result, query string, args ...any) error {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i := 0; ; i++ {
		for rows.Next() {
			if i >= len(results) {
				return errors.New("the procedure has too many results")
			}
			if err := results[i](rows); err != nil {
				return err
			}
		}
		if !rows.NextResultSet() {
			return rows.Err()
		}
	}
}

// Open implements [backend.Driver].
func (s *Store) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	if lease < time.Microsecond {
		return backend.Grant{}, s.at(fmt.Errorf("the lease %v of a session must be at least 1µs", lease))
	}
	lease = lease.Truncate(time.Microsecond)
	id := rand.Text() // R3: 128 random bits
	err := s.do(ctx, s.calls, nil, "CALL simba_open(?, ?, ?)", id, lease.Microseconds(), strings.ToValidUTF8(label, "\uFFFD"))
	if err != nil {
		return backend.Grant{}, err
	}
	return backend.Grant{Session: id, Remaining: lease}, nil
}

// Renew implements [backend.Driver].
func (s *Store) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	var r backend.Renewal
	var remaining int64
	err := s.do(ctx, s.renewals, []result{
		func(rows *sql.Rows) error { return rows.Scan(&remaining, &r.Revision) },
		func(rows *sql.Rows) error {
			var l backend.Lease
			err := rows.Scan(&l.Name, &l.Token)
			r.Leases = append(r.Leases, l)
			return err
		},
	}, "CALL simba_renew(?, ?, ?)", session, known, full)
	if err != nil {
		return backend.Renewal{}, err
	}
	if r.Revision == 0 {
		return backend.Renewal{}, backend.ErrExpired // R2: there is no way back
	}
	r.Remaining = time.Duration(remaining) * time.Microsecond
	r.Complete = full || known != r.Revision
	return r, nil
}

// CloseSession implements [backend.Driver].
func (s *Store) CloseSession(ctx context.Context, session string) error {
	return s.do(ctx, s.calls, nil, "DELETE FROM simba_session WHERE id = ?", session)
}
