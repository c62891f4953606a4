package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
)

// do runs one of our functions, as "name($1, $2)", and calls each for the rows that it returns.
func (s *Store) do(ctx context.Context, p *pool, each func(rows pgx.Rows) error, function string, args ...any) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return s.at(context.Cause(ctx))
	}
	query := "SELECT * FROM " + s.options.quoted() + "." + function
	return s.at(given(ctx, p.query(ctx, each, query, args...)))
}

// Open implements [backend.Driver].
func (s *Store) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	if lease < time.Microsecond {
		return backend.Grant{}, s.at(fmt.Errorf("the lease %v of a session must be at least 1µs", lease))
	}
	lease = lease.Truncate(time.Microsecond)
	id := rand.Text() // R3: 128 random bits
	err := s.do(ctx, s.calls, func(pgx.Rows) error { return nil }, "session_open($1, $2, $3)", id, lease.Microseconds(), printable(label))
	if err != nil {
		return backend.Grant{}, err
	}
	return backend.Grant{Session: id, Remaining: lease}, nil
}

// printable replaces what the database cannot store in a text.
func printable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Renew implements [backend.Driver].
func (s *Store) Renew(ctx context.Context, session string, known uint64, full bool) (renewal backend.Renewal, err error) {
	alive := false
	err = s.do(ctx, s.renewals, func(rows pgx.Rows) error {
		alive = true
		var remaining, revision int64
		var names []string
		var tokens []int64
		if err := rows.Scan(&remaining, &revision, &renewal.Complete, &names, &tokens); err != nil {
			return err
		}
		renewal.Remaining = time.Duration(remaining) * time.Microsecond
		renewal.Revision = uint64(revision)
		for i, name := range names {
			renewal.Leases = append(renewal.Leases, backend.Lease{Name: name, Token: uint64(tokens[i])})
		}
		return nil
	}, "session_renew($1, $2, $3)", session, int64(known), full)
	switch {
	case err != nil:
		return backend.Renewal{}, err
	case !alive:
		return backend.Renewal{}, backend.ErrExpired // R2: there is no way back
	}
	return renewal, nil
}

// CloseSession implements [backend.Driver].
func (s *Store) CloseSession(ctx context.Context, session string) error {
	var freed []string
	err := s.do(ctx, s.calls, func(rows pgx.Rows) error { return rows.Scan(&freed) }, "session_close($1)", session)
	if err != nil || freed == nil {
		s.crier.all() // we do not know which
		return err
	}
	s.crier.tell(freed)
	return nil
}
