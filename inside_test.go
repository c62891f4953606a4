package simba_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/observe"
)

// blockingCalls are those that would wait for the very code that makes them, and
// what has to have happened once that code has returned.
var blockingCalls = []struct {
	name string
	call func(context.Context, *process, *simba.Election) error
}{
	{"Stop", func(ctx context.Context, _ *process, e *simba.Election) error { return e.Stop(ctx) }},
	{"StepDown", func(ctx context.Context, _ *process, e *simba.Election) error { return e.StepDown(ctx, time.Hour) }},
	{"Close", func(ctx context.Context, p *process, _ *simba.Election) error { return p.Close(ctx) }},
}

// happened waits for what a blocking call has started.
func happened(t *testing.T, what string, p *process, e *simba.Election, term *simba.Term) {
	t.Helper()
	switch what {
	case "Stop":
		within(t, time.Second, "the end of the election", e.Done())
	case "StepDown":
		within(t, time.Second, "the end of the term", term.Done())
		synctest.Wait()
		if s := e.Snapshot(); s.Status != simba.StatusCandidate || s.Cooldown == 0 {
			t.Errorf("%+v", s)
		}
	case "Close":
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if r := term.Reason(); !r.Voluntary() {
		t.Errorf("reason %v", r)
	}
}

// self is an election for its own callbacks, which may run before Elect returns.
type self struct {
	known chan struct{}
	e     *simba.Election
}

func newSelf() *self                  { return &self{known: make(chan struct{})} }
func (s *self) set(e *simba.Election) { s.e = e; close(s.known) }
func (s *self) get() *simba.Election  { <-s.known; return s.e }

// R40: from within a callback or a task, with its context or without.
func TestBlockingCallsFromWithin(t *testing.T) {
	places := map[string]func(p *process, call func(context.Context, *simba.Election, *simba.Term)) *simba.Election{
		"OnElected": func(p *process, call func(context.Context, *simba.Election, *simba.Term)) *simba.Election {
			self := newSelf()
			e := must(p.Elect("n", simba.Listener{OnElected: func(ctx context.Context, term *simba.Term) { call(ctx, self.get(), term) }}))
			self.set(e)
			return e
		},
		"OnRevoked": func(p *process, call func(context.Context, *simba.Election, *simba.Term)) *simba.Election {
			self := newSelf()
			e := must(p.Elect("n", simba.Listener{
				OnRevoked: func(ctx context.Context, term *simba.Term, _ simba.Reason) { call(ctx, self.get(), term) },
			}))
			synctest.Wait()
			e.StepDown(canceled, 0) // which goes on
			self.set(e)
			return e
		},
		"task": func(p *process, call func(context.Context, *simba.Election, *simba.Term)) *simba.Election {
			self := newSelf()
			e := must(p.Run("n", func(ctx context.Context, term *simba.Term) error { call(ctx, self.get(), term); return nil }))
			self.set(e)
			return e
		},
		"goroutine of a task": func(p *process, call func(context.Context, *simba.Election, *simba.Term)) *simba.Election {
			self := newSelf()
			e := must(p.Run("n", func(ctx context.Context, term *simba.Term) error {
				var other sync.WaitGroup
				other.Go(func() { call(ctx, self.get(), term) })
				other.Wait()
				return nil
			}))
			self.set(e)
			return e
		},
	}
	for place, enter := range places {
		for _, c := range blockingCalls {
			for _, given := range []bool{true, false} {
				if !given && place == "goroutine of a task" {
					continue // nothing tells that it belongs to the task
				}
				t.Run(strings.Join([]string{place, c.name, map[bool]string{true: "with its context", false: "with another"}[given]}, "/"), func(t *testing.T) {
					virtual(t, func(t *testing.T, w *world) {
						p := w.start()
						terms := make(chan *simba.Term, 1)
						begin := time.Now()
						e := enter(p, func(ctx context.Context, e *simba.Election, term *simba.Term) {
							if !given {
								ctx = context.Background()
							}
							if err := c.call(ctx, p, e); err != nil {
								t.Errorf("%s says %v", c.name, err)
							}
							if took := time.Since(begin); took != 0 {
								t.Errorf("it took %v", took)
							}
							select {
							case terms <- term:
							default: // called again, as there may be a second term
							}
						})
						happened(t, c.name, p, e, within(t, time.Second, "the call", terms))
					})
				})
			}
		}
	}
}

var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// R40 for the function of WithLock: closing the client from in there waits for
// nothing, and the function may finish under its lock.
func TestCloseFromWithinWithLock(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		begin := time.Now()
		err := p.WithLock(t.Context(), "n", func(ctx context.Context, term *simba.Term) error {
			if err := p.Close(context.Background()); err != nil || time.Since(begin) != 0 {
				t.Errorf("Close says %v after %v", err, time.Since(begin))
			}
			<-ctx.Done()
			if context.Cause(ctx) != simba.ErrHandover {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			time.Sleep(time.Second)
			return term.EnsureValid(0)
		})
		if err != nil {
			t.Errorf("WithLock says %v", err)
		}
		if err := p.Close(t.Context()); err != nil || time.Since(begin) != time.Second {
			t.Errorf("Close says %v after %v", err, time.Since(begin))
		}
	})
}

