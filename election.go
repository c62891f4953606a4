package simba

import (
	"context"
	"errors"
	"fmt"
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

	schedule *Schedule // that stands between it and its host, if one does
}

// electionConfig is what tells the kinds of elections apart.
type electionConfig struct {
	listener     Listener
	listens      bool
	work         TaskFunc
	values       context.Context
	afterReturn  Policy
	afterFailure Policy
	// between puts something between the election and its host, and returns it; nil
	// for nothing.
	between func(e *Election, host actor.Ref) actor.Ref
}

// RunOption configures [Client.Run].
type RunOption func(*electionConfig)

// OnReturn sets the policy for a task that returned nil, by default [Hold].
func OnReturn(p Policy) RunOption { return func(c *electionConfig) { c.afterReturn = p } }

// OnFailure sets the policy for a task that returned an error or panicked, by
// default [Yield].
func OnFailure(p Policy) RunOption { return func(c *electionConfig) { c.afterFailure = p } }

// WithListener makes the election of a task call a listener as well. The task
// starts when OnElected has returned.
func WithListener(l Listener) RunOption {
	return func(c *electionConfig) { c.listener, c.listens = l, true }
}

// Elect starts to contend for name and tells l about each term. It does not wait
// for anything. The error is a [*NameError], an [*InUseError] or [ErrClosed].
func (c *Client) Elect(name string, l Listener) (*Election, error) {
	return c.elect(name, electionConfig{listener: l, listens: l.OnElected != nil || l.OnRevoked != nil})
}

// Run starts to contend for name and runs fn in each term, as its task: in a
// handover the lease is kept until fn has returned or the term's time is over. See
// [OnReturn] and [OnFailure] for what follows when fn returns by itself. Run does
// not wait for anything. The errors are those of [Client.Elect], and one for a nil
// function or an unknown policy.
func (c *Client) Run(name string, fn TaskFunc, opts ...RunOption) (*Election, error) {
	cfg := electionConfig{work: fn, afterReturn: Hold, afterFailure: Yield}
	if err := cfg.apply(name, opts); err != nil {
		return nil, err
	}
	return c.elect(name, cfg)
}

// apply applies the options, and returns an error that names everything wrong.
func (cfg *electionConfig) apply(name string, opts []RunOption) error {
	var broken []error
	for i, opt := range opts {
		if opt == nil {
			broken = append(broken, fmt.Errorf("simba: option %d of %d for the task of %q is nil; leave it out", i+1, len(opts), name))
			continue
		}
		opt(cfg)
	}
	if cfg.work == nil {
		broken = append(broken, fmt.Errorf("simba: the task of %q is nil; without one, use Elect", name))
	}
	for _, p := range []Policy{cfg.afterReturn, cfg.afterFailure} {
		if p > Finish {
			broken = append(broken, fmt.Errorf("simba: the task of %q has the unknown policy %v; it must be Hold, Restart, Yield or Finish", name, p))
		}
	}
	return joinErrors(broken...)
}

func (c *Client) elect(name string, cfg electionConfig) (*Election, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	e := &Election{client: c, name: name, done: make(chan struct{})}
	var host actor.Ref = task.NewHost(task.HostConfig{
		Name: name, Listener: cfg.listener, Work: cfg.work, Values: cfg.values,
		Executor: c.executor, Insiders: c.insiders, Running: &c.running,
	})
	if cfg.between != nil {
		host = cfg.between(e, host)
	}
	behavior := election.New(election.Config{
		Name: name, Session: c.session, Host: host, Listens: cfg.listens, Works: cfg.work != nil,
		AfterReturn: cfg.afterReturn, AfterFailure: cfg.afterFailure,
		Params: c.params, Sink: c.sink, View: &e.view,
	})
	e.ref = c.system.Spawn("election "+name, watched{behavior, e.ended})
	if err := c.enter(e); err != nil {
		c.system.Stop(e.ref)
		return nil, err
	}
	return e, nil
}

// enter makes an election contend.
func (c *Client) enter(e *Election) error {
	if err := c.claim(e.ref, e.name); err != nil {
		return err
	}
	if err := c.register(e); err != nil {
		return err
	}
	e.ref.Tell(election.Start{})
	return nil
}

// ended runs when the election's actor has ended.
func (e *Election) ended() {
	if e.schedule != nil {
		e.client.system.Stop(e.schedule.ref)
	}
	e.client.unregister(e)
	close(e.done)
}

// letGo implements member.
func (e *Election) letGo() { e.ref.Tell(actor.NewRequest(election.Stop{}, nobody{})) }

// watched is a behaviour whose end is noticed, whichever way it comes.
type watched struct {
	actor.Behavior
	ended func()
}

// Receive passes the message on.
func (w watched) Receive(ctx actor.Context, msg actor.Message) {
	_, last := msg.(actor.Stopping)
	returned := false
	defer func() {
		if last || !returned {
			w.ended()
		}
	}()
	w.Behavior.Receive(ctx, msg)
	returned = true
}

// Name returns the name for which the election contends.
func (e *Election) Name() string { return e.name }

// Term returns the term that the election holds now, or nil. The term may end at
// any moment: ask it, and hold on to it rather than ask the election again.
func (e *Election) Term() *Term { return e.view.Load().Term }

// Done returns a channel that is closed once the election has stopped, its last
// callback has run, its task has returned and its lease is free.
func (e *Election) Done() <-chan struct{} { return e.done }

// Stop hands the term over, if there is one: it cancels the task's context and
// waits for the task, at most for as long as the term would have lasted; ends the
// term; frees the lease; and lets OnRevoked run. It returns nil when all that is
// done, also if it was done before, or an error that matches the cause of ctx when
// that is done first, while the handover goes on. From within a callback or a task
// it starts the work and returns nil.
func (e *Election) Stop(ctx context.Context) error {
	return ignoreClosed(e.ask(ctx, election.Stop{}, "stopping"))
}

// StepDown hands the term over like Stop, but the election stays started and
// contends again after cooldown, counted from now. A candidate just does not
// contend for that long. A second one joins the first, and the later end counts. A
// negative cooldown is a [*CooldownError]; after Stop the error is a
// [*StoppedError]. For ctx and callers within a callback or a task, see Stop.
func (e *Election) StepDown(ctx context.Context, cooldown time.Duration) error {
	if cooldown < 0 {
		return &CooldownError{Cooldown: cooldown}
	}
	if e.view.Load().Status == StatusStopped {
		return &StoppedError{Name: e.name}
	}
	err := e.ask(ctx, election.StepDown{Cooldown: cooldown}, "stepping down from")
	if errors.Is(err, ErrClosed) {
		return &StoppedError{Name: e.name}
	}
	return err
}

// ask asks the election's actor, and only tells it from within a callback or task,
// which must not wait for itself.
func (e *Election) ask(ctx context.Context, msg actor.Message, doing string) error {
	if e.client.insiders.Inside(ctx) {
		e.ref.Tell(actor.NewRequest(msg, nobody{}))
		return nil
	}
	return e.client.carryOut(ctx, e.ref, msg, fmt.Sprintf("%s %q", doing, e.name))
}

// ignoreClosed is for calls that want something to be over.
func ignoreClosed(err error) error {
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}
