package task_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/task"
)

const lease = 10 * time.Second

// client is what the package at the root makes of sessions, elections and hosts, as
// far as is needed to see them work together: on real goroutines, with the time of
// testing/synctest.
type client struct {
	t        *testing.T
	system   *actor.System
	session  actor.Ref
	insiders *task.Insiders
	running  sync.WaitGroup
	executor task.Executor
	params   session.Params
	sink     observe.Sink

	mu        sync.Mutex
	elections []*handle
	closed    chan struct{}
	closeOnce sync.Once
}

// open opens a client.
func open(t *testing.T, clock actor.Clock, store backend.Driver) *client {
	c := &client{
		t: t, insiders: task.NewInsiders(), executor: task.Go, params: session.Defaults(lease),
		sink: observe.Discard, closed: make(chan struct{}),
	}
	c.system = actor.NewSystem(actor.WithClock(clock), actor.WithErrors(func(err error) { t.Errorf("the engine reports: %v", err) }))
	c.session = c.system.Spawn("session", session.New(session.Config{
		Params: c.params, Backend: c.system.Spawn("backend", backend.Serve(store)), Clock: clock,
		Sink: func(e observe.Event) { c.sink(e) },
	}))
	return c
}

// handle is an election of a client.
type handle struct {
	client *client
	ref    actor.Ref
	view   atomic.Pointer[election.Snapshot]
}

func (c *client) elect(name string, listener *task.Listener, work task.Func, after ...election.Policy) *handle {
	h := &handle{client: c}
	hc := task.HostConfig{Name: name, Work: work, Executor: c.executor, Insiders: c.insiders, Running: &c.running}
	ec := election.Config{
		Name: name, Session: c.session, Works: work != nil, Params: c.params, View: &h.view,
		AfterReturn: election.Hold, AfterFailure: election.Yield,
		Sink: func(e observe.Event) { c.sink(e) },
	}
	if len(after) > 0 {
		ec.AfterReturn, ec.AfterFailure = after[0], after[0]
	}
	if listener != nil {
		hc.Listener, ec.Listens = *listener, true
	}
	ec.Host = task.NewHost(hc)
	h.ref = c.system.Spawn("election "+name, election.New(ec))
	answer, err := actor.Ask(context.Background(), c.session, session.Join{Names: []string{name}, Owner: h.ref})
	if err, ok := answer.(error); ok {
		c.t.Errorf("joining %q: %v", name, err)
	}
	if err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	c.elections = append(c.elections, h)
	c.mu.Unlock()
	h.ref.Tell(election.Start{})
	return h
}

// ask is a blocking call (R40).
func (h *handle) ask(ctx context.Context, msg actor.Message) error {
	if h.client.insiders.Inside(ctx) {
		h.ref.Tell(actor.NewRequest(msg, nobody{}))
		return nil
	}
	answer, err := actor.Ask(ctx, h.ref, msg)
	if err == nil {
		err, _ = answer.(error)
	}
	return err
}

func (h *handle) stop(ctx context.Context) error { return h.ask(ctx, election.Stop{}) }

func (h *handle) stepDown(ctx context.Context, cooldown time.Duration) error {
	return h.ask(ctx, election.StepDown{Cooldown: cooldown})
}

type nobody struct{}

func (nobody) Tell(actor.Message) {}
func (nobody) String() string     { return "nobody" }

// close is a blocking call as well.
func (c *client) close(ctx context.Context) {
	c.closeOnce.Do(func() {
		go func() {
			defer close(c.closed)
			c.mu.Lock()
			all := c.elections
			c.mu.Unlock()
			for _, h := range all {
				if _, err := actor.Ask(context.Background(), h.ref, election.Stop{}); err != nil && !errors.Is(err, actor.ErrStopped) {
					c.t.Error(err)
				}
			}
			if _, err := actor.Ask(context.Background(), c.session, session.Close{}); err != nil {
				c.t.Error(err)
			}
			c.running.Wait()
			c.system.Shutdown(context.Background())
		}()
	})
	if !c.insiders.Inside(ctx) {
		<-c.closed
	}
}

// flaky is a store whose network a test can cut off.
type flaky struct {
	*memory.Store
	cut atomic.Bool
}

var errCut = errors.New("the network is cut off")

func (f *flaky) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	if f.cut.Load() {
		return backend.Renewal{}, errCut
	}
	return f.Store.Renew(ctx, session, known, full)
}

func (f *flaky) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	if f.cut.Load() {
		return nil, errCut
	}
	return f.Store.Acquire(ctx, session, names, all)
}

func (f *flaky) Release(ctx context.Context, session string, leases []backend.Lease) error {
	if f.cut.Load() {
		return errCut
	}
	return f.Store.Release(ctx, session, leases)
}

func (f *flaky) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	if f.cut.Load() {
		return backend.Grant{}, errCut
	}
	return f.Store.Open(ctx, lease, label)
}
