package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/simba-go/simba/backend"
)

// What can be wrong with a database. Errors that match one of these also say which database it is,
// and what the server said.
var (
	// ErrClosed is the answer of a store after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrNoSchema says that the tables are missing, or some of them.
	ErrNoSchema = errors.New("the tables of Simba are missing; make them with simba migrate, or mysql.Migrate")
	// ErrVersion says that the tables are those of another version of this package.
	ErrVersion = errors.New("the tables are those of another version of Simba")
	// ErrPrivilege says that the user may not do what is needed.
	ErrPrivilege = errors.New("the user lacks a privilege; docs/backends/mysql.md lists those that it needs")
	// ErrReadOnly says that the server is a replica, or does not write for another reason.
	ErrReadOnly = errors.New("the server does not write; connect to the primary")
	// ErrLocked says that somebody else has kept a row locked for too long. Nothing was done.
	ErrLocked = errors.New("not done, because another transaction keeps a row locked; look for it in information_schema.innodb_trx")
	// ErrClock says that the server was started with --sysdate-is-now, so that its clock stands still
	// while a statement waits.
	ErrClock = errors.New("the server must not be started with --sysdate-is-now")
)

// meaning says what an error of the server means for the user.
var meaning = map[uint16]error{
	1049: ErrNoSchema,  // no such database
	1054: ErrNoSchema,  // column
	1146: ErrNoSchema,  // table
	1305: ErrNoSchema,  // procedure
	1044: ErrPrivilege, // database
	1142: ErrPrivilege, // table
	1143: ErrPrivilege, // column
	1227: ErrPrivilege, // special
	1370: ErrPrivilege, // procedure
	1290: ErrReadOnly,  // --read-only
	1792: ErrReadOnly,  // transaction
	1836: ErrReadOnly,  // mode
	1205: ErrLocked,    // too long
	1213: ErrLocked,    // deadlock
}

// at says which database an error is about.
func (s *Store) at(err error) error {
	if err == nil || errors.Is(err, backend.ErrExpired) {
		return err
	}
	err = explained(err)
	if s.life.Err() != nil && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w (%w)", ErrClosed, err)
	}
	return fmt.Errorf("simba: mysql: %s: %w", s.where, err)
}

// explained adds to an error of the server what it means for the user.
func explained(err error) error {
	var e *mysql.MySQLError
	if errors.As(err, &e) && meaning[e.Number] != nil && !errors.Is(err, meaning[e.Number]) {
		return fmt.Errorf("%w (%w)", meaning[e.Number], err)
	}
	return err
}

// given says why a call was given up, which the driver does not always say.
func given(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}
