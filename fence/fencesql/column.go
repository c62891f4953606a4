package fencesql

import (
	"context"

	"github.com/simba-go/simba/fence/internal/statement"
)

// Column says which column of a table has the tokens of its rows. A column for it, of any
// integer type with 64 bits, may be added at any time: NULL counts as 0.
//
//	ALTER TABLE account ADD COLUMN token bigint NOT NULL DEFAULT 0
//
// The names stand in statements as they are here, plain or quoted (in MySQL with backticks). They are part of the
// program, and must not come from strangers.
type Column struct {
	// Dialect says which database it is.
	Dialect Dialect
	// Table is the name of the table.
	Table string
	// Key is the column that tells rows apart: the primary key, or another with a
	// unique index.
	Key string
	// Token is the column with the tokens.
	Token string
}

func (c Column) inner() statement.Column { return statement.Column(c) }

// Update writes the row with the key, unless that has seen a higher token, in one statement
// (set and args as in "UPDATE account SET balance = ?"):
//
//	err := column.Update(ctx, db, t.Token(), 42, "balance = ?", balance)
//
// Each of args has its placeholder in set: $1 and so on in PostgreSQL, and elsewhere a plain ?.
//
// Nothing was written if the error matches [fence.ErrStale], or [fence.ErrNotFound] if there
// is no such row. If it matches [fence.ErrUnknown], the database did not answer, or not
// clearly, and may have written; with MySQL that is so for every error of the driver. Other
// errors say that nothing was written. In a transaction of yours, all this is subject to
// its commit.
func (c Column) Update(ctx context.Context, db DB, token uint64, key any, set string, args ...any) error {
	return c.inner().Update(ctx, store{db, c.Dialect}, token, key, set, args)
}

// Statement returns the statement of [Column.Update] and its arguments, for those who want to
// run it by themselves, in a batch for example. When it affects no row, the token is stale or
// the row does not exist. MySQL counts only rows that change, so it says the same of a row that
// has all the values already, unless the driver is told otherwise (clientFoundRows=true).
func (c Column) Statement(token uint64, key any, set string, args ...any) (string, []any, error) {
	return c.inner().Statement(token, key, set, args)
}