// Calls that need the engine work from within a task, where nothing waits for them.
func TestUsingTheClientFromWithinATask(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		err := p.Lead(t.Context(), "outer", func(ctx context.Context, _ *simba.Term) error {
			if err := p.Lead(ctx, "inner", noTask); err != nil {
				return err
			}
			if err := p.WithLock(ctx, "lock", noTask); err != nil {
				return err
			}
			l, err := p.TryLock(ctx, "lock")
			if err != nil {
				return err
			}
			if _, err := p.Holders(ctx, "lock"); err != nil {
				return err
			}
			e, err := p.Elect("other", simba.Listener{})
			if err != nil {
				return err
			}
			e.Stop(ctx) // which does not wait, in here
			<-e.Done()
			var stopped *simba.StoppedError
			if err := e.StepDown(ctx, 0); !errors.As(err, &stopped) {
				t.Errorf("StepDown says %v", err)
			}
			return l.Release(ctx)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// R41: on the engine's loop, what would have to wait is an error.
func TestInlineExecutor(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		for _, ending := range blockingCalls {
			p := w.start(simba.WithExecutor(simba.InlineExecutor))
			ctx := t.Context()
			var e *simba.Election
			self := newSelf()
			d := &diary{t: t}
			held := must(p.Lock(ctx, "held"))
			e = must(p.Elect("n"+ending.name, simba.Listener{
				OnElected: func(ctx context.Context, term *simba.Term) {
					d.write("elected")
					for name, call := range map[string]func() error{
						"Lock":     func() error { _, err := p.Lock(ctx, "l"); return err },
						"TryLock":  func() error { _, err := p.TryLock(ctx, "l"); return err },
						"LockAll":  func() error { _, err := p.LockAll(ctx, "l"); return err },
						"WithLock": func() error { return p.WithLock(ctx, "l", noTask) },
						"Lead":     func() error { return p.Lead(ctx, "l", noTask) },
						"Holders":  func() error { _, err := p.Holders(ctx, "l"); return err },
						"Observe": func() (last error) {
							for _, err := range p.Observe(ctx, "l") {
								last = err
							}
							return last
						},
					} {
						if err := call(); !errors.Is(err, simba.ErrInline) {
							t.Errorf("%s says %v", name, err)
						}
					}
					// What does not wait works: releasing, electing, looking, ending.
					if err := held.Release(ctx); err != nil {
						t.Error(err)
					}
					if _, err := p.Elect("m", simba.Listener{}); err != nil {
						t.Error(err)
					}
					p.Snapshot()
					if err := ending.call(ctx, p, self.get()); err != nil {
						t.Errorf("%s says %v", ending.name, err)
					}
				},
				OnRevoked: func(_ context.Context, _ *simba.Term, r simba.Reason) { d.write(fmt.Sprint(r.Voluntary())) },
			}))
			self.set(e)
			synctest.Wait()
			if w.holder("held").Held {
				t.Error("the lock is still held")
			}
			p.Close(ctx)
			if d.String() != "elected true" {
				t.Errorf("%s: heard %s", ending.name, d)
			}
		}
	})
}

// R42: an executor that refuses.
func TestExecutorThatRefuses(t *testing.T) {
	refusals := map[string]func() error{
		"error": func() error { return errors.New("busy") },
		"panic": func() error { panic("busy") },
	}
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, w *world) {
				var mu sync.Mutex
				refusing := true
				p := w.start(simba.WithExecutor(func(f func()) error {
					mu.Lock()
					defer mu.Unlock()
					if refusing {
						return refuse()
					}
					go f()
					return nil
				}))
				d := &diary{t: t}
				e := must(p.Run("n", func(ctx context.Context, _ *simba.Term) error {
					d.write("task")
					<-ctx.Done()
					return nil
				}, simba.WithListener(d.listener())))
				synctest.Wait()
				// Nobody has learnt of the term, and somebody else may lead for a lease.
				if s := e.Snapshot(); s.Status != simba.StatusCandidate || s.Cooldown != lease || s.LastErr == nil ||
					!strings.Contains(s.LastErr.Error(), "busy") || w.holder("n").Held {
					t.Errorf("%+v, %+v", s, w.holder("n"))
				}
				refused := of[observe.CallbackRefused](p.events)
				if len(refused) != 1 || refused[0].Name != "n" || d.String() != "" {
					t.Errorf("refused: %v; heard %s", refused, d)
				}
				mu.Lock()
				refusing = false
				mu.Unlock()
				time.Sleep(lease + time.Second)
				// A term that was told of must be told the end of, whatever the executor says.
				mu.Lock()
				refusing = true
				mu.Unlock()
				e.Stop(t.Context())
				if d.String() != "elected task STOPPED" {
					t.Errorf("heard %s", d)
				}
			})
		})
	}
}

// R43: panics are reported with their stacks, and the pairing goes on.
func TestCallbacksThatPanic(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		e := must(p.Run("n", func(ctx context.Context, _ *simba.Term) error {
			<-ctx.Done()
			panic("in the task")
		}, simba.WithListener(simba.Listener{
			OnElected: func(context.Context, *simba.Term) { panic("in OnElected") },
			OnRevoked: func(context.Context, *simba.Term, simba.Reason) { panic("in OnRevoked") },
		})))
		for range 3 {
			time.Sleep(time.Second)
			if err := e.StepDown(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
		e.Stop(t.Context())
		failed := of[observe.CallbackFailed](p.events)
		ended := of[observe.TaskEnded](p.events)
		if len(failed)%2 != 0 || len(failed) < 2*len(ended) || len(ended) < 3 {
			t.Fatalf("%d callbacks failed, %d tasks ended", len(failed), len(ended))
		}
		for i, f := range failed {
			checkPanic(t, f.Err, []string{"OnElected", "OnRevoked"}[i%2])
		}
		for _, e := range ended {
			checkPanic(t, e.Err, "task")
		}
	})
}

func checkPanic(t *testing.T, err error, what string) {
	t.Helper()
	var pe *simba.PanicError
	if !errors.As(err, &pe) || pe.What != what || !strings.Contains(string(pe.Stack), "inside_test.go") || !strings.Contains(err.Error(), "in ") {
		t.Errorf("%v, want a panic of %s", err, what)
	}
}
