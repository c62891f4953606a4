package backendtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// fault is a way to break a store, and the checks that must find it.
type fault struct {
	name    string
	foundBy []string
	plant   func(d *broken)
	// How the suite is to be run.
	realTime bool
	patience time.Duration // for faults that are found by waiting in vain
	restart  func(*memory.Model) (reopen, wipe func(testing.TB) backend.Driver)
}

func (f fault) config() Config {
	c := Config{Lease: 60 * time.Millisecond, Patience: f.patience}
	c.Open = func(tb testing.TB) Store {
		model := memory.NewModel(memory.Config{Wall: wall})
		store, clock := sound(model)
		result := Store{Advance: clock.advance}
		if f.realTime {
			store, result.Advance = memory.New(), nil
		}
		d := &broken{Store: store, model: model, clock: clock, gone: make(chan struct{})}
		tb.Cleanup(func() { close(d.gone) })
		if f.plant != nil {
			f.plant(d)
		}
		if f.restart != nil {
			result.Reopen, result.Wipe = f.restart(model)
		}
		result.Driver = d
		return result
	}
	return c
}

// broken is a store in which some operations are replaced.
type broken struct {
	*memory.Store
	model *memory.Model
	clock *clock
	gone  chan struct{} // closed when the check has ended
	mu    sync.Mutex    // for the faults' own state

	open    func(ctx context.Context, lease time.Duration, label string) (backend.Grant, error)
	renew   func(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error)
	acquire func(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error)
	release func(ctx context.Context, session string, leases []backend.Lease) error
	end     func(ctx context.Context, session string) error
	inspect func(ctx context.Context, names []string) ([]backend.Holder, error)
	watch   func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error
	note    func(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error)
}

func (d *broken) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	if d.open != nil {
		return d.open(ctx, lease, label)
	}
	return d.Store.Open(ctx, lease, label)
}

func (d *broken) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	if d.renew != nil {
		return d.renew(ctx, session, known, full)
	}
	return d.Store.Renew(ctx, session, known, full)
}

func (d *broken) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	if d.acquire != nil {
		return d.acquire(ctx, session, names, all)
	}
	return d.Store.Acquire(ctx, session, names, all)
}

func (d *broken) Release(ctx context.Context, session string, leases []backend.Lease) error {
	if d.release != nil {
		return d.release(ctx, session, leases)
	}
	return d.Store.Release(ctx, session, leases)
}

func (d *broken) CloseSession(ctx context.Context, session string) error {
	if d.end != nil {
		return d.end(ctx, session)
	}
	return d.Store.CloseSession(ctx, session)
}

func (d *broken) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	if d.inspect != nil {
		return d.inspect(ctx, names)
	}
	return d.Store.Inspect(ctx, names)
}

func (d *broken) Watch(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
	if d.watch != nil {
		return d.watch(ctx, set, vacated)
	}
	return d.Store.Watch(ctx, set, vacated)
}

func (d *broken) KeepNote(ctx context.Context, session string, l backend.Lease, note backend.Note) (backend.Note, bool, error) {
	if d.note != nil {
		return d.note(ctx, session, l, note)
	}
	return d.Store.KeepNote(ctx, session, l, note)
}

// current returns the token that a name has now.
func (d *broken) current(name string) uint64 {
	h, _ := d.Store.Inspect(context.Background(), []string{name})
	return h[0].Token
}

// brief is for faults that show only as something that does not come.
const brief = 300 * time.Millisecond

func faults() []fault {
	return slices.Concat(sessionFaults(), leaseFaults(), inspectFaults(), callFaults(), watchFaults(), restartFaults(), noteFaults())
}

// revive gives dead sessions a new life under their old id.
// constantToken lets every lease have the same token.
// rename lets the store work with other names than it is told.
