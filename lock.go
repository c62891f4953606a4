package simba

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/lock"
)

// Lock is one term of a name. When the term ends, for whatever reason, the lock is
// over for good. All methods are safe for concurrent use.
type Lock struct {
	*Term
	locks *Locks
}

// Release ends the term and frees the lease; see [Locks.Release].
func (l *Lock) Release(ctx context.Context) error { return l.locks.Release(ctx) }

// Locks are terms of several names that were won together. Each may end by itself.
type Locks struct {
	client *Client
	ref    actor.Ref
	names  []string
	terms  []*Term
}

// Terms returns a term for each name, in order.
func (l *Locks) Terms() []*Term { return slices.Clone(l.terms) }

// Release ends the terms and frees the leases. It returns nil once the backend has
// confirmed, or once the session is over and so nothing is left to free; or an
// error when ctx is done first, while the release goes on. It may be called again
// and again, and never frees what somebody else holds.
func (l *Locks) Release(ctx context.Context) error {
	if l.client.insiders.Inline() {
		l.ref.Tell(actor.NewRequest(lock.Release{}, nobody{}))
		return nil
	}
	if err := l.release(ctx); err != nil {
		return fmt.Errorf("simba: releasing %s goes on: %w", quoted(l.names), err)
	}
	return nil
}

func (l *Locks) release(ctx context.Context) error {
	_, err := l.client.ask(ctx, l.ref, lock.Release{})
	return ignoreClosed(err)
}

// Lock waits until it holds name or ctx is done; then the error is a
// [*NotAcquiredError]. ctx bounds this call only: cancelling it after success
// loses nothing. Other errors are a [*NameError], an [*InUseError], [ErrClosed]
// and [ErrInline].
func (c *Client) Lock(ctx context.Context, name string) (*Lock, error) {
	return one(c.acquire(ctx, lock.Acquire{}, []string{name}))
}

// TryLock tries once. If somebody else holds name, the error is a [*HeldError].
// Otherwise the errors are those of [Client.Lock].
func (c *Client) TryLock(ctx context.Context, name string) (*Lock, error) {
	return one(c.acquire(ctx, lock.Acquire{Once: true}, []string{name}))
}

func one(l *Locks, err error) (*Lock, error) {
	if err != nil {
		return nil, err
	}
	return &Lock{Term: l.terms[0], locks: l}, nil
}

// LockAll waits until it holds all the names at once: they are won in one call,
// all or none, so that two callers never wait for each other. There may be up to
// 1,000 names; a repeated one counts once. The errors are those of [Client.Lock].
func (c *Client) LockAll(ctx context.Context, names ...string) (*Locks, error) {
	unique := slices.Clone(names)
	slices.Sort(unique)
	unique = slices.Compact(unique)
	if n := len(unique); n == 0 || n > backend.MaxBatch {
		return nil, fmt.Errorf("simba: there are %d names to lock; there must be 1 to %d", n, backend.MaxBatch)
	}
	return c.acquire(ctx, lock.Acquire{}, unique)
}

// WithLock runs fn while it holds name, and returns what fn returned, once the
// lease is released. fn's context is cancelled when the term ends, and if that
// happens against our will, the error matches [*EndedError] as well. A panic of fn
// passes on, after the release.
func (c *Client) WithLock(ctx context.Context, name string, fn func(ctx context.Context, t *Term) error) (err error) {
	l, err := c.Lock(ctx, name)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.Context(), func() { cancel(context.Cause(l.Context())) })
	defer func() {
		stop()
		cancel(nil)
		lost := l.EnsureValid(0)
		err = errors.Join(err, lost, l.releaseSoon(ctx))
	}()
	return fn(work, l.Term)
}

// releaseSoon releases also if ctx is done by now, but does not wait for ever.
func (l *Lock) releaseSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.locks.client.params.Lease)
	defer cancel()
	return l.Release(ctx)
}

// acquire takes the names for a new lock and asks it for them.
func (c *Client) acquire(ctx context.Context, how lock.Acquire, names []string) (*Locks, error) {
	if err := c.blocking(); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return nil, err
		}
	}
	l := &Locks{client: c, names: names}
	behavior := lock.New(lock.Config{Names: names, Session: c.session, Sink: c.sink})
	l.ref = c.system.Spawn("lock "+names[0], watched{behavior, func() { unregister(c, c.locks, l) }})
	if err := c.join(l.ref, names...); err != nil {
		c.system.Stop(l.ref)
		return nil, err
	}
	if err := register(c, c.locks, l); err != nil {
		c.abandon(l)
		return nil, err
	}
	answer, err := c.ask(ctx, l.ref, how)
	if err != nil {
		return nil, c.notAcquired(ctx, l, err)
	}
	l.terms = answer.(lock.Acquired).Terms
	return l, nil
}

// notAcquired gives up, and explains.
func (c *Client) notAcquired(ctx context.Context, l *Locks, err error) error {
	last := c.abandon(l)
	var held *HeldError
	switch {
	case errors.Is(err, ErrClosed):
		return err
	case errors.As(err, &held):
		return err
	case ctx.Err() == nil:
		return &NotAcquiredError{Names: l.names, Cause: err}
	}
	return &NotAcquiredError{Names: l.names, Cause: err, Last: last}
}

// abandon makes the names free for another lock of this client, and returns what
// stood in the way. The answer needs no backend.
func (c *Client) abandon(l *Locks) error {
	_, err := c.ask(context.Background(), l.ref, lock.Abandon{})
	// The lock has told the session before it answered, so the names are free for
	// whoever asks the session after this.
	return ignoreClosed(err)
}
