package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Version is the version of the tables and functions that this package works with.
const Version = 1

// schemaFiles has the step to each version, as N.sql.
//
//go:embed schema/*.sql
var schemaFiles embed.FS

// step is the SQL that makes version n of version n-1.
func step(n int, schema string) string {
	text, err := schemaFiles.ReadFile(fmt.Sprintf("schema/%d.sql", n))
	if err != nil {
		panic(err) // it is part of the program
	}
	return strings.ReplaceAll(string(text), "{{schema}}", schema) + fmt.Sprintf(
		"\nDELETE FROM %s.version;\nINSERT INTO %s.version VALUES (%d);\n", schema, schema, n)
}

// Script returns the SQL that makes the tables and functions in a database that has none, for people
// whose administrators apply it. It does all or nothing.
func Script(options Options) (string, error) {
	if err := options.check(); err != nil {
		return "", err
	}
	var script strings.Builder
	fmt.Fprintf(&script, "BEGIN;\nCREATE SCHEMA %s;\n", options.quoted())
	for n := 1; n <= Version; n++ {
		script.WriteString(step(n, options.quoted()))
	}
	script.WriteString("COMMIT;\n")
	return script.String(), nil
}

// Beginner is a *pgx.Conn or a *pgxpool.Pool.
type Beginner interface {
	// Begin begins a transaction.
	Begin(ctx context.Context) (pgx.Tx, error)
}

// lockMigrations waits for others who make tables in the database. The key is "SIMB".
const lockMigrations = "SELECT pg_advisory_xact_lock(x'53494d42'::bigint)"

// Migrate makes the tables and functions, or brings them to this version. If they are there already
// it does nothing, and two processes may do it at once. A schema of a newer version is left as it is,
// and the error matches [ErrVersion].
func Migrate(ctx context.Context, db Beginner, options Options) error {
	if err := options.check(); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return migrate(ctx, tx, options) })
	if err != nil {
		return fmt.Errorf("simba: postgres: making the tables in the schema %s: %w", options.schema(), explained(err))
	}
	return nil
}

func migrate(ctx context.Context, tx pgx.Tx, options Options) error {
	// Whoever has waited for the lock must see what has been made meanwhile.
	for _, sql := range []string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", lockMigrations} {
		if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeExec); err != nil {
			return err
		}
	}
	have, err := version(ctx, tx, options.quoted())
	switch {
	case errors.Is(err, ErrNoSchema):
		if err := createSchema(ctx, tx, options); err != nil {
			return err
		}
	case err != nil:
		return err
	case have > Version:
		return otherVersion(have)
	}
	for n := have + 1; n <= Version; n++ {
		// Several statements, which only the simple protocol takes.
		if _, err := tx.Conn().PgConn().Exec(ctx, step(n, options.quoted())).ReadAll(); err != nil {
			return err
		}
	}
	return nil
}

// createSchema does not ask for the privilege to do so where an administrator has done it.
func createSchema(ctx context.Context, tx pgx.Tx, options Options) error {
	var exists bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", pgx.QueryExecModeExec, options.schema()).Scan(&exists)
	if err == nil && !exists {
		_, err = tx.Exec(ctx, "CREATE SCHEMA "+options.quoted(), pgx.QueryExecModeExec)
	}
	return err
}

// querier is a connection, a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns the version of the tables. Without any, the error matches ErrNoSchema. It prepares
// nothing, as there may be a pooler in between.
func version(ctx context.Context, db querier, schema string) (n int, err error) {
	var exists bool
	table := schema + ".version"
	if err := db.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.QueryExecModeExec, table).Scan(&exists); err != nil {
		return 0, err
	}
	if !exists {
		return 0, ErrNoSchema
	}
	err = db.QueryRow(ctx, "SELECT version FROM "+table, pgx.QueryExecModeExec).Scan(&n)
	return n, err
}

func otherVersion(have int) error {
	return fmt.Errorf("%w: they have version %d, and this program knows %d", ErrVersion, have, Version)
}

// version returns an error unless the tables are ours.
func (p *pool) version(ctx context.Context, schema string) error {
	have, err := version(ctx, p, schema)
	switch {
	case err != nil:
		return err
	case have < Version:
		return fmt.Errorf("%w; bring them to it with simba migrate, or postgres.Migrate", otherVersion(have))
	case have > Version:
		return otherVersion(have)
	}
	return nil
}

// writes returns an error if the server is a replica.
func (p *pool) writes(ctx context.Context) error {
	var no bool
	err := p.QueryRow(ctx, "SELECT current_setting('transaction_read_only')::bool").Scan(&no)
	if err == nil && no {
		err = ErrReadOnly
	}
	return err
}
