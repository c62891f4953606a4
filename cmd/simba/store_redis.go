package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9/logging"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/redis"
)

var (
	redisScheme  = scheme{name: "redis", usage: "redis://HOST:PORT", open: openRedis}
	redissScheme = scheme{name: "rediss", usage: "rediss://HOST:PORT", open: openRedis} // with TLS
)

// openRedis takes a URL as go-redis does.
func openRedis(ctx context.Context, url string) (simba.Store, func() error, error) {
	// It tells of connections that fail, which our errors do too. One call for each process is enough, and this is
	// one of a program, not of a library.
	logging.Disable()
	store, err := redis.Open(ctx, url)
	if err != nil {
		if errors.Is(err, redis.ErrURL) || errors.Is(err, redis.ErrNamespace) {
			err = &exitError{exitUsage, err}
		}
		return nil, nil, err
	}
	return store, store.Close, nil
}
