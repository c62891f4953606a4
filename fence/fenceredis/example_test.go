package fenceredis_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fenceredis"
)

// example connects to a server. A program has a client of its own.
func example() *redis.Client {
	server, err := single.Get()
	if err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	client.FlushAll(context.Background())
	return client
}

// Set writes a value unless a higher token has. Tokens come from a term: t.Token().
func ExampleSet() {
	ctx := context.Background()
	client := example()
	defer client.Close()
	fmt.Println(fenceredis.Set(ctx, client, "price", 42, "9.90", 0))
	fmt.Println(fenceredis.Set(ctx, client, "price", 41, "8.50", 0)) // the one before wakes up
	fmt.Println(client.Get(ctx, "price").Val())
	// Output:
	// <nil>
	// fence: "price" refuses the stale token 41: it has seen 42, so another owner has taken over
	// 9.90
}

// A script of your own, behind the guard.
func ExampleScript_Run() {
	ctx := context.Background()
	client := example()
	defer client.Close()
	book := fenceredis.NewScript(`return redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])`)
	fmt.Println(book.Run(ctx, client, []string{"seats"}, 42, "12a", 1))
	_, err := book.Run(ctx, client, []string{"seats"}, 41, "12a", 1)
	fmt.Println(errors.Is(err, fence.ErrStale))
	// Output:
	// 1 <nil>
	// true
}

// Advance only checks, for a resource elsewhere.
func ExampleAdvance() {
	ctx := context.Background()
	client := example()
	defer client.Close()
	fmt.Println(fenceredis.Advance(ctx, client, "printer", 42))
	fmt.Println(errors.Is(fenceredis.Advance(ctx, client, "printer", 41), fence.ErrStale))
	// Output:
	// <nil>
	// true
}

// TokenKey is the key to look at, and not to delete.
func ExampleTokenKey() {
	fmt.Println(fenceredis.TokenKey("price"))
	fmt.Println(fenceredis.TokenKey("{shop:7}:price"))
	// Output:
	// {price}:token <nil>
	// {shop:7}:price:token <nil>
}
