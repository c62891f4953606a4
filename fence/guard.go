package fence

import (
	"context"
	"fmt"
	"math"
	"sync"
)

// Guard guards resources within one process, each by its name. The zero value has seen
// no token. All methods are safe for concurrent use.
//
// A Guard forgets with its process: a resource that outlives the process needs a guard
// that is stored with it. It keeps each name that it was given for good, so names must
// not come from strangers.
type Guard struct {
	mu    sync.Mutex
	names map[string]*gate
}

// gate is one name. At most one token's functions run at a time.
type gate struct {
	highest uint64
	token   uint64        // of the functions that run
	running int           // how many
	drained chan struct{} // closed when none runs any more; nil while nobody waits for it
}

// Check returns nil and keeps the token in mind unless a higher one was seen before: then it
// returns a [*StaleError].
//
// Time may pass between a check and what it was for. Where that matters, use [Guard.Do].
// Check itself does not wait: after it has accepted a token, no function under a lower one
// starts, but one that Do has started may still run.
func (g *Guard) Check(name string, token uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.check(name, token)
	return err
}

// Highest returns the highest token that was accepted for the name, 0 if none was.
func (g *Guard) Highest(name string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.names[name]; r != nil {
		return r.highest
	}
	return 0
}

// Do checks like [Guard.Check], runs fn if the token is accepted, and returns what fn
// returned. The check and fn are one step towards other tokens: fn runs once all functions
// under lower tokens have returned, and while it runs no other token's function does. Those
// of the same token may run at the same time, as the writes of one owner may; where they
// must not, use a mutex in fn.
//
// ctx bounds the wait and is handed to fn. When it is done before fn could start, fn does
// not run, and the error matches the cause of ctx. What fn leaves behind on other
// goroutines is not guarded.
//
// fn must not call Do for the same name with a higher token: it would wait for itself.
func (g *Guard) Do(ctx context.Context, name string, token uint64, fn func(ctx context.Context) error) error {
	if err := g.enter(ctx, name, token); err != nil {
		return err
	}
	defer g.leave(name)
	return fn(ctx)
}

func (g *Guard) enter(ctx context.Context, name string, token uint64) error {
	for {
		before, err := g.tryEnter(name, token)
		if before == nil {
			return err
		}
		select {
		case <-before:
		case <-ctx.Done():
			return fmt.Errorf("fence: %q: functions under lower tokens still run, so nothing was done under the token %d: %w",
				name, token, context.Cause(ctx))
		}
	}
}

// tryEnter enters, or refuses the token, or returns what to wait for before the next try.
func (g *Guard) tryEnter(name string, token uint64) (<-chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.check(name, token)
	if err != nil {
		return nil, err
	}
	if r.running > 0 && r.token != token {
		if r.drained == nil {
			r.drained = make(chan struct{})
		}
		return r.drained, nil
	}
	r.token = token
	r.running++
	return nil, nil
}

func (g *Guard) leave(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.names[name]
	r.running--
	if r.running == 0 && r.drained != nil {
		close(r.drained)
		r.drained = nil
	}
}

// check is for callers that hold the mutex.
func (g *Guard) check(name string, token uint64) (*gate, error) {
	r := g.names[name]
	if r == nil {
		r = &gate{}
	}
	if err := Compare(name, token, r.highest, math.MaxUint64); err != nil {
		return nil, err
	}
	r.highest = token
	if g.names == nil {
		g.names = map[string]*gate{}
	}
	g.names[name] = r
	return r, nil
}
