package zookeeper

import (
	"flag"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
)

func TestConformance(t *testing.T) {
	// Where time cannot be moved, the model knows less.
	defer flag.Set("rapid.checks", flag.Lookup("rapid.checks").Value.String())
	if err := flag.Set("rapid.checks", "10"); err != nil {
		t.Fatal(err)
	}
	addresses := []string{alone.For(t).Addr}
	backendtest.Run(t, backendtest.Config{
		Lease: time.Second,
		Open: func(tb testing.TB) backendtest.Store {
			options := Options{Namespace: freshNamespace()}
			first := opened(tb, addresses, options)
			return backendtest.Store{
				Driver: first.Store,
				Peer:   func(tb testing.TB) backend.Driver { return opened(tb, addresses, options).Store },
				Reopen: func(tb testing.TB) backend.Driver {
					first.Close()
					return opened(tb, addresses, options).Store
				},
			}
		},
	})
}
