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
		config, err := mysql.ParseURL(url)
		if err != nil {
			return nil, nil, wrongURL(err, url)
		}
		store, err := mysql.New(ctx, config)
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	},
	script: func(string) (string, error) { return mysql.Script(), nil },
	migrate: func(ctx context.Context, url string) error {
		config, err := mysql.ParseURL(url)
		if err != nil {
			return wrongURL(err, url)
		}
		return mysql.Migrate(ctx, config)
	},
}
