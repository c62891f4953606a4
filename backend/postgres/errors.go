package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simba-go/simba/backend"
)

// What can be wrong with a database. Errors that match one of these also say which database it is,
// and what the server said.
var (
	// ErrClosed is the answer of a store after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrNoSchema says that the tables are missing, or some of them.
	ErrNoSchema = errors.New("the tables of Simba are missing; make them with simba migrate, or postgres.Migrate")
	// ErrVersion says that the tables are those of another version of this package.
	ErrVersion = errors.New("the tables are those of another version of Simba")
	// ErrPrivilege says that the user may not do what is needed.
	ErrPrivilege = errors.New("the user lacks a privilege; docs/backends/postgres.md lists those that it needs")
	// ErrReadOnly says that the server is a replica, or does not write for another reason.
	ErrReadOnly = errors.New("the server does not write; connect to the primary, for example with target_session_attrs=read-write")
	// ErrLocked says that somebody else has kept a row locked for too long. Nothing was done.
	ErrLocked = errors.New("not done, because another transaction keeps a row locked; look for it in pg_stat_activity and pg_locks")
)

// meaning says what an error of the server means for the user.
var meaning = map[string]error{
	"3F000": ErrNoSchema,  // no such schema
	"42P01": ErrNoSchema,  // table
	"42883": ErrNoSchema,  // function
	"42703": ErrNoSchema,  // column
	"42501": ErrPrivilege, // insufficient
	"25006": ErrReadOnly,  // transaction
	"55P03": ErrLocked,    // not available
	"40P01": ErrLocked,    // deadlock
}

func readOnly(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && meaning[e.Code] == ErrReadOnly
}

// at says which database an error is about.
func (s *Store) at(err error) error {
	if err == nil || errors.Is(err, backend.ErrExpired) {
		return err
	}
	return fmt.Errorf("simba: postgres: %s: %w", s.where, s.explain(err))
}

// explain adds to an error what it means for the user.
func (s *Store) explain(err error) error {
	err = explained(err)
	if s.life.Err() != nil && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w (%w)", ErrClosed, err)
	}
	return err
}

// explained adds to an error of the server what it means.
func explained(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	if what := meaning[e.Code]; what != nil && !errors.Is(err, what) {
		err = fmt.Errorf("%w (%w)", what, err)
	}
	if e.Hint != "" {
		err = fmt.Errorf("%w; %s", err, e.Hint)
	}
	return err
}

// given says why a call was given up, which the driver does not say.
func given(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}
