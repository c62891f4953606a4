package simba

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/task"
)

// Client is one process's handle on a store: one session, with all leases of the
// process. All methods are safe for concurrent use. Close it when done.
type Client struct {
	params   session.Params
	log      *slog.Logger
	sink     observe.Sink
	executor Executor

	system   *actor.System
	backend  actor.Ref
	session  actor.Ref
	view     atomic.Pointer[session.Snapshot]
	insiders *task.Insiders
	running  sync.WaitGroup // goroutines with the user's code

	mu        sync.Mutex
	elections map[*Election]struct{}
	locks     map[*Locks]struct{}
	closing   chan struct{} // closed when Close is called first
	closed    chan struct{} // closed when that is done
	closeOnce sync.Once
}

// Open opens a session at the store, which must not be nil, and returns once it
// lives or ctx is done; then the error is an [*OpenError]. ctx bounds this call
// only. The store stays the caller's to close, after the client.
func Open(ctx context.Context, store Store, opts ...Option) (*Client, error) {
	o, params, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	if store == nil {
		return nil, errors.New("simba: the store is nil; open one, for example with sqlite.Open")
	}
	c := &Client{
		params:    params,
		log:       o.logger,
		executor:  o.executor,
		insiders:  task.NewInsiders(),
		elections: make(map[*Election]struct{}),
		locks:     make(map[*Locks]struct{}),
		closing:   make(chan struct{}),
		closed:    make(chan struct{}),
	}
	c.sink = func(e Event) {
		c.logEvent(e)
		o.sink(e)
	}
	c.system = actor.NewSystem(actor.WithClock(o.clock), actor.WithErrors(c.engineError))
	c.backend = c.system.Spawn("backend", store.Backend())
	c.session = c.system.Spawn("session", session.New(session.Config{
		Params: params, Label: o.label, Backend: c.backend, Clock: o.clock, Sink: c.sink, View: &c.view,
	}))
	if err := c.awaitOpen(ctx); err != nil {
		c.shutDown()
		return nil, err
	}
	if _, ok := o.clock.(actor.SystemClock); ok {
		c.running.Go(c.watchSleep)
	}
	return c, nil
}

func (c *Client) awaitOpen(ctx context.Context) error {
	if _, err := c.ask(ctx, c.session, session.AwaitOpen{}); err != nil {
		e := &OpenError{Cause: err}
		if view := c.view.Load(); view != nil {
			e.Last = view.LastErr
		}
		return e
	}
	return nil
}

// ask asks an actor. An answer that is an error is the error, and that an actor
// has ended means that the client is closed.
func (c *Client) ask(ctx context.Context, to actor.Ref, msg actor.Message) (actor.Message, error) {
	answer, err := actor.Ask(ctx, to, msg)
	var closed *session.ClosedError
	switch {
	case errors.Is(err, actor.ErrStopped):
		return nil, ErrClosed
	case err != nil:
		return nil, err
	}
	if err, ok := answer.(error); ok {
		if errors.As(err, &closed) {
			return nil, ErrClosed
		}
		return nil, err
	}
	return answer, nil
}

// join checks names and takes them for an owner.
func (c *Client) join(owner actor.Ref, names ...string) error {
	// The answer needs no backend, only the session's actor.
	_, err := c.ask(context.Background(), c.session, session.Join{Names: names, Owner: owner})
	return err
}

// Close stops every election with its handover and releases every lock, then
// closes the session and ends all goroutines of the client. It returns nil once
// that is done, which includes that all callbacks and tasks have returned. When ctx
// is done first it returns an error, and all of that goes on: no lease is given
// away while a task may still count on it. From within a callback or a task it
// starts the work and returns.
func (c *Client) Close(ctx context.Context) error {
	c.closeOnce.Do(func() {
		c.mu.Lock()
		close(c.closing)
		c.mu.Unlock()
		go func() {
			defer close(c.closed)
			c.shutDown()
			c.running.Wait()
		}()
	})
	if c.insiders.Inside(ctx) {
		return nil
	}
	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("simba: closing the client goes on: %w", context.Cause(ctx))
	}
}

// shutDown hands everything over, and then closes the session.
func (c *Client) shutDown() {
	c.handOver()
	// The session gives up telling the backend when it would expire anyway.
	c.ask(context.Background(), c.session, session.Close{})
	c.system.Shutdown(context.Background())
}

// handOver stops all elections and locks. It is bounded: by then no handover can
// still be waiting for its task, and only callbacks that never return are left.
func (c *Client) handOver() {
	ctx, cancel := context.WithTimeout(context.Background(), c.params.Lease)
	defer cancel()
	var all sync.WaitGroup
	c.mu.Lock()
	for e := range c.elections {
		all.Go(func() { c.ask(ctx, e.ref, election.Stop{}) })
	}
	for l := range c.locks {
		all.Go(func() { l.release(ctx) })
	}
	c.mu.Unlock()
	all.Wait()
}

// register keeps track of something that Close has to end.
func register[T comparable](c *Client, set map[T]struct{}, item T) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closing:
		return ErrClosed
	default:
		set[item] = struct{}{}
		return nil
	}
}

func unregister[T comparable](c *Client, set map[T]struct{}, item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(set, item)
}

// watchSleep makes the session look at its deadline soon after the machine has
// been asleep. Reads are right without it; it is for those who wait for a term's
// end, because timers do not count the time asleep.
func (c *Client) watchSleep() {
	const period = time.Second
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	clock := c.system.Clock()
	asleep := func(since time.Time, at actor.Instant) time.Duration {
		return clock.Now().Sub(at) - time.Since(since)
	}
	wall, at := time.Now(), clock.Now()
	for {
		select {
		case <-c.closing:
			return
		case <-ticker.C:
			if asleep(wall, at) > 10*time.Millisecond {
				c.session.Tell(session.Check{})
			}
			wall, at = time.Now(), clock.Now()
		}
	}
}

// blocking returns [ErrInline] for a call that would make an engine's loop wait.
func (c *Client) blocking() error {
	if c.insiders.Inline() {
		return ErrInline
	}
	return nil
}

// CheckName returns a [*NameError] unless name can be the name of a lease: 1 to
// 128 characters of A-Z a-z 0-9 . _ : -, and not "." or "..".
func CheckName(name string) error { return backend.CheckName(name) }

// Snapshot is what an operator sees of a client. It is immutable.
type Snapshot struct {
	Session   string        // empty while there is none
	State     SessionState  //
	Remaining time.Duration // to the session's local deadline
	Interval  time.Duration // between renewals, as in effect
	Leases    int           // held by the session
	LastErr   error         // why the session's last call failed; nil if it did not
	Elections []ElectionSnapshot
}

// Snapshot returns the client's state, without waiting for anything. Its parts are
// each consistent in themselves.
func (c *Client) Snapshot() Snapshot {
	var s Snapshot
	if v := c.view.Load(); v != nil {
		s = Snapshot{Session: v.Session, State: v.State, Interval: v.Interval, Leases: v.Leases, LastErr: v.LastErr}
		if v.Deadline != nil {
			s.Remaining = v.Deadline.Remaining()
		}
	}
	c.mu.Lock()
	for e := range c.elections {
		s.Elections = append(s.Elections, e.Snapshot())
	}
	c.mu.Unlock()
	slices.SortFunc(s.Elections, func(a, b ElectionSnapshot) int { return cmp.Compare(a.Name, b.Name) })
	return s
}
