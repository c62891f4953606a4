package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencesql"
)

// example opens a database in memory. A program opens its own.
func example(schema string) *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(schema); err != nil {
		log.Fatal(err)
	}
	return db
}

// A row that has a column for its token is checked and written by one statement.
func ExampleColumn_Update() {
	ctx := context.Background()
	db := example(`
		CREATE TABLE account (id integer PRIMARY KEY, balance integer, token integer NOT NULL DEFAULT 0);
		INSERT INTO account (id, balance) VALUES (7, 100)`)
	defer db.Close()
	accounts := fencesql.Column{Dialect: fencesql.SQLite, Table: "account", Key: "id", Token: "token"}

	// Tokens come from a term: t.Token().
	fmt.Println(accounts.Update(ctx, db, 42, 7, "balance = balance + ?", 20))
	fmt.Println(accounts.Update(ctx, db, 41, 7, "balance = ?", 0)) // the one before wakes up
	fmt.Println(errors.Is(accounts.Update(ctx, db, 42, 8, "balance = ?", 0), fence.ErrNotFound))
	// Output:
	// <nil>
	// fence: "account 7" refuses the stale token 41: it has seen 42, so another owner has taken over
	// true
}

// The statement alone, to run it elsewhere.
func ExampleColumn_Statement() {
	accounts := fencesql.Column{Dialect: fencesql.PostgreSQL, Table: "account", Key: "id", Token: "token"}
	query, args, err := accounts.Statement(42, 7, "balance = $1", 120)
	fmt.Println(query, args, err)
	// Output:
	// UPDATE account SET token = $2, balance = $1
	// WHERE id = $3 AND COALESCE(token, 0) <= $2 [120 42 7] <nil>
}

// Do guards everything that a transaction writes.
func ExampleTable_Do() {
	ctx := context.Background()
	db := example(`CREATE TABLE journal (entry text)`)
	defer db.Close()
	table := fencesql.Table{Dialect: fencesql.SQLite}
	if err := table.Create(ctx, db); err != nil {
		log.Fatal(err)
	}
	write := func(token uint64, entry string) error {
		return table.Do(ctx, db, "journal", token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO journal VALUES (?)", entry)
			return err
		})
	}
	fmt.Println(write(42, "opened by the new leader"))
	fmt.Println(errors.Is(write(41, "closed by the old one"), fence.ErrStale))
	// Output:
	// <nil>
	// true
}

// Advance is for a transaction that is begun and committed elsewhere.
func ExampleTable_Advance() {
	ctx := context.Background()
	db := example(`CREATE TABLE simba_fence (name text PRIMARY KEY, token integer NOT NULL)`)
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback()
	table := fencesql.Table{Dialect: fencesql.SQLite}
	fmt.Println(table.Advance(ctx, tx, "journal", 42)) // first of all
	fmt.Println(tx.Commit())
	// Output:
	// <nil>
	// <nil>
}

// Schema is for a migration.
func ExampleTable_Schema() {
	fmt.Println(fencesql.Table{Dialect: fencesql.PostgreSQL}.Schema())
	// Output:
	// CREATE TABLE IF NOT EXISTS simba_fence (name text COLLATE "C" NOT NULL PRIMARY KEY, token bigint NOT NULL) <nil>
}
