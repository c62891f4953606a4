package memory

import (
	"context"
	"crypto/rand"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Store is a backend within one process. It arbitrates between clients that share
// it, and is gone with the process. It is safe for concurrent use.
type Store struct {
	clock actor.Clock

	mu      sync.Mutex
	model   *Model
	watches map[*watch]struct{}
}

var (
	_ backend.Store   = (*Store)(nil)
	_ backend.Driver  = (*Store)(nil)
	_ backend.Watcher = (*Store)(nil)
	_ backend.Noter   = (*Store)(nil)
)

// Option configures a [Store].
type Option func(*Store)

// WithClock sets the clock by which sessions expire, [actor.SystemClock] by
// default.
func WithClock(c actor.Clock) Option { return func(s *Store) { s.clock = c } }

// WithModel sets the state that the store works on, which is then the store's. By
// default it is an empty one without a limit to leases, whose tokens start at the
// system's wall clock.
func WithModel(m *Model) Option { return func(s *Store) { s.model = m } }

// New returns a store.
func New(options ...Option) *Store {
	s := &Store{
		clock:   actor.SystemClock{},
		model:   NewModel(Config{Wall: systemWall}),
		watches: make(map[*watch]struct{}),
	}
	for _, o := range options {
		o(s)
	}
	return s
}

func systemWall(actor.Instant) uint64 { return uint64(time.Now().UnixMicro()) }

// Backend returns [backend.Serve] of the store.
func (s *Store) Backend() actor.Behavior { return backend.Serve(s) }

// Open implements [backend.Driver].
func (s *Store) Open(ctx context.Context, lease time.Duration, label string) (grant backend.Grant, err error) {
	id := rand.Text() // R3: at least 128 random bits
	err = s.do(ctx, func(now actor.Instant) error {
		grant, err = s.model.Open(now, id, lease, label)
		return err
	})
	return grant, err
}

// Renew implements [backend.Driver].
func (s *Store) Renew(ctx context.Context, session string, known uint64, full bool) (renewal backend.Renewal, err error) {
	err = s.do(ctx, func(now actor.Instant) error {
		renewal, err = s.model.Renew(now, session, known, full)
		return err
	})
	return renewal, err
}

// Acquire implements [backend.Driver].
func (s *Store) Acquire(ctx context.Context, session string, names []string, all bool) (outcomes []backend.Outcome, err error) {
	err = s.do(ctx, func(now actor.Instant) error {
		outcomes, err = s.model.Acquire(now, session, names, all)
		s.taken(now, outcomes)
		return err
	})
	return outcomes, err
}

// Release implements [backend.Driver].
func (s *Store) Release(ctx context.Context, session string, leases []backend.Lease) error {
	return s.do(ctx, func(now actor.Instant) error {
		s.freed(slices.Values(s.model.Release(now, session, leases)))
		return nil
	})
}

// CloseSession implements [backend.Driver].
func (s *Store) CloseSession(ctx context.Context, session string) error {
	return s.do(ctx, func(now actor.Instant) error {
		s.freed(s.model.Close(now, session))
		return nil
	})
}

// Inspect implements [backend.Driver].
func (s *Store) Inspect(ctx context.Context, names []string) (holders []backend.Holder, err error) {
	err = s.do(ctx, func(now actor.Instant) error {
		holders = s.model.Inspect(now, names)
		return nil
	})
	return holders, err
}

// KeepNote implements [backend.Noter].
func (s *Store) KeepNote(ctx context.Context, session string, l backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	err = s.do(ctx, func(now actor.Instant) error {
		kept, held, err = s.model.KeepNote(now, session, l, note)
		return err
	})
	return kept, held, err
}

// do runs one operation. The clock is read under the lock: read before it, the
// time could be stale by however long the lock took, and a session that has
// expired would be renewed.
func (s *Store) do(ctx context.Context, f func(now actor.Instant) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.clock.Now())
}

// freed wakes those who watch one of the names. The lock is held.
func (s *Store) freed(names iter.Seq[string]) {
	if len(s.watches) == 0 {
		return
	}
	for name := range names {
		for w := range s.watches {
			if w.set.Has(name) {
				w.freed = append(w.freed, name)
				w.signal()
			}
		}
	}
}

// taken tells those who watch a name that was won when it may become vacant by
// expiry. The lock is held.
func (s *Store) taken(now actor.Instant, outcomes []backend.Outcome) {
	for w := range s.watches {
		var won []string
		for _, o := range outcomes {
			if o.Won && w.set.Has(o.Name) {
				won = append(won, o.Name)
			}
		}
		if _, next := s.model.Vacant(now, won); next < w.next {
			w.next = next
			w.signal()
		}
	}
}
