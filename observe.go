package simba

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/session"
)

// Holders asks the store who holds the names, in order, or for no names, who holds
// which. It does not contend. The answer may be out of date when it arrives. There
// may be up to 1,000 names. Other errors than the store's are a [*NameError],
// [ErrClosed] and [ErrInline].
func (c *Client) Holders(ctx context.Context, names ...string) ([]Holder, error) {
	if err := checkNames(names); err != nil {
		return nil, err
	}
	if len(names) > backend.MaxBatch {
		return nil, fmt.Errorf("simba: there are %d names to look at; there must be at most %d", len(names), backend.MaxBatch)
	}
	if err := c.blocking(); err != nil {
		return nil, err
	}
	answer, err := c.askSession(ctx, session.Inspect{Names: names})
	switch {
	case errors.Is(err, ErrClosed):
		return nil, ErrClosed
	case err != nil:
		return nil, fmt.Errorf("simba: asking the store who holds what: %w", err)
	}
	inspected := answer.(*backend.InspectAnswer)
	if inspected.Err != nil {
		return nil, inspected.Err
	}
	return inspected.Holders, nil
}

// Observe yields who holds name, now and after each change that it notices, until
// ctx is done or the loop is left. It does not contend. It looks at once when the
// store says that the name is free, and every half renew interval; a holder who
// came and went between two looks is missed.
//
// When the store cannot be asked, it yields the error, once, and goes on; when the
// store is back, it yields the holder again. A [*NameError], [ErrClosed] and
// [ErrInline] are the last that it yields.
func (c *Client) Observe(ctx context.Context, name string) iter.Seq2[Holder, error] {
	return func(yield func(Holder, error) bool) {
		if err := CheckName(name); err != nil {
			yield(Holder{}, err)
			return
		}
		// The session is told of the watch before it is asked who holds the name,
		// so that no release goes unnoticed between the two.
		woken := make(reply, 1)
		c.session.Tell(session.Watch{Name: name, Watcher: woken})
		defer c.session.Tell(session.Unwatch{Name: name, Watcher: woken})
		o := observer{client: c, name: name}
		for o.look(ctx, yield) {
			o.wait(ctx, woken)
		}
	}
}

// observer is a running [Client.Observe].
type observer struct {
	client  *Client
	name    string
	last    *Holder // as yielded last; nil if there is none, or an error came since
	failing bool
	vacant  int // looks at a vacant name in a row
}

// look asks the store, and reports whether to go on.
func (o *observer) look(ctx context.Context, yield func(Holder, error) bool) bool {
	holders, err := o.client.Holders(ctx, o.name)
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrInline):
		yield(Holder{Name: o.name}, err)
		return false
	case ctx.Err() != nil:
		return false
	case err != nil:
		again := o.failing
		o.failing, o.last = true, nil
		return again || yield(Holder{Name: o.name}, err)
	}
	o.failing = false
	h := holders[0]
	if h.Held {
		o.vacant = 0
	} else {
		o.vacant++
	}
	if o.last != nil && h.Held == o.last.Held && h.Session == o.last.Session && h.Token == o.last.Token {
		return true
	}
	o.last = &h
	return yield(h, nil)
}

// wait ends when it is time to look again. Nobody tells when a vacant name is
// taken, which is usually soon, so the pauses begin short and grow.
func (o *observer) wait(ctx context.Context, woken reply) {
	pause := o.client.params.RenewInterval / 2
	if o.vacant > 0 {
		pause = min(pause, 20*time.Millisecond<<min(o.vacant, 20))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-o.client.closing.Done():
	case <-timer.C:
	case <-woken:
	}
}
