package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands still unless it is advanced, and the wall clock with it.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() actor.Instant      { return actor.Instant(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }
func (c *clock) wall() time.Time         { return time.Unix(1_800_000_000, c.now.Load()) }

func local(string) (string, error) { return "", nil }

// opened returns a store in the environment, which ends with the test.
func opened(tb testing.TB, path string, env environment) *Store {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := open(ctx, path, env)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func systemEnvironment(tb testing.TB) environment {
	tb.Helper()
	clock, err := sharedClock()
	if err != nil {
		tb.Fatal(err)
	}
	return environment{clock: clock, wall: time.Now, network: network}
}

// config is for the suite: two stores over one file.
func config(tb testing.TB, env func() (environment, func(time.Duration))) backendtest.Config {
	return backendtest.Config{Open: func(tb testing.TB) backendtest.Store {
		path := filepath.Join(tb.TempDir(), "leases.db")
		env, advance := env()
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
				if err := first.Close(); err != nil {
					tb.Fatal(err)
				}
				for _, ending := range []string{"", "-wal", "-shm", "-queue", "-next"} {
					if err := os.Remove(path + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
						tb.Fatal(err)
					}
				}
				return opened(tb, path, env)
			},
		}
	}}
}

func TestConformsInVirtualTime(t *testing.T) {
	backendtest.Run(t, config(t, func() (environment, func(time.Duration)) {
		c := &clock{}
		return environment{clock: c, wall: c.wall, network: local}, c.advance
	}))
}

func TestConformsInRealTime(t *testing.T) {
	env := systemEnvironment(t)
	backendtest.Run(t, config(t, func() (environment, func(time.Duration)) { return env, nil }))
}
