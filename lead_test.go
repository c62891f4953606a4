package simba_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/observe"
)

func TestLeadReturnsWhatItsFunctionReturned(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		why := errors.New("why")
		for _, want := range []error{nil, why} {
			var runs int
			err := p.Lead(t.Context(), "n", func(ctx context.Context, term *simba.Term) error {
				runs++
				if err := term.EnsureValid(lease / 2); err != nil || ctx.Err() != nil || term.Token() == 0 {
					t.Errorf("in the function: %v, %v, token %d", err, ctx.Err(), term.Token())
				}
				return want
			})
			if err != want || runs != 1 {
				t.Errorf("Lead says %v after %d runs, want %v", err, runs, want)
			}
			if h := w.holder("n"); h.Held {
				t.Errorf("after Lead: %+v", h)
			}
		}
	})
}

func TestLeadReturnsAPanicAsAnError(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		var pe *simba.PanicError
		err := p.Lead(t.Context(), "n", func(context.Context, *simba.Term) error { panic("oh") })
		if !errors.As(err, &pe) || pe.Value != "oh" || !strings.Contains(string(pe.Stack), "lead_test.go") || pe.Name != "n" {
			t.Errorf("Lead says %v", err)
		}
		if err == nil || err.Error() != `simba: task of "n" panicked: oh` {
			t.Errorf("Lead says %v", err)
		}
		err = p.Lead(t.Context(), "n", func(context.Context, *simba.Term) error { runtime.Goexit(); return nil })
		if err == nil || !strings.Contains(err.Error(), "ended its goroutine") {
			t.Errorf("Lead says %v", err)
		}
		if h := w.holder("n"); h.Held {
			t.Errorf("after Lead: %+v", h)
		}
	})
}

// R44: what the function returned in a term that was lost is of no account.
func TestLeadRunsAgainAfterALoss(t *testing.T) {
	losses := map[string]func(*world, *process){
		"deadline": func(_ *world, p *process) { p.way.set(cut) },
		"expired":  func(_ *world, p *process) { p.way.set(expired, opRenew) },
	}
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, w *world) {
				p := w.start()
				var running atomic.Int32
				var tokens []uint64
				err := p.Lead(t.Context(), "n", func(ctx context.Context, term *simba.Term) error {
					if running.Add(1) > 1 {
						t.Error("two run at once")
					}
					defer running.Add(-1)
					tokens = append(tokens, term.Token())
					if len(tokens) == 3 {
						return nil
					}
					lose(w, p)
					<-ctx.Done()
					var ended *simba.EndedError
					if !errors.As(context.Cause(ctx), &ended) || ended.Reason.Voluntary() || term.Valid() {
						t.Errorf("cause %v, valid %v", context.Cause(ctx), term.Valid())
					}
					p.way.heal()
					time.Sleep(lease) // to clean up; no second run begins meanwhile
					return errors.New("of no account")
				})
				if err != nil || len(tokens) != 3 || tokens[0] >= tokens[1] || tokens[1] >= tokens[2] {
					t.Errorf("Lead says %v after terms %v", err, tokens)
				}
			})
		})
	}
}

// The term is lost in the very moment in which the function returns.
func TestLeadWhoseFunctionReturnsAsTheTermIsLost(t *testing.T) {
	for offset := -3; offset <= 3; offset++ {
		virtual(t, func(t *testing.T, w *world) {
			p := w.start()
			var runs int
			var counts bool
			err := p.Lead(t.Context(), "n", func(_ context.Context, term *simba.Term) error {
				runs++
				if runs > 1 {
					return nil
				}
				p.way.set(cut)
				time.AfterFunc(2*lease, p.way.heal)
				time.Sleep(term.Remaining() + time.Duration(offset))
				counts = term.Valid()
				return errors.New("first")
			})
			switch {
			case counts != (offset < 0):
				t.Errorf("%d ns after the deadline, valid is %v", offset, counts)
			case counts && (runs != 1 || err == nil):
				t.Errorf("returned %d ns before the deadline: %d runs, %v", -offset, runs, err)
			case !counts && (runs != 2 || err != nil):
				t.Errorf("returned %d ns after the deadline: %d runs, %v", offset, runs, err)
			}
		})
	}
}

// The function has returned in time, and the term is lost before anybody could act on
// that. The function must not run again.
func TestLeadWhoseTermIsLostAfterItsFunctionReturned(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		clock := &suspended{awake: w.clock}
		w.store, w.clock = memory.New(memory.WithClock(clock)), clock
		var slept atomic.Bool
		c := must(simba.Open(t.Context(), w.store, simba.WithClock(clock), simba.WithLogger(discard), simba.WithEvents(func(e simba.Event) {
			if _, ok := e.(observe.TaskEnded); ok && !slept.Swap(true) {
				clock.sleep(time.Hour)
			}
		})))
		defer c.Close(context.Background())
		var tokens []uint64
		result := errors.New("result")
		err := c.Lead(t.Context(), "n", func(_ context.Context, term *simba.Term) error {
			tokens = append(tokens, term.Token())
			return result
		})
		if err != result || len(tokens) != 1 || !slept.Load() {
			t.Errorf("Lead says %v after %d runs", err, len(tokens))
		}
	})
}

