package postgres

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/servers"
)

// config is for the suite: two stores over one schema, which connect to the server or the pooler. A
// restart is one of the server, which is killed.
func config(to *servers.Shared) backendtest.Config {
	return backendtest.Config{Open: func(tb testing.TB) backendtest.Store {
		opened := func(tb testing.TB, url string) *store {
			s := opened(tb, url)
			s.listener.echo = 200 * time.Millisecond // no need to wait long for what will not come
			return s
		}
		db := server.For(tb)
		_, options := newSchema(tb, db)
		url := to.For(tb).URL + "&simba_schema=" + options.Schema
		first := opened(tb, url)
		reopen := func(tb testing.TB) backend.Driver {
			if err := first.Close(); err != nil {
				tb.Fatal(err)
			}
			db.Kill()
			if err := db.Start(drivertest.Within(tb)); err != nil {
				tb.Fatal(err)
			}
			drivertest.Eventually(tb, "it is back, and the pooler has noticed", func() bool {
				conn, err := pgx.Connect(drivertest.Within(tb), to.For(tb).URL+"&default_query_exec_mode=exec")
				if err != nil {
					return false
				}
				defer conn.Close(context.Background())
				return conn.Ping(drivertest.Within(tb)) == nil
			})
			return opened(tb, url)
		}
		return backendtest.Store{
			Driver: first,
			Peer:   func(tb testing.TB) backend.Driver { return opened(tb, url) },
			Reopen: reopen,
			Wipe: func(tb testing.TB) backend.Driver {
				a := admin(tb, db)
				a.do("DROP SCHEMA " + options.Schema + " CASCADE")
				if err := Migrate(drivertest.Within(tb), a.Conn, options); err != nil {
					tb.Fatal(err)
				}
				return reopen(tb)
			},
		}
	}}
}

func TestConforms(t *testing.T) { backendtest.Run(t, config(server)) }

func TestConformsThroughPgBouncer(t *testing.T) {
	// What differs from the above is how statements travel, which takes no long sequences to find out.
	defer flag.Set("rapid.checks", flag.Lookup("rapid.checks").Value.String())
	if err := flag.Set("rapid.checks", "20"); err != nil {
		t.Fatal(err)
	}
	backendtest.Run(t, config(pooler))
}
