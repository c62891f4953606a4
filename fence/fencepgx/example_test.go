package fencepgx_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencepgx"
)

// example connects to a database. A program has a pool of its own.
func example(schema string) *pgx.Conn {
	ctx := context.Background()
	server, err := postgres.Get()
	if err != nil {
		log.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, server.URL)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := conn.Exec(ctx, schema); err != nil {
		log.Fatal(err)
	}
	return conn
}

// A row that has a column for its token is checked and written by one statement.
func ExampleColumn_Update() {
	ctx := context.Background()
	conn := example(`
		CREATE TEMPORARY TABLE account (id integer PRIMARY KEY, balance integer, token bigint NOT NULL DEFAULT 0);
		INSERT INTO account (id, balance) VALUES (7, 100)`)
	defer conn.Close(ctx)
	accounts := fencepgx.Column{Table: "account", Key: "id", Token: "token"}

	// Tokens come from a term: t.Token().
	fmt.Println(accounts.Update(ctx, conn, 42, 7, "balance = balance + $1", 20))
	fmt.Println(accounts.Update(ctx, conn, 41, 7, "balance = $1", 0)) // the one before wakes up
	// Output:
	// <nil>
	// fence: "account 7" refuses the stale token 41: it has seen 42, so another owner has taken over
}

// Statement is for a batch.
func ExampleColumn_Statement() {
	query, args, err := fencepgx.Column{Table: "account", Key: "id", Token: "token"}.Statement(42, 7, "balance = $1", 120)
	fmt.Println(query, args, err)
	// Output:
	// UPDATE account SET token = $2, balance = $1
	// WHERE id = $3 AND COALESCE(token, 0) <= $2 [120 42 7] <nil>
}

// Do guards everything that a transaction writes.
func ExampleTable_Do() {
	ctx := context.Background()
	conn := example(`CREATE TEMPORARY TABLE journal (entry text)`)
	defer conn.Close(ctx)
	table := fencepgx.Table{Name: "pg_temp.fence"}
	if err := table.Create(ctx, conn); err != nil {
		log.Fatal(err)
	}
	write := func(token uint64, entry string) error {
		return table.Do(ctx, conn, "journal", token, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO journal VALUES ($1)", entry)
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
	conn := example(`CREATE TEMPORARY TABLE simba_fence (name text PRIMARY KEY, token bigint NOT NULL)`)
	defer conn.Close(ctx)
	tx, err := conn.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback(ctx)
	fmt.Println(fencepgx.Table{}.Advance(ctx, tx, "journal", 42)) // first of all
	fmt.Println(tx.Commit(ctx))
	// Output:
	// <nil>
	// <nil>
}
