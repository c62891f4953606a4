package simba

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/session"
)

// Holders asks the store who holds the names, in order, or for no names, who holds
// which. It does not contend. The answer may be out of date when it arrives.
func (c *Client) Holders(ctx context.Context, names ...string) ([]Holder, error) {
	if err := c.blocking(); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return nil, err
		}
	}
	if len(names) > backend.MaxBatch {
		return nil, fmt.Errorf("simba: there are %d names to look at; there must be at most %d", len(names), backend.MaxBatch)
	}
	answer, err := c.ask(ctx, c.session, session.Inspect{Names: names})
	if err != nil {
		return nil, err
	}
	inspected := answer.(*backend.InspectAnswer)
	return inspected.Holders, inspected.Err
}

// Observe yields who holds name, now and after each change that it notices, until
// ctx is done or the loop is left. It does not contend, and may miss a holder who
// came and went between two looks. When the store cannot be asked, it yields the
// error, once, and goes on; [ErrClosed] and a [*NameError] are its last.
func (c *Client) Observe(ctx context.Context, name string) iter.Seq2[Holder, error] {
	return func(yield func(Holder, error) bool) {
		if err := CheckName(name); err != nil {
			yield(Holder{}, err)
			return
		}
		woken := make(notices, 1)
		c.session.Tell(session.Watch{Name: name, Watcher: woken})
		defer c.session.Tell(session.Unwatch{Name: name, Watcher: woken})
		o := observer{client: c, name: name, pause: c.params.RenewInterval / 2}
		for o.look(ctx, yield) {
			o.wait(ctx, woken)
		}
	}
}

// notices is where the session sends that a name may have become vacant.
type notices chan struct{}

func (n notices) Tell(actor.Message) {
	select {
	case n <- struct{}{}:
	default: // one is enough
	}
}

func (n notices) String() string { return "observer" }

// observer is a running [Client.Observe].
type observer struct {
	client  *Client
	name    string
	pause   time.Duration // the longest between two looks
	seen    bool
	last    Holder
	failing bool
	vacant  int // looks at a vacant name in a row
}

// look asks the store, and reports whether to go on.
func (o *observer) look(ctx context.Context, yield func(Holder, error) bool) bool {
	holders, err := o.client.Holders(ctx, o.name)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		again := o.failing
		o.failing = true
		return (again || yield(Holder{Name: o.name}, err)) && err != ErrClosed
	}
	o.failing = false
	h := holders[0]
	if h.Held {
		o.vacant = 0
	} else {
		o.vacant++
	}
	if o.seen && h.Held == o.last.Held && h.Session == o.last.Session && h.Token == o.last.Token {
		return true
	}
	o.seen, o.last = true, h
	return yield(h, nil)
}

// wait ends when it is time to look again. Nobody tells when a vacant name is
// taken, which is usually soon, so the pauses begin short and grow.
func (o *observer) wait(ctx context.Context, woken notices) {
	pause := o.pause
	if o.vacant > 0 {
		pause = min(pause, 20*time.Millisecond<<min(o.vacant, 20))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-woken:
	}
}
