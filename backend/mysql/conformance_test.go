package mysql

import (
	"testing"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
	"github.com/simba-go/simba/backend/internal/drivertest"
)

// config is for the suite: two stores over one database. A restart is one of the server, which is
// killed.
func config() backendtest.Config {
	return backendtest.Config{Open: func(tb testing.TB) backendtest.Store {
		db := server.For(tb)
		url := newDatabase(tb, db)
		first := opened(tb, url)
		reopen := func(tb testing.TB) backend.Driver {
			if err := first.Close(); err != nil {
				tb.Fatal(err)
			}
			db.Kill()
			if err := db.Start(drivertest.Within(tb)); err != nil {
				tb.Fatal(err)
			}
			return opened(tb, url)
		}
		return backendtest.Store{
			Driver: first,
			Peer:   func(tb testing.TB) backend.Driver { return opened(tb, url) },
			Reopen: reopen,
			Wipe: func(tb testing.TB) backend.Driver {
				admin(tb, url).do("DROP TABLE simba_session, simba_lease, simba_note, simba_version")
				migrated(tb, url)
				return reopen(tb)
			},
		}
	}}
}

func TestConforms(t *testing.T) { backendtest.Run(t, config()) }
