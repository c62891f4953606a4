package simba_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// What the defaults come to, for tests in virtual time.
const (
	lease    = simba.DefaultLease
	interval = lease / 3
	local    = lease - lease/100 - 50*time.Millisecond // what can be relied on of a fresh lease
)

// world is a store, and the clock by which everybody lives.
type world struct {
	t     *testing.T
	clock actor.Clock
	store *memory.Store
}

// virtual runs a test in virtual time, which passes only while everybody waits.
func virtual(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := actor.NewGoClock()
		test(t, &world{t: t, clock: clock, store: memory.New(memory.WithClock(clock))})
	})
}

// real is a world in real time.
func real(t *testing.T) *world {
	return &world{t: t, clock: actor.SystemClock{}, store: memory.New()}
}

// process is a client with its own way to the store, as if it were a process of its
// own.
type process struct {
	*simba.Client
	way    *way
	events *recorder
}

// start opens a client and sees to it that the test closes it.
func (w *world) start(opts ...simba.Option) *process {
	w.t.Helper()
	p := &process{way: newWay(w.store), events: &recorder{}}
	all := []simba.Option{simba.WithClock(w.clock), simba.WithLogger(discard), simba.WithEvents(p.events.record)}
	c, err := simba.Open(w.t.Context(), p.way, append(all, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	p.Client = c
	w.t.Cleanup(func() {
		p.way.heal()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return p
}

var discard = slog.New(slog.DiscardHandler)

// holder asks the store itself, past all faults.
func (w *world) holder(name string) simba.Holder {
	w.t.Helper()
	holders, err := w.store.Inspect(context.Background(), []string{name})
	if err != nil {
		w.t.Fatal(err)
	}
	return holders[0]
}

// recorder keeps a client's events.
type recorder struct {
	mu     sync.Mutex
	events []simba.Event
}

func (r *recorder) record(e simba.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// of returns the events of one type, in order.
func of[E any](r *recorder) []E {
	r.mu.Lock()
	defer r.mu.Unlock()
	var es []E
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			es = append(es, e)
		}
	}
	return es
}

// The calls of a driver.
const (
	opOpen    = "open"
	opRenew   = "renew"
	opAcquire = "acquire"
	opRelease = "release"
	opClose   = "close"
	opInspect = "inspect"
)

// way is one client's way to the store, on which calls get lost.
type way struct {
	*memory.Store
	mu     sync.Mutex
	faults map[string]fault
	counts map[string]int
	reopen chan struct{}    // closed by heal
	waited *backend.NameSet // by Watch; nil while it was not called
}

// fault takes the place of a call, which do makes.
type fault func(ctx context.Context, do func() error) error

func newWay(s *memory.Store) *way {
	return &way{Store: s, faults: make(map[string]fault), counts: make(map[string]int), reopen: make(chan struct{})}
}

// Backend implements [simba.Store].
func (w *way) Backend() actor.Behavior { return backend.Serve(w) }

// set makes calls fail from now on: those named, or all.
func (w *way) set(f fault, ops ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(ops) == 0 {
		ops = []string{opOpen, opRenew, opAcquire, opRelease, opClose, opInspect}
	}
	for _, op := range ops {
		w.faults[op] = f
	}
}

// heal makes calls succeed again. Those that hang for good go on with an error.
func (w *way) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.faults)
	close(w.reopen)
	w.reopen = make(chan struct{})
}

// count returns how many calls were begun.
func (w *way) count(op string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[op]
}

// Watch implements [backend.Watcher].
func (w *way) Watch(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
	w.mu.Lock()
	w.waited = set
	w.mu.Unlock()
	return w.Store.Watch(ctx, set, vacated)
}

// watched returns for how many names notices are wanted.
func (w *way) watched() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waited == nil {
		return 0
	}
	return w.waited.Len()
}

var errCut = errors.New("the way to the store is cut")

// cut fails at once.
func cut(context.Context, func() error) error { return errCut }

// hang answers when the caller has given up.
func hang(ctx context.Context, _ func() error) error {
	<-ctx.Done()
	return ctx.Err()
}

// deaf is a driver that does not even heed its context, until the way is healed.
func (w *way) deaf(context.Context, func() error) error {
	w.mu.Lock()
	reopen := w.reopen
	w.mu.Unlock()
	<-reopen
	return errCut
}

// unheard makes the call, and loses the answer.
func unheard(_ context.Context, do func() error) error {
	do()
	return errCut
}

// late makes the call, and answers d later.
func late(d time.Duration) fault {
	return func(ctx context.Context, do func() error) error {
		err := do()
		time.Sleep(d)
		return err
	}
}

// expired is the store's last word about a session.
func expired(context.Context, func() error) error { return backend.ErrExpired }

func (w *way) call(ctx context.Context, op string, do func() error) error {
	w.mu.Lock()
	w.counts[op]++
	f := w.faults[op]
	w.mu.Unlock()
	if f != nil {
		return f(ctx, do)
	}
	return do()
}

func (w *way) Open(ctx context.Context, lease time.Duration, label string) (g backend.Grant, err error) {
	err = w.call(ctx, opOpen, func() error { g, err = w.Store.Open(ctx, lease, label); return err })
	return g, err
}

func (w *way) Renew(ctx context.Context, session string, known uint64, full bool) (r backend.Renewal, err error) {
	err = w.call(ctx, opRenew, func() error { r, err = w.Store.Renew(ctx, session, known, full); return err })
	return r, err
}

func (w *way) Acquire(ctx context.Context, session string, names []string, all bool) (out []backend.Outcome, err error) {
	err = w.call(ctx, opAcquire, func() error { out, err = w.Store.Acquire(ctx, session, names, all); return err })
	return out, err
}

func (w *way) Release(ctx context.Context, session string, leases []backend.Lease) error {
	return w.call(ctx, opRelease, func() error { return w.Store.Release(ctx, session, leases) })
}

func (w *way) CloseSession(ctx context.Context, session string) error {
	return w.call(ctx, opClose, func() error { return w.Store.CloseSession(ctx, session) })
}

func (w *way) Inspect(ctx context.Context, names []string) (hs []backend.Holder, err error) {
	err = w.call(ctx, opInspect, func() error { hs, err = w.Store.Inspect(ctx, names); return err })
	return hs, err
}

// within fails the test unless c is closed within d. In virtual time d is exact; in
// real time it is a bound for something that has gone wrong.
func within[T any](t *testing.T, d time.Duration, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		t.Fatalf("%s did not happen within %v", what, d)
		panic("unreachable")
	}
}

// long is a bound for what takes no time, on a slow machine.
const long = 30 * time.Second

// async runs f and returns where its result goes.
func async[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

// must unwraps what may not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// eventually waits for a condition, in real time.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(long); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain for %s", long, what)
		}
	}
}

func leasesOf(terms ...*simba.Term) []backend.Lease {
	var leases []backend.Lease
	for _, t := range terms {
		leases = append(leases, backend.Lease{Name: t.Name(), Token: t.Token()})
	}
	return leases
}
