package mysql

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Version is the version of the tables and procedures that this package works with.
const Version = 1

// schemaFiles has the step to each version, as N.sql: statements with lines of slashes in between. Each
// may be done again.
//
//go:embed schema/*.sql
var schemaFiles embed.FS

const slashes = "\n//\n"

// step returns the statements that make version n of version n-1.
func step(n int) []string {
	text, err := schemaFiles.ReadFile(fmt.Sprintf("schema/%d.sql", n))
	if err != nil {
		panic(err) // it is part of the program
	}
	statements := strings.Split(strings.TrimSuffix(string(text), slashes), slashes)
	return append(statements, "DELETE FROM simba_version", fmt.Sprintf("INSERT INTO simba_version VALUES (%d)", n))
}

// Script returns the SQL that makes the tables and procedures in a database, for people whose
// administrators apply it with the command-line client. It may be applied again.
func Script() string {
	var script strings.Builder
	script.WriteString("DELIMITER //\n")
	for n := 1; n <= Version; n++ {
		for _, statement := range step(n) {
			script.WriteString(statement + slashes)
		}
	}
	script.WriteString("DELIMITER ;\n")
	return script.String()
}

// migrating is the name of the lock of those who make tables, together with the database.
const migrating = "CONCAT('simba:', MD5(DATABASE()))"

// Migrate makes the tables and procedures, or brings them to this version. If they are there already it
// does nothing, and two processes may do it at once. Tables of a newer version are left as they are,
// and the error matches [ErrVersion]. MySQL cannot undo a part of it, so after an error, do it again.
func Migrate(ctx context.Context, config *mysql.Config) error {
	if err := migrate(ctx, config); err != nil {
		return fmt.Errorf("simba: mysql: making the tables in %s: %w", where(config), explained(err))
	}
	return nil
}

func migrate(ctx context.Context, config *mysql.Config) (err error) {
	c, err := newConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	defer func() { err = errors.Join(err, db.Close()) }() // and with the connection the lock ends
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var locked sql.NullBool
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+migrating+", 60)").Scan(&locked); err != nil {
		return err
	}
	if !locked.Bool {
		return errors.New("another process has been making them for a minute")
	}
	have, err := version(ctx, conn)
	switch {
	case errors.Is(err, ErrNoSchema):
	case err != nil:
		return err
	case have > Version:
		return otherVersion(have)
	}
	for n := have + 1; n <= Version; n++ {
		for _, statement := range step(n) {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// querier is a connection or a pool.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns the version of the tables. Without any, the error matches ErrNoSchema.
func version(ctx context.Context, db querier) (n int, err error) {
	err = db.QueryRowContext(ctx, "SELECT version FROM simba_version").Scan(&n)
	if errors.Is(err, sql.ErrNoRows) { // somebody has begun
		return 0, ErrNoSchema
	}
	return n, explained(err)
}

func otherVersion(have int) error {
	return fmt.Errorf("%w: they have version %d, and this program knows %d", ErrVersion, have, Version)
}

// check returns an error unless the server and the tables are as they must be.
func check(ctx context.Context, db *sql.DB) error {
	have, err := version(ctx, db)
	switch {
	case err != nil:
		return err
	case have < Version:
		return fmt.Errorf("%w; bring them to it with simba migrate, or mysql.Migrate", otherVersion(have))
	case have > Version:
		return otherVersion(have)
	}
	var before, after, readOnly string
	var slept int
	err = db.QueryRowContext(ctx, "SELECT SYSDATE(6), SLEEP(0.001), SYSDATE(6), @@read_only").Scan(&before, &slept, &after, &readOnly)
	switch {
	case err != nil:
		return err
	case before == after:
		return ErrClock
	case readOnly != "0" && readOnly != "OFF":
		return ErrReadOnly
	}
	return nil
}
