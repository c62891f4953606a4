package main

import (
	"context"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/mysql"
)

var mysqlScheme = scheme{
	name:  "mysql",
	usage: "mysql://HOST/DATABASE",
	open: func(ctx context.Context, url string) (simba.Store, func() error, error) {
		store, err := mysql.Open(ctx, url)
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	},
	script: func(string) (string, error) { return mysql.Script(), nil },
	migrate: func(ctx context.Context, url string) error {
		config, err := mysql.ParseURL(url)
		if err != nil {
			return err
		}
		return mysql.Migrate(ctx, config)
	},
}
