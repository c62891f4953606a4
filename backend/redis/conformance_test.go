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

func TestConforms(t *testing.T) {
	backendtest.Run(t, suite(func(tb testing.TB, ns string) *store { return settled(tb, shared.For(tb), ns) }))
}
