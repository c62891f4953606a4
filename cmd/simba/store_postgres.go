package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/postgres"
)

var postgresScheme = scheme{
	name:  "postgres",
	alias: "postgresql",
	usage: "postgres://HOST/DATABASE",
	open: func(ctx context.Context, url string) (simba.Store, func() error, error) {
		if _, _, err := postgres.ParseURL(url); err != nil {
			return nil, nil, wrongURL(err, url)
		}
		store, err := postgres.Open(ctx, url)
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	},
	script: func(url string) (string, error) {
		_, options, err := postgres.ParseURL(url)
		if err != nil {
			return "", wrongURL(err, url)
		}
		return postgres.Script(options)
	},
	migrate: migratePostgres,
}

func migratePostgres(ctx context.Context, url string) error {
	config, options, err := postgres.ParseURL(url)
	if err != nil {
		return wrongURL(err, url)
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	return errors.Join(postgres.Migrate(ctx, conn, options), conn.Close(ctx))
}
