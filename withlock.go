package simba

import (
	"context"
	"fmt"
)

// WithLock waits for name like [Client.Lock], runs fn while it holds it, releases
// it, and returns what fn returned. fn's context ends with ctx or with the term,
// whichever comes first, and when the client is closed, with [ErrHandover] as its
// cause: then the term is still valid, for fn to finish under its token. If the term
// ended before fn returned, the error matches [*EndedError] as well as what fn
// returned. A panic of fn passes on, after the release.
//
// The release is waited for, but for one renew interval at most, and then goes on.
func (c *Client) WithLock(ctx context.Context, name string, fn TaskFunc) (err error) {
	if fn == nil {
		return fmt.Errorf("simba: the function to run under %q is nil", name)
	}
	l, err := c.Lock(ctx, name)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer l.releaseSoon(ctx)
	if err := c.occupy(l.locks, cancel); err != nil {
		return err
	}
	defer c.running.Done()
	ended := l.Context()
	defer context.AfterFunc(ended, func() { cancel(context.Cause(ended)) })()
	// Closing the client from inside of fn must not wait for fn.
	work, leave := c.insiders.Enter(work)
	defer leave()
	err = fn(work, l.Term)
	return joinErrors(err, l.EnsureValid(0))
}

// occupy makes Close wait for the function that runs under l, instead of releasing
// what it still relies on. It is running until running.Done.
func (c *Client) occupy(l *Locks, handOver context.CancelCauseFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		return ErrClosed
	}
	l.handOver = handOver
	c.running.Add(1)
	return nil
}

// releaseSoon releases also if ctx is done by now, but does not wait for ever. A
// release that takes longer is no failure of what was done under the lock.
func (l *Lock) releaseSoon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.locks.client.params.RenewInterval)
	defer cancel()
	l.Release(ctx)
}
