package simba

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/task"
)

// Client is one process's handle on a store: one session, with all leases of the
// process. All methods are safe for concurrent use. Close it when done.
type Client struct {
	params   session.Params
	log      *slog.Logger
	events   func(Event)
	executor Executor

	system   *actor.System
	session  actor.Ref
	backend  actor.Ref
	notes    bool // the store keeps them
	view     atomic.Pointer[session.Snapshot]
	insiders *task.Insiders
	running  sync.WaitGroup // goroutines with the user's code, and the watch for sleep

	closing   context.Context // done once Close was called; its cause is ErrClosed
	close     func()          // makes it so, once
	closeOnce sync.Once
	gone      chan struct{} // closed when closing, and no member is left
	closed    chan struct{} // closed when Close has nothing left to do

	mu      sync.Mutex
	members map[member]struct{}
	locks   map[string]*Locks // the latest of each name
}

// The names of the actors without which a client is of no use.
const (
	sessionActor = "session"
	backendActor = "backend"
)

// Open opens a session at the store and returns once it lives, or once ctx is done:
// then the error is an [*OpenError]. Until then it is tried again and again, for a
// store that is away may come back. ctx bounds this call only. Bad options are a
// [*ParamsError]. The store stays the caller's to close, after the client.
func Open(ctx context.Context, store Store, opts ...Option) (*Client, error) {
	o, params, err := newOptions(store, opts)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, &OpenError{Cause: context.Cause(ctx)}
	}
	c := newClient(o, params)
	c.start(store, o)
	if err := c.awaitOpen(ctx); err != nil {
		c.discard()
		return nil, err
	}
	return c, nil
}

func newClient(o *options, params session.Params) *Client {
	closing, cancel := context.WithCancelCause(context.Background())
	return &Client{
		params:   params,
		log:      o.logger,
		events:   o.events,
		executor: o.executor,
		insiders: task.NewInsiders(),
		closing:  closing,
		close:    func() { cancel(ErrClosed) },
		gone:     make(chan struct{}),
		closed:   make(chan struct{}),
		members:  make(map[member]struct{}),
		locks:    make(map[string]*Locks),
	}
}

// start spawns the actors that every client has.
func (c *Client) start(store Store, o *options) {
	c.mu.Lock() // until the session is set: an actor that panics at once closes the client
	defer c.mu.Unlock()
	c.system = actor.NewSystem(actor.WithClock(o.clock), actor.WithErrors(c.engineError))
	c.backend = c.system.Spawn(backendActor, store.Backend())
	_, c.notes = store.(backend.Noter)
	c.session = c.system.Spawn(sessionActor, session.New(session.Config{
		Params: c.params, Label: o.label, Backend: c.backend, Clock: o.clock, Sink: c.sink, View: &c.view,
	}))
	c.running.Go(c.watchSleep)
}

func (c *Client) awaitOpen(ctx context.Context) error {
	_, err := c.askSession(ctx, session.AwaitOpen{})
	if err == nil {
		return nil
	}
	e := &OpenError{Cause: err}
	if view := c.view.Load(); view != nil {
		e.Last = view.LastErr
	}
	return e
}

// ask asks an actor.
func (c *Client) ask(ctx context.Context, to actor.Ref, msg actor.Message) (actor.Message, error) {
	answer, err := actor.Ask(ctx, to, msg)
	switch {
	case errors.Is(err, actor.ErrStopped):
		return nil, ErrClosed
	case err != nil:
		return nil, context.Cause(ctx)
	}
	return answer, errorOf(answer)
}

// carryOut asks for something that is to happen even if ctx is done already, which
// only ends the wait for it. What it is, is said by the error for that.
func (c *Client) carryOut(ctx context.Context, to actor.Ref, msg actor.Message, doing string) error {
	reply := make(reply, 1)
	to.Tell(actor.NewRequest(msg, reply))
	select {
	case answer := <-reply:
		return errorOf(answer)
	case <-ctx.Done():
	}
	select {
	case answer := <-reply:
		return errorOf(answer)
	default:
		return fmt.Errorf("simba: %s goes on: %w", doing, context.Cause(ctx))
	}
}

// errorOf returns the error that an answer is. That an actor has ended, or that
// its session is closed, means that the client is.
func errorOf(answer actor.Message) error {
	switch err := answer.(type) {
	case actor.Unanswered, *session.ClosedError:
		return ErrClosed
	case error:
		return err
	}
	return nil
}

// reply is where one answer goes.
type reply chan actor.Message

func (r reply) Tell(answer actor.Message) {
	select {
	case r <- answer:
	default: // the first one counts
	}
}

func (r reply) String() string { return "reply" }

// nobody takes answers for which nobody waits.
type nobody struct{}

func (nobody) Tell(actor.Message) {}
func (nobody) String() string     { return "nobody" }

// askSession asks the session for something that needs the backend. A client that
// closes does not wait for that, so neither does the caller.
func (c *Client) askSession(ctx context.Context, msg actor.Message) (actor.Message, error) {
	if c.closing.Err() != nil {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.closing, func() { cancel(ErrClosed) })()
	return c.ask(ctx, c.session, msg)
}

// claim takes names for an owner. It needs no backend, only the client's actors,
// and so there is nothing that a context would have to bound.
//
// The user may see that a lock is over before the lock's actor does, and want the
// name again. The session knows as soon as it has been asked, and has told the actor
// by then, which gives the names back before it answers anything else.
func (c *Client) claim(owner actor.Ref, names ...string) error {
	over := c.locksThatAreOver(names)
	err := c.join(owner, names)
	var inUse *InUseError
	if len(over) == 0 || !errors.As(err, &inUse) {
		return err
	}
	for _, l := range over {
		c.abandon(l)
	}
	return c.join(owner, names)
}

func (c *Client) join(owner actor.Ref, names []string) error {
	_, err := c.ask(context.Background(), c.session, session.Join{Names: names, Owner: owner})
	return err
}

// sink takes the events of all actors, on their goroutines. What the user's logger
// and function do there must not harm the engine.
func (c *Client) sink(e Event) {
	c.guard(func() { c.logEvent(e) })
	c.tell(e)
}

// lockSink is sink for locks, which come and go too often to be logged like
// leaders.
func (c *Client) lockSink(e Event) {
	c.guard(func() { c.logLock(e) })
	c.tell(e)
}

func (c *Client) tell(e Event) {
	if v := c.guard(func() { c.events(e) }); v != nil {
		c.guard(func() { c.log.Error("simba: the function for events panicked", "event", e, "panic", v) })
	}
}

// guard calls f and returns what it panicked with, if it did.
func (*Client) guard(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
}

// engineError is for bugs of the engine itself, and of a backend that speaks the
// protocol as an actor. Without its session or its backend a client is of no use;
// its terms have ended by then, or end at their deadline.
func (c *Client) engineError(err error) {
	c.guard(func() { c.logEngineError(err) })
	var p *actor.PanicError
	if errors.As(err, &p) && (p.Where == sessionActor || p.Where == backendActor) {
		c.startClosing()
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
