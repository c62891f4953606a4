package simba

import (
	"context"
	"fmt"
	"time"

	"github.com/simba-go/simba/session"
)

// member is something that Close has to end: an election or a lock.
type member interface {
	// letGo starts the member's end, without waiting for it.
	letGo()
}

// register keeps track of m, until it is told that it has gone.
func (c *Client) register(m member) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		return ErrClosed
	}
	c.members[m] = struct{}{}
	if l, ok := m.(*Locks); ok {
		l.index()
	}
	return nil
}

// unregister is called once m has ended, also if it was never registered.
func (c *Client) unregister(m member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.members[m]; !ok {
		return
	}
	delete(c.members, m)
	if l, ok := m.(*Locks); ok {
		l.unindex()
	}
	c.checkGone()
}

// checkGone is called, with the lock held, after each change that may be the last.
func (c *Client) checkGone() {
	if c.closing.Err() != nil && len(c.members) == 0 {
		close(c.gone)
	}
}

// everybody returns all members at this moment.
func (c *Client) everybody() []member {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]member, 0, len(c.members))
	for m := range c.members {
		all = append(all, m)
	}
	return all
}

// Close hands everything over: it stops every election like [Election.Stop],
// cancels the context of every function that [Client.WithLock] runs and waits for
// it to return, and releases all other locks at once. Then it closes the session,
// which frees whatever is left. Calls that wait for a lock, and all later ones, fail
// with [ErrClosed].
//
// Close returns nil once all of that is done and all callbacks and tasks have
// returned. A task that does not heed its context is waited for, but its lease lasts
// for one lease duration at most. When ctx is done first, Close returns an error
// that matches its cause, and everything goes on; Close may be called again to wait
// on. From within a callback, a task or a function of WithLock it starts the work
// and returns nil.
func (c *Client) Close(ctx context.Context) error {
	c.startClosing()
	if c.insiders.Inside(ctx) {
		return nil
	}
	select {
	case <-c.closed:
		return nil
	default:
	}
	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("simba: closing the client goes on: %w", context.Cause(ctx))
	}
}

func (c *Client) startClosing() {
	c.closeOnce.Do(func() {
		c.mu.Lock()
		c.close()
		c.checkGone()
		c.mu.Unlock()
		go c.shutDown()
	})
}

// shutDown hands everything over, and then closes the session.
func (c *Client) shutDown() {
	defer close(c.closed)
	for _, m := range c.everybody() {
		m.letGo()
	}
	// After one lease no handover can still be waiting for its task. What is left
	// then are tasks that overrun and callbacks that do not return.
	timer := time.NewTimer(c.params.Lease)
	select {
	case <-c.gone:
	case <-timer.C:
	}
	timer.Stop()
	// The session gives up telling the backend when it would expire anyway.
	if _, err := c.ask(context.Background(), c.session, session.Close{}); err == nil {
		// Each OnElected is still owed its OnRevoked, so its election must live on.
		// Had the session's actor panicked, some would wait for it for ever.
		<-c.gone
	}
	c.system.Shutdown(context.Background())
	c.running.Wait() // nobody is left who could start anything
}

// discard ends a client that could not be opened. A driver that returns soon after
// its context is done has returned before discard has; another one cannot hold the
// caller up.
func (c *Client) discard() {
	const grace = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	c.Close(ctx)
}

// watchSleep makes the session look at its deadline soon after the machine has
// been asleep. Reads are right without it; it is for those who wait for a term's
// end, because timers do not count the time asleep.
func (c *Client) watchSleep() {
	const period, noise = time.Second, 10 * time.Millisecond
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	clock := c.system.Clock()
	// The clock is read first each time. Should the machine fall asleep between the
	// two, the next comparison still sees it.
	at, awake := clock.Now(), time.Now()
	for {
		select {
		case <-c.closing.Done():
			return
		case <-ticker.C:
			at2, awake2 := clock.Now(), time.Now()
			if at2.Sub(at)-awake2.Sub(awake) > noise {
				c.session.Tell(session.Check{})
			}
			at, awake = at2, awake2
		}
	}
}
