package simba

import (
	"context"
	"errors"
	"sync"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/task"
)

// Lead contends for name, runs fn while leading, and returns what fn returned,
// once the lease is handed over. If the term is lost while fn runs, fn's context
// is cancelled, what it returns is of no account, and it runs again in the next
// term; two runs never overlap in this process. When ctx is done, Lead hands over:
// fn's context is cancelled, and Lead returns what fn returns, or the cause of ctx
// if fn was not running. A panic of fn is returned as a [*PanicError].
//
// fn's context has the values of ctx, and ends with the term or, in a handover, a
// little earlier, with [ErrHandover] as its cause: then the term is still valid,
// for fn to finish under its token. Lead does not return before fn has.
func (c *Client) Lead(ctx context.Context, name string, fn TaskFunc) error {
	if err := c.blocking(); err != nil {
		return err
	}
	if fn == nil {
		return errors.New("simba: the function to lead " + quoted([]string{name}) + " with is nil")
	}
	run := &run{fn: fn}
	e, err := c.elect(name, electionConfig{
		work: run.do, values: ctx, afterReturn: Finish, afterFailure: Finish,
	})
	if err != nil {
		return err
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		e.ref.Tell(actor.NewRequest(election.Stop{}, nobody{}))
		<-e.done
	}
	return run.result(ctx)
}

// run remembers how the last run of a function has ended.
type run struct {
	fn   TaskFunc
	mu   sync.Mutex
	term *Term // nil until the function has returned
	err  error
}

func (r *run) do(ctx context.Context, t *Term) error {
	err := task.ErrGoexit
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.term, r.err = t, err
	}()
	err = task.Protect(t.Name(), "task", func() error { return r.fn(ctx, t) })
	return err
}

// result is what Lead returns when its election has ended.
func (r *run) result(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.term != nil && r.term.Reason().Voluntary():
		return r.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ErrClosed
}
