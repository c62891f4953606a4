package simba

import (
	"context"
	"fmt"
	"sync"

	"github.com/simba-go/simba/task"
)

// Lead contends for name, runs fn while leading, and returns what fn returned,
// once the lease is handed over. If the term ends before fn has returned, fn's
// context is cancelled, what it returns is of no account, and it runs again in the
// next term; two runs never overlap in this process. A panic of fn is returned as a
// [*PanicError].
//
// When ctx is done, or the client is closed, Lead hands over: fn's context is
// cancelled, and Lead returns what fn returns. If fn is not running, or its term
// ends before it has returned, Lead returns the cause of ctx, or [ErrClosed]. Lead
// never returns before fn has.
//
// fn's context has the values of ctx, and ends with the term or, in a handover, a
// little earlier, with [ErrHandover] as its cause: then the term is still valid,
// for fn to finish under its token.
//
// Other errors are a [*NameError], an [*InUseError] and [ErrInline].
func (c *Client) Lead(ctx context.Context, name string, fn TaskFunc) error {
	if fn == nil {
		return fmt.Errorf("simba: the function to lead %q with is nil", name)
	}
	if err := c.blocking(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &run{fn: fn}
	e, err := c.elect(name, electionConfig{
		work: r.do, values: ctx, afterReturn: Finish, afterFailure: Finish,
	})
	if err != nil {
		return err
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		e.letGo()
		<-e.done
	}
	switch returned, err := r.result(); {
	case returned:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.closing.Err() != nil:
		return ErrClosed
	}
	return &StoppedError{Name: name} // by a bug in the engine, which was logged
}

// run is one call of Lead, over as many terms as it takes.
type run struct {
	fn TaskFunc

	mu       sync.Mutex
	returned bool // under a term that was valid then
	err      error
}

// do is the task of the election.
func (r *run) do(ctx context.Context, t *Term) error {
	if returned, err := r.result(); returned {
		// It was done, and then the term was lost before the election could stop.
		return err
	}
	err := task.ErrGoexit
	defer func() { r.ended(t, err) }()
	err = task.Protect(t.Name(), "task", func() error { return r.fn(ctx, t) })
	return err
}

// ended decides whether the function's return counts. If it does not, the election
// finds the term invalid as well, and waits for the next one.
func (r *run) ended(t *Term, err error) {
	if t.Valid() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.returned, r.err = true, err
	}
}

func (r *run) result() (returned bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.returned, r.err
}
