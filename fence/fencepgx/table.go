package fencepgx

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/fence/internal/statement"
)

// Table is a table with the highest token of each name, for what has no column for it. The
// token is checked and kept in the transaction that writes, so both are committed, or neither.
type Table struct {
	// Name is the name of the table, "simba_fence" unless it is set. It stands in statements
	// as it is here.
	Name string
}

func (t Table) inner() statement.Table {
	return statement.Table{Dialect: statement.PostgreSQL, Name: t.Name}
}

// Schema returns the statement that makes the table unless it is there, for a migration.
func (t Table) Schema() (string, error) { return t.inner().Schema() }

// Create makes the table unless it is there.
func (t Table) Create(ctx context.Context, db DB) error { return t.inner().Create(ctx, store{db}) }

// Advance checks the token in a transaction, and keeps it as the highest one of the name. Names
// are those that leases may have. Call it first: from then on until the transaction ends,
// those of other tokens wait here for the name. After any error, roll back; when the token
// was refused, the error is a [*fence.StaleError].
//
// With an isolation of REPEATABLE READ or more, PostgreSQL may answer with a serialization
// failure in place of the refusal.
func (t Table) Advance(ctx context.Context, tx pgx.Tx, name string, token uint64) error {
	if err := backend.CheckName(name); err != nil {
		return err
	}
	return t.inner().Advance(ctx, store{tx}, name, token)
}

// Do runs fn in a transaction after [Table.Advance], and commits it. When fn fails or
// panics nothing is written. An error that matches [fence.ErrUnknown] means that the commit
// was not confirmed; others, that nothing was committed.
func (t Table) Do(ctx context.Context, db Beginner, name string, token uint64, fn func(tx pgx.Tx) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("fence: %q under the token %d: no transaction could be begun: %w", name, token, err)
	}
	defer rollback(ctx, tx) // does nothing after the commit
	if err := t.Advance(ctx, tx, name, token); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	return statement.Committed(store{}, name, token, tx.Commit(ctx))
}

// rollback is also for a ctx that is done. A server that does not answer loses the connection, and undoes all
// by itself.
func rollback(ctx context.Context, tx pgx.Tx) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	tx.Rollback(ctx)
}
