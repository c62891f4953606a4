package postgres_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simba-go/simba/backend/postgres"
)

func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	store, err := postgres.Open(ctx, "postgres://app:password@db.example/app")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // after the clients that use it
}

// With the pool that the program has anyway, and tables of its own.
func ExampleNew() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	pool, err := pgxpool.New(ctx, "postgres://app:password@db.example/app")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close() // after the store
	store, err := postgres.New(ctx, pool, postgres.Options{Schema: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}

// A program that makes its tables when it starts. Several may do so at once.
func ExampleMigrate() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool, err := pgxpool.New(ctx, "postgres://admin:password@db.example/app")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool, postgres.Options{Schema: "orders"}); err != nil {
		log.Fatal(err)
	}
}

func ExampleScript() {
	script, err := postgres.Script(postgres.Options{Schema: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	first, _, _ := strings.Cut(script, "\n\n")
	begin, _, _ := strings.Cut(first, "--")
	fmt.Print(begin)
	// Output:
	// BEGIN;
	// CREATE SCHEMA "orders";
}

// Where a pooler is in between, the connection that hears of releases goes to the server itself.
func ExampleParseURL() {
	config, options, err := postgres.ParseURL(
		"postgres://app@pooler.example:6432/app?simba_schema=orders&simba_direct=postgres%3A%2F%2Fapp%40db.example%2Fapp")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(config.ConnConfig.Host, options.Schema, options.Direct)
	// Output: pooler.example orders postgres://app@db.example/app
}
