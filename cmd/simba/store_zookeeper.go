package main

import (
	"context"
	"errors"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/zookeeper"
)

var zookeeperScheme = scheme{
	name:  "zookeeper",
	usage: "zookeeper://HOST:PORT,.../NAMESPACE",
	open: func(ctx context.Context, url string) (simba.Store, func() error, error) {
		store, err := zookeeper.Open(ctx, url)
		if errors.Is(err, zookeeper.ErrURL) {
			return nil, nil, &exitError{exitUsage, err}
		}
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	},
}