func TestLeadEndsWithItsContext(t *testing.T) {
	why := errors.New("why")
	result := errors.New("result")
	t.Run("before", func(t *testing.T) {
		virtual(t, func(t *testing.T, w *world) {
			p := w.start()
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(why)
			if err := p.Lead(ctx, "n", noTask); err != why || p.way.count(opAcquire) != 0 {
				t.Errorf("Lead says %v after %d attempts", err, p.way.count(opAcquire))
			}
		})
	})
	t.Run("as a candidate", func(t *testing.T) {
		virtual(t, func(t *testing.T, w *world) {
			a, b := w.start(), w.start()
			must(a.Lock(t.Context(), "n"))
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Hour, func() { cancel(why) })
			begin := time.Now()
			err := b.Lead(ctx, "n", func(context.Context, *simba.Term) error { t.Error("it ran"); return nil })
			if err != why || time.Since(begin) != time.Hour {
				t.Errorf("Lead says %v after %v", err, time.Since(begin))
			}
			// Nothing of it stays behind.
			if s := b.Snapshot(); len(s.Elections) != 0 {
				t.Errorf("%+v", s)
			}
			must(b.Elect("n", simba.Listener{}))
		})
	})
	t.Run("as a leader", func(t *testing.T) {
		virtual(t, func(t *testing.T, w *world) {
			p := w.start()
			ctx, cancel := context.WithCancelCause(t.Context())
			err := p.Lead(ctx, "n", func(ctx context.Context, term *simba.Term) error {
				cancel(why)
				<-ctx.Done()
				if context.Cause(ctx) != simba.ErrHandover || !term.Valid() {
					t.Errorf("cause %v, valid %v", context.Cause(ctx), term.Valid())
				}
				return result
			})
			if err != result {
				t.Errorf("Lead says %v", err)
			}
		})
	})
	t.Run("and an overrunning function", func(t *testing.T) {
		virtual(t, func(t *testing.T, w *world) {
			p := w.start()
			ctx, cancel := context.WithCancelCause(t.Context())
			begin := time.Now()
			err := p.Lead(ctx, "n", func(context.Context, *simba.Term) error {
				cancel(why)
				time.Sleep(time.Hour)
				return nil // which is not true: it was not the leader any more
			})
			if err != why || time.Since(begin) != time.Hour {
				t.Errorf("Lead says %v after %v", err, time.Since(begin))
			}
		})
	})
	t.Run("of the client", func(t *testing.T) {
		virtual(t, func(t *testing.T, w *world) {
			p := w.start()
			err := p.Lead(t.Context(), "n", func(ctx context.Context, term *simba.Term) error {
				go p.Close(context.Background())
				<-ctx.Done()
				if context.Cause(ctx) != simba.ErrHandover || !term.Valid() {
					t.Errorf("cause %v, valid %v", context.Cause(ctx), term.Valid())
				}
				return result
			})
			if err != result {
				t.Errorf("Lead says %v", err)
			}
		})
	})
}

type key struct{}

func TestLeadPassesTheValuesOfItsContext(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		ctx := context.WithValue(t.Context(), key{}, "value")
		p.Lead(ctx, "n", func(ctx context.Context, _ *simba.Term) error {
			if v := ctx.Value(key{}); v != "value" {
				t.Errorf("value %v", v)
			}
			return nil
		})
	})
}

func TestLeadArguments(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		if err := p.Lead(t.Context(), "n", nil); err == nil || err.Error() != `simba: the function to lead "n" with is nil` {
			t.Errorf("Lead says %v", err)
		}
		var name *simba.NameError
		if err := p.Lead(t.Context(), "no/slash", noTask); !errors.As(err, &name) {
			t.Errorf("Lead says %v", err)
		}
		must(p.Lock(t.Context(), "n"))
		var inUse *simba.InUseError
		if err := p.Lead(t.Context(), "n", noTask); !errors.As(err, &inUse) || inUse.Name != "n" {
			t.Errorf("Lead says %v", err)
		}
	})
}

// Several processes lead by turns, one at a time, until all have.
func TestLeadByTurns(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var leading atomic.Int32
		var results []<-chan error
		begin := time.Now()
		for i := range 10 {
			p := w.start()
			results = append(results, async(func() error {
				return p.Lead(t.Context(), "n", func(context.Context, *simba.Term) error {
					if leading.Add(1) > 1 {
						t.Error("two lead at once")
					}
					time.Sleep(time.Second)
					leading.Add(-1)
					return fmt.Errorf("%d", i)
				})
			}))
		}
		for i, r := range results {
			if err := <-r; err.Error() != fmt.Sprint(i) {
				t.Errorf("%d got %v", i, err)
			}
		}
		// The store tells of each release, so nobody waits for a poll.
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("ten turns of a second took %v", took)
		}
	})
}
