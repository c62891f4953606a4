package simba

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/task"
)

// Election contends for one name, again and again, until it is stopped. All
// methods are safe for concurrent use.
type Election struct {
	client *Client
	name   string
	ref    actor.Ref
	view   atomic.Pointer[election.Snapshot]
	done   chan struct{}
}

// electionConfig is what tells the kinds of elections apart.
type electionConfig struct {
	listener     Listener
	listens      bool
	work         TaskFunc
	values       context.Context
	afterReturn  Policy
	afterFailure Policy
}

// ElectOption configures [Client.Elect] and [Client.Run].
type ElectOption func(*electionConfig)

// OnReturn sets the policy for a task that returned nil, by default [Hold].
func OnReturn(p Policy) ElectOption { return func(c *electionConfig) { c.afterReturn = p } }

// OnFailure sets the policy for a task that returned an error or panicked, by
// default [Yield].
func OnFailure(p Policy) ElectOption { return func(c *electionConfig) { c.afterFailure = p } }

// WithListener makes the election of a task call a listener as well. The task
// starts when OnElected has returned.
func WithListener(l Listener) ElectOption {
	return func(c *electionConfig) { c.listener, c.listens = l, true }
}

// Elect starts to contend for name and tells l about each term. The error is a
// [*NameError], an [*InUseError] or [ErrClosed].
func (c *Client) Elect(name string, l Listener) (*Election, error) {
	return c.elect(name, electionConfig{listener: l, listens: true})
}

// Run starts to contend for name and runs fn in each term, as its task: in a
// handover the lease is kept until fn has returned or the term's time is over. See
// [OnReturn] and [OnFailure] for what follows when fn returns by itself. The
// errors are those of [Client.Elect].
func (c *Client) Run(name string, fn TaskFunc, opts ...ElectOption) (*Election, error) {
	if fn == nil {
		return nil, errors.New("simba: the task of " + quoted([]string{name}) + " is nil")
	}
	cfg := electionConfig{work: fn, afterReturn: Hold, afterFailure: Yield}
	for _, o := range opts {
		o(&cfg)
	}
	return c.elect(name, cfg)
}

func (c *Client) elect(name string, cfg electionConfig) (*Election, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	e := &Election{client: c, name: name, done: make(chan struct{})}
	host := task.NewHost(task.HostConfig{
		Name: name, Listener: cfg.listener, Work: cfg.work, Values: cfg.values,
		Executor: c.executor, Insiders: c.insiders, Running: &c.running,
	})
	behavior := election.New(election.Config{
		Name: name, Session: c.session, Host: host, Listens: cfg.listens, Works: cfg.work != nil,
		AfterReturn: cfg.afterReturn, AfterFailure: cfg.afterFailure,
		Params: c.params, Sink: c.sink, View: &e.view,
	})
	e.ref = c.system.Spawn("election "+name, watched{behavior, e.ended})
	if err := c.start(e); err != nil {
		c.system.Stop(e.ref)
		return nil, err
	}
	return e, nil
}

func (c *Client) start(e *Election) error {
	if err := c.join(e.ref, e.name); err != nil {
		return err
	}
	if err := register(c, c.elections, e); err != nil {
		return err
	}
	e.ref.Tell(election.Start{})
	return nil
}

// ended runs when the election's actor has ended.
func (e *Election) ended() {
	unregister(e.client, e.client.elections, e)
	close(e.done)
}

// watched is a behaviour whose end is noticed, also if it is a panic.
type watched struct {
	actor.Behavior
	ended func()
}

// Receive passes the message on.
func (w watched) Receive(ctx actor.Context, msg actor.Message) {
	_, last := msg.(actor.Stopping)
	defer func() {
		if v := recover(); v != nil {
			w.ended()
			panic(v)
		}
		if last {
			w.ended()
		}
	}()
	w.Behavior.Receive(ctx, msg)
}

// Name returns the name for which the election contends.
func (e *Election) Name() string { return e.name }

// Term returns the term that the election holds now, or nil.
func (e *Election) Term() *Term { return e.view.Load().Term }

// Done returns a channel that is closed once the election has stopped, its last
// callback has run, and its task has returned.
func (e *Election) Done() <-chan struct{} { return e.done }

// Stop hands the term over, if there is one: it cancels the task's context and
// waits for the task, at most for as long as the term would have lasted; ends the
// term; frees the lease; and lets OnRevoked run. It returns nil when all that is
// done, or an error when ctx is done first, while the handover goes on. From
// within a callback or a task it starts the work and returns.
func (e *Election) Stop(ctx context.Context) error {
	return ignoreClosed(e.ask(ctx, election.Stop{}))
}

// StepDown hands the term over like Stop, but the election stays started and
// contends again after cooldown, counted from now. A candidate just does not
// contend for that long. A negative cooldown is a [*CooldownError]; after Stop the
// error is a [*StoppedError].
func (e *Election) StepDown(ctx context.Context, cooldown time.Duration) error {
	if cooldown < 0 {
		return &CooldownError{Cooldown: cooldown}
	}
	err := e.ask(ctx, election.StepDown{Cooldown: cooldown})
	if errors.Is(err, ErrClosed) {
		return &StoppedError{Name: e.name}
	}
	return err
}

func (e *Election) ask(ctx context.Context, msg actor.Message) error {
	if e.client.insiders.Inside(ctx) {
		e.ref.Tell(actor.NewRequest(msg, nobody{}))
		return nil
	}
	_, err := e.client.ask(ctx, e.ref, msg)
	return err
}

// ignoreClosed is for calls that want something to be over.
func ignoreClosed(err error) error {
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// nobody takes answers for which nobody waits.
type nobody struct{}

func (nobody) Tell(actor.Message) {}
func (nobody) String() string     { return "nobody" }

// ElectionSnapshot is what an operator sees of an election. It is immutable.
type ElectionSnapshot struct {
	Name      string
	Status    Status
	Token     uint64        // while it has a term
	Remaining time.Duration // of the term
	Cooldown  time.Duration // left, zero if there is none
	Running   bool          // a task runs, of this term or an earlier one
	Restarts  int           // of the task, in all
	LastErr   error         // of the last task, callback or attempt that failed
}

// Snapshot returns the election's state, without waiting for anything.
func (e *Election) Snapshot() ElectionSnapshot {
	v := e.view.Load()
	s := ElectionSnapshot{Name: v.Name, Status: v.Status, Running: v.Running, Restarts: v.Restarts, LastErr: v.LastErr}
	if v.Term != nil {
		s.Token, s.Remaining = v.Term.Token(), v.Term.Remaining()
	}
	if v.Cooldown != 0 {
		s.Cooldown = max(0, v.Cooldown.Sub(e.client.system.Clock().Now()))
	}
	return s
}
