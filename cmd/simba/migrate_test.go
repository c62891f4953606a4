//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/simba-go/simba/internal/servers"
)

// Each database is made ready once, and is then a store like others.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start func(...string) (*servers.Server, error)
		url   func(addr string) string
	}{
		"postgres": {servers.Postgres, func(addr string) string { return "postgresql://postgres@" + addr + "/postgres?sslmode=disable" }},
		"mysql":    {servers.MariaDB, func(addr string) string { return "mysql://root@" + addr + "/simba" }},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := c.start()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Stop()
			url := c.url(server.Addr)
			w := newWorld(t)
			run := func(want int, says string, args ...string) {
				t.Helper()
				code, stdout, stderr := w.run(append(args, "--backend", url)...)
				if code != want || !strings.Contains(stdout+stderr, says) {
					t.Errorf("%q exits with %d: %s%s", args, code, stdout, stderr)
				}
			}
			run(exitUnavailable, "simba migrate", "status")
			run(0, "CREATE TABLE", "migrate", "--print")
			run(exitUnavailable, "simba migrate", "status")
			run(0, "the tables are there", "migrate")
			run(0, "the tables are there", "migrate")
			if code, _, stderr := w.run("lock", "name", "--backend", url, "--", "true"); code != 0 {
				t.Errorf("lock exits with %d: %s", code, stderr)
			}
			run(0, "No lease is held", "status")
		})
	}
}
