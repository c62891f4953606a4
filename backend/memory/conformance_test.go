package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
	"github.com/simba-go/simba/backend/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands still unless it is advanced.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() actor.Instant      { return actor.Instant(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

// wall is the wall clock of a world that begins in 2025.
func wall(now actor.Instant) uint64 { return uint64(1735689600_000_000 + int64(now)/1000) }

func TestStoreConformsInVirtualTime(t *testing.T) {
	backendtest.Run(t, backendtest.Config{Open: func(testing.TB) backendtest.Store {
		clock := &clock{}
		model := memory.NewModel(memory.Config{Wall: wall})
		open := func(testing.TB) backend.Driver {
			return memory.New(memory.WithModel(model), memory.WithClock(clock))
		}
		return backendtest.Store{
			Driver:  open(t),
			Advance: clock.advance,
			Reopen:  open,
			Wipe: func(tb testing.TB) backend.Driver {
				model.Reset()
				return open(tb)
			},
		}
	}})
}

func TestStoreConformsInRealTime(t *testing.T) {
	backendtest.Run(t, backendtest.Config{
		Lease: 100 * time.Millisecond,
		Open:  func(testing.TB) backendtest.Store { return backendtest.Store{Driver: memory.New()} },
	})
}

// Two clients share a store, each through an actor of its own.
func TestServedStoreConforms(t *testing.T) {
	backendtest.Run(t, backendtest.Config{
		Lease: 100 * time.Millisecond,
		Open: func(tb testing.TB) backendtest.Store {
			store := memory.New()
			peer := func(tb testing.TB) backend.Driver { return backendtest.FromActor(tb, store.Backend()) }
			return backendtest.Store{Driver: peer(tb), Peer: peer}
		},
	})
}

func TestActorConforms(t *testing.T) {
	backendtest.Run(t, backendtest.Config{Open: func(tb testing.TB) backendtest.Store {
		clock := &clock{}
		behavior := memory.NewActor(memory.NewModel(memory.Config{Wall: wall}))
		return backendtest.Store{
			Driver:  backendtest.FromActor(tb, behavior, actor.WithClock(clock)),
			Advance: clock.advance,
		}
	}})
}

// A store that grants less than asked for is one like any other.
func TestStoreWithShortLeasesConforms(t *testing.T) {
	backendtest.Run(t, backendtest.Config{Open: func(testing.TB) backendtest.Store {
		clock := &clock{}
		model := memory.NewModel(memory.Config{MaxLease: 40 * time.Millisecond})
		return backendtest.Store{
			Driver:  memory.New(memory.WithModel(model), memory.WithClock(clock)),
			Advance: clock.advance,
		}
	}})
}
