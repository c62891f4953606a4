package sqlite

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
)

// config is for the suite: two stores over one file. Advance moves the time of the
// environment, or is nil.
func config(begin func() (env environment, advance func(time.Duration))) backendtest.Config {
	return backendtest.Config{Open: func(tb testing.TB) backendtest.Store {
		env, advance := begin()
		path := filepath.Join(tb.TempDir(), "leases.db")
		first := opened(tb, path, env)
		reopen := func(tb testing.TB) backend.Driver {
			if err := first.Close(); err != nil {
				tb.Fatal(err)
			}
			return opened(tb, path, env)
		}
		return backendtest.Store{
			Driver:  first,
			Peer:    func(tb testing.TB) backend.Driver { return opened(tb, path, env) },
			Advance: advance,
			Reopen:  reopen,
			Wipe: func(tb testing.TB) backend.Driver {
				for _, ending := range []string{"", "-wal", "-shm", "-queue", "-next"} {
					if err := os.Remove(path + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
						tb.Fatal(err)
					}
				}
				return reopen(tb)
			},
		}
	}}
}

func TestConformsInVirtualTime(t *testing.T) {
	backendtest.Run(t, config(func() (environment, func(time.Duration)) {
		c := &clock{}
		return c.environment(), c.advance
	}))
}

func TestConformsInRealTime(t *testing.T) {
	// Where time cannot be moved, the model knows less than in virtual time.
	defer flag.Set("rapid.checks", flag.Lookup("rapid.checks").Value.String())
	if err := flag.Set("rapid.checks", "10"); err != nil {
		t.Fatal(err)
	}
	backendtest.Run(t, config(func() (environment, func(time.Duration)) { return system(), nil }))
}
