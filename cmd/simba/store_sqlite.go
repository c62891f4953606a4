package main

import (
	"context"
	"strings"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/sqlite"
)

var sqliteScheme = scheme{
	name:  "sqlite",
	usage: "sqlite:PATH",
	open: func(ctx context.Context, url string) (simba.Store, func() error, error) {
		path, err := sqlitePath(url)
		if err != nil {
			return nil, nil, err
		}
		store, err := sqlite.Open(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	},
}

// sqlitePath takes what follows the scheme as it is. Three slashes, as some write
// them, begin an absolute path.
func sqlitePath(url string) (string, error) {
	_, path, _ := strings.Cut(url, ":")
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		if !strings.HasPrefix(rest, "/") {
			return "", usagef("sqlite:// names a host, and a file has none; write sqlite:PATH")
		}
		path = rest
	}
	switch {
	case path == "":
		return "", usagef("sqlite: has no path; write sqlite:PATH, such as sqlite:/var/lib/simba/leases.db")
	case path == ":memory:":
		return "", usagef("sqlite::memory: is a database that no other process can see; write sqlite:PATH")
	}
	return path, nil
}
