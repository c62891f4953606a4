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

// Lock is one term of a name, whose methods it has. When the term ends, for
// whatever reason, the lock is over for good. All methods are safe for concurrent
// use.
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

	// Under the client's mutex. The terms are set once, before anybody else has l.
	terms []*Term
	// handOver asks the function that runs under the lock to return; nil if there
	// is none.
	handOver context.CancelCauseFunc
}

// Terms returns a term for each name, in the order in which LockAll was given them,
// without repetitions.
func (l *Locks) Terms() []*Term { return slices.Clone(l.terms) }

// Release ends the terms at once and frees the leases. It returns nil once the
// backend has confirmed, or once the session is over and so nothing is left to
// free; or an error that matches the cause of ctx when that is done first, while
// the release goes on. It may be called again and again, and never frees what
// somebody else holds. From within a callback that runs on the engine's loop it
// starts the work and returns nil.
func (l *Locks) Release(ctx context.Context) error {
	if l.client.insiders.Inline() {
		l.release()
		return nil
	}
	err := l.client.carryOut(ctx, l.ref, lock.Release{}, "releasing "+quoted(l.names))
	if ctx.Err() != nil {
		l.client.abandon(l) // so that the names are free for another lock when this returns
	}
	return ignoreClosed(err)
}

// release starts to release.
func (l *Locks) release() { l.ref.Tell(actor.NewRequest(lock.Release{}, nobody{})) }

// letGo implements member.
func (l *Locks) letGo() {
	l.client.mu.Lock()
	handOver := l.handOver
	l.client.mu.Unlock()
	if handOver != nil {
		handOver(ErrHandover)
		return
	}
	l.release()
}

// over reports whether the lock was held, and no term of it is valid any more. It is
// called with the client's mutex held.
func (l *Locks) over() bool {
	return len(l.terms) > 0 && !slices.ContainsFunc(l.terms, (*Term).Valid)
}

// locksThatAreOver returns the latest locks of the names that are over and have not
// ended yet.
func (c *Client) locksThatAreOver(names []string) []*Locks {
	c.mu.Lock()
	defer c.mu.Unlock()
	var over []*Locks
	for _, name := range names {
		if l := c.locks[name]; l != nil && l.over() {
			over = append(over, l)
		}
	}
	return over
}

// Lock waits until it holds name or ctx is done; then the error is a
// [*NotAcquiredError]. ctx bounds this call only: cancelling it after success
// loses nothing. Other errors are a [*NameError], an [*InUseError], [ErrClosed]
// and [ErrInline].
func (c *Client) Lock(ctx context.Context, name string) (*Lock, error) {
	return one(c.acquire(ctx, lock.Acquire{}, []string{name}))
}

// errNotTried is why TryLock may fail although nobody else holds the name.
var errNotTried = errors.New("the store could not be asked within a renew interval")

// TryLock tries once. If somebody else holds name, the error is a [*HeldError]. If
// the store does not answer within a renew interval, it is a [*NotAcquiredError].
// Otherwise the errors are those of [Client.Lock].
func (c *Client) TryLock(ctx context.Context, name string) (*Lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.params.RenewInterval, errNotTried)
	defer cancel()
	return one(c.acquire(ctx, lock.Acquire{Once: true}, []string{name}))
}

func one(l *Locks, err error) (*Lock, error) {
	if err != nil {
		return nil, err
	}
	return &Lock{Term: l.terms[0], locks: l}, nil
}

// LockAll waits until it holds all the names at once: they are won in one call,
// all or none, so that two callers never wait for each other, whatever the order.
// There may be up to 1,000 names; a repeated one counts once. The errors are those
// of [Client.Lock].
func (c *Client) LockAll(ctx context.Context, names ...string) (*Locks, error) {
	var unique []string
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			unique = append(unique, name)
		}
	}
	if n := len(unique); n == 0 || n > backend.MaxBatch {
		return nil, fmt.Errorf("simba: there are %d names to lock; there must be 1 to %d", n, backend.MaxBatch)
	}
	return c.acquire(ctx, lock.Acquire{}, unique)
}

// acquire takes the names for a new lock and asks it for them.
func (c *Client) acquire(ctx context.Context, how lock.Acquire, names []string) (*Locks, error) {
	if err := checkNames(names); err != nil {
		return nil, err
	}
	if err := c.blocking(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, &NotAcquiredError{Names: names, Cause: context.Cause(ctx)}
	}
	l := &Locks{client: c, names: names}
	behavior := lock.New(lock.Config{Names: names, Session: c.session, Sink: c.lockSink})
	l.ref = c.system.Spawn("lock "+names[0], watched{behavior, func() { c.unregister(l) }})
	if err := c.claim(l.ref, names...); err != nil {
		c.system.Stop(l.ref)
		return nil, err
	}
	if err := c.register(l); err != nil {
		c.abandon(l)
		return nil, err
	}
	answer, err := c.ask(ctx, l.ref, how)
	if err != nil {
		return nil, c.notAcquired(ctx, l, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.terms = answer.(lock.Acquired).Terms
	return l, nil
}

// index makes the lock the latest one of its names. It and unindex are called with
// the client's mutex held.
func (l *Locks) index() {
	for _, name := range l.names {
		l.client.locks[name] = l
	}
}

func (l *Locks) unindex() {
	for _, name := range l.names {
		if l.client.locks[name] == l {
			delete(l.client.locks, name)
		}
	}
}

// notAcquired gives up, and explains.
func (c *Client) notAcquired(ctx context.Context, l *Locks, err error) error {
	last := c.abandon(l)
	if last == nil {
		last = c.view.Load().LastErr // there may be no session
	}
	var held *HeldError
	switch {
	case errors.Is(err, ErrClosed), errors.As(err, &held):
		return err
	case ctx.Err() == nil:
		return &NotAcquiredError{Names: l.names, Cause: err}
	}
	return &NotAcquiredError{Names: l.names, Cause: context.Cause(ctx), Last: last}
}

// abandon makes the names free for another lock of this client, and returns what
// stood in the way. The answer needs no backend.
func (c *Client) abandon(l *Locks) error {
	_, err := c.ask(context.Background(), l.ref, lock.Abandon{})
	// The lock has told the session before it answered, so the names are free for
	// whoever asks the session after this.
	return ignoreClosed(err)
}
