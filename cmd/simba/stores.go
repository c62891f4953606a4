package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/simba-go/simba"
)

// backendVar is where users put a URL that others must not see: the arguments of
// a process are public.
const backendVar = "SIMBA_BACKEND"

// scheme is a kind of store that --backend can name. Each has a file of its own,
// and a line in the list below.
type scheme struct {
	name  string // what comes before the colon
	alias string // another name, or none
	usage string
	// private says that no other process can see the store.
	private bool
	// open takes the whole URL.
	open func(ctx context.Context, url string) (store simba.Store, close func() error, err error)
	// migrate makes the tables, and script is the SQL for that. Both are nil for a store
	// that has none to make.
	migrate func(ctx context.Context, url string) error
	script  func(url string) (string, error)
}

var schemes = []scheme{
	sqliteScheme,
	redisScheme,
	redissScheme,
	postgresScheme,
	mysqlScheme,
	zookeeperScheme,
	memoryScheme,
}

func knownSchemes() string {
	usages := make([]string, len(schemes))
	for i, s := range schemes {
		usages[i] = s.usage
	}
	return strings.Join(usages, ", ")
}

// backendURL is the store that the user wants.
func (g *globalFlags) backendURL() (string, error) {
	if g.flags.Changed("backend") {
		return g.backend, nil
	}
	if url := os.Getenv(backendVar); url != "" {
		return url, nil
	}
	path, err := defaultPath()
	if err != nil {
		return "", err
	}
	return "sqlite:" + path, nil
}

// schemeOf finds who opens a URL. Its errors never show more of it than the
// scheme: the rest may hold a password.
func schemeOf(url string) (scheme, error) {
	name, _, ok := strings.Cut(url, ":")
	if !ok || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`).MatchString(name) {
		return scheme{}, usagef("the backend's URL has no scheme; it must be one of %s", knownSchemes())
	}
	for _, s := range schemes {
		if strings.EqualFold(s.name, name) || strings.EqualFold(s.alias, name) {
			return s, nil
		}
	}
	return scheme{}, usagef("the backend's URL has the unknown scheme %q; it must be one of %s", name, knownSchemes())
}

// wrongURL is the error of a driver that does not understand a URL.
func wrongURL(err error, url string) error { return &exitError{exitUsage, redact(err, url)} }

// defaultPath is the file that the processes of one user share if nobody says
// otherwise. It creates its folder.
func defaultPath() (string, error) {
	folder, err := stateFolder()
	if err == nil {
		folder = filepath.Join(folder, "simba")
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		err = fmt.Errorf("there is no folder for the default database: %w; set --backend or %s", err, backendVar)
		return "", &exitError{exitUnavailable, err}
	}
	return filepath.Join(folder, "leases.db"), nil
}

// stateFolder is where the system wants programs to keep what must survive a
// restart and is not the user's own work.
func stateFolder() (string, error) {
	switch runtime.GOOS {
	case "darwin":
		return os.UserConfigDir() // ~/Library/Application Support
	case "windows":
		return os.UserCacheDir() // %LocalAppData%, which does not roam to other machines
	}
	if folder := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(folder) {
		return folder, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state"), err
}
