package zookeeper

import (
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
)

// conform runs the suite. Each store is connected to the next one of the addresses. With elsewhere, the
// data is lost by moving to that server.
func conform(t *testing.T, lease time.Duration, addresses []string, elsewhere string) {
	if err := fewComparisons(); err != nil {
		t.Fatal(err)
	}
	next := 0
	open := func(tb testing.TB, options Options) *Store {
		next++
		return opened(tb, addresses[next%len(addresses):][:1], options).Store
	}
	backendtest.Run(t, backendtest.Config{
		Lease: lease,
		Open: func(tb testing.TB) backendtest.Store {
			options := Options{Namespace: freshNamespace()}
			first := open(tb, options)
			store := backendtest.Store{
				Driver: first,
				Peer:   func(tb testing.TB) backend.Driver { return open(tb, options) },
				Reopen: func(tb testing.TB) backend.Driver {
					first.Close()
					return open(tb, options)
				},
			}
			if elsewhere != "" {
				store.Wipe = func(tb testing.TB) backend.Driver {
					first.Close()
					return opened(tb, []string{elsewhere}, options).Store
				}
			}
			return store
		},
	})
}

// fewComparisons makes the one with the model short: where time cannot be moved, the model knows less.
// Tests that call it are parallel, and so run after all that are not.
var fewComparisons = sync.OnceValue(func() error { return flag.Set("rapid.checks", "10") })

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, time.Second, []string{alone.For(t).Addr}, another.For(t).Addr)
}
