package redis_test

import (
	"context"
	"log"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/backend/redis"
)

func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	store, err := redis.Open(ctx, "redis://redis.example:6379/0?namespace=orders")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // after the clients that use it
}

// With settings of your own: here, credentials that change.
func ExampleNew() {
	client := goredis.NewUniversalClient(&goredis.UniversalOptions{
		Addrs: []string{"redis.example:6379"},
		CredentialsProviderContext: func(context.Context) (user, password string, err error) {
			return "orders", "from a vault", nil
		},
	})
	defer client.Close() // after the store

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	store, err := redis.New(ctx, client, redis.Options{Namespace: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}
