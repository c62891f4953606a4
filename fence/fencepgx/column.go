package fencepgx

import (
	"context"

	"github.com/simba-go/simba/fence/internal/statement"
)

// Column says which column of a table has the tokens of its rows. A bigint column for it may be
// added at any time: NULL counts as 0.
//
//	ALTER TABLE account ADD COLUMN token bigint NOT NULL DEFAULT 0
//
// The names stand in statements as they are here, plain or quoted. They are part of the
// program, and must not come from strangers.
type Column struct {
	// Table is the name of the table.
	Table string
	// Key is the column that tells rows apart: the primary key, or another with a
	// unique index.
	Key string
	// Token is the column with the tokens.
	Token string
}

func (c Column) inner() statement.Column {
	return statement.Column{Dialect: statement.PostgreSQL, Table: c.Table, Key: c.Key, Token: c.Token}
}

// Update writes the row with the key, unless that has seen a higher token, in one statement
// (set and args as in "UPDATE account SET balance = $1"; placeholders begin at $1):
//
//	err := column.Update(ctx, pool, t.Token(), 42, "balance = $1", balance)
//
// Nothing was written if the error matches [fence.ErrStale], or [fence.ErrNotFound] if there
// is no such row. If it matches [fence.ErrUnknown], the server did not answer, and may have
// written. Other errors say that nothing was written. In a transaction of yours, all this
// is subject to its commit.
func (c Column) Update(ctx context.Context, db DB, token uint64, key any, set string, args ...any) error {
	return c.inner().Update(ctx, store{db}, token, key, set, args)
}

// Statement returns the statement of [Column.Update] and its arguments, for a batch for
// example. When it affects no row, the token is stale or the row does not exist.
func (c Column) Statement(token uint64, key any, set string, args ...any) (string, []any, error) {
	return c.inner().Statement(token, key, set, args)
}
