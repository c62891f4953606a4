package redis

import (
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
)

// suite is for the conformance suite: two stores in one namespace, which is new for each check.
func suite(open func(tb testing.TB, namespace string) *store) backendtest.Config {
	return backendtest.Config{Lease: 300 * time.Millisecond, Open: func(tb testing.TB) backendtest.Store {
		ns := namespace()
		driver := func(tb testing.TB) backend.Driver { return open(tb, ns) }
		return backendtest.Store{Driver: driver(tb), Peer: driver}
	}}
}

// The server can be restarted, with its data and without. What was there before is over then, also that grants are
// withheld, which the suite does not know of.
func TestConforms(t *testing.T) {
	server := started(t, "--appendonly", "yes", "--appendfsync", "no")
	config := suite(func(tb testing.TB, ns string) *store { return settled(tb, server, ns) })
	open := config.Open
	config.Open = func(tb testing.TB) backendtest.Store {
		s := open(tb)
		ns := s.Driver.(*store).namespace
		s.Reopen = func(tb testing.TB) backend.Driver {
			restart(tb, server)
			return settled(tb, server, ns)
		}
		s.Wipe = func(tb testing.TB) backend.Driver {
			if err := raw(tb, server).FlushAll(tb.Context()).Err(); err != nil {
				tb.Fatal(err)
			}
			return s.Reopen(tb)
		}
		return s
	}
	backendtest.Run(t, config)
}
