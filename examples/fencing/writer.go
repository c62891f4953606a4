package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/sqlite"
	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencesql"
)

const schema = `
CREATE TABLE plain  (id integer PRIMARY KEY, author text);
CREATE TABLE fenced (id integer PRIMARY KEY, author text, token integer NOT NULL DEFAULT 0);
INSERT INTO plain (id) VALUES (1);
INSERT INTO fenced (id) VALUES (1);
`

var column = fencesql.Column{Dialect: fencesql.SQLite, Table: "fenced", Key: "id", Token: "token"}

// write is one of the two processes. It takes the lease and writes, and the first one
// writes once more when it is told to. It ends with its input.
func write(label, dir string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	client, err := simba.Open(ctx, store, simba.WithLease(lease), simba.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	db, err := sql.Open("sqlite", resource(dir))
	if err != nil {
		return err
	}
	defer db.Close()

	lock, err := client.Lock(ctx, "report")
	if err != nil {
		return err
	}
	fmt.Printf("owns the lease, with token %d\n", lock.Token())
	if err := writeBoth(ctx, db, label, lock.Token()); err != nil {
		return err
	}
	fmt.Println("has written both rows")

	input := bufio.NewScanner(os.Stdin)
	if label == "first" {
		fmt.Printf("looks at its term, which is valid (%v), and is about to write\n", lock.Valid())
		input.Scan() // here it is stopped
		if err := writeBoth(ctx, db, label, lock.Token()); err != nil {
			return err
		}
		fmt.Printf("looks at its term again, which is valid no more (%v), and is done\n", lock.Valid())
	}
	for input.Scan() {
	}
	return nil
}

// writeBoth writes the row without a guard, and then the fenced one.
func writeBoth(ctx context.Context, db *sql.DB, label string, token uint64) error {
	if _, err := db.ExecContext(ctx, "UPDATE plain SET author = ? WHERE id = 1", label); err != nil {
		return err
	}
	err := column.Update(ctx, db, token, 1, "author = ?", label)
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("is refused:", err)
		return nil
	}
	return err
}
