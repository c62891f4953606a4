package simba_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/observe"
)

// diary is a listener that keeps what it hears, and sees to it that callbacks come
// one at a time.
type diary struct {
	t    *testing.T
	busy atomic.Bool
	mu   sync.Mutex
	says []string
}

func (d *diary) write(s string) {
	if d.busy.Swap(true) {
		d.t.Error("two callbacks at once")
	}
	defer d.busy.Store(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.says = append(d.says, s)
}

func (d *diary) listener() simba.Listener {
	tokens := make(map[uint64]bool)
	return simba.Listener{
		OnElected: func(_ context.Context, term *simba.Term) {
			tokens[term.Token()] = true
			d.write("elected")
		},
		OnRevoked: func(_ context.Context, term *simba.Term, r simba.Reason) {
			if !tokens[term.Token()] || term.Valid() || term.Reason() != r {
				d.t.Errorf("revoked %d (elected %v) because of %v: valid %v, reason %v",
					term.Token(), tokens[term.Token()], r, term.Valid(), term.Reason())
			}
			d.write(r.String())
		},
	}
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.says, " ")
}

// R37, R38: every way in which a term can end is told, once, in order.
func TestCallbacksArePaired(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		d := &diary{t: t}
		e := must(p.Elect("n", d.listener()))
		synctest.Wait()
		e.StepDown(t.Context(), time.Second)
		time.Sleep(2 * time.Second)
		p.way.set(cut)
		time.Sleep(lease)
		p.way.heal()
		time.Sleep(lease)
		p.way.set(expired, opRenew)
		time.Sleep(interval)
		p.way.heal()
		time.Sleep(2 * lease)
		e.Stop(t.Context())
		const want = "elected STEPPED_DOWN elected DEADLINE_PASSED elected SESSION_EXPIRED elected STOPPED"
		if d.String() != want {
			t.Errorf("heard  %s\nwanted %s", d, want)
		}
	})
}

// R37: the term is lost while OnElected still runs, or waits to.
func TestRevokedComesAfterAnElectedThatTakesLong(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		d := &diary{t: t}
		l := d.listener()
		elected := l.OnElected
		l.OnElected = func(ctx context.Context, term *simba.Term) {
			p.way.set(cut)
			<-term.Done() // the callback outlives the term
			time.Sleep(lease)
			elected(ctx, term)
			p.way.heal()
		}
		e := must(p.Elect("n", l))
		time.Sleep(5 * lease)
		e.Stop(t.Context())
		says := strings.Fields(d.String())
		if len(says) < 4 || len(says)%2 != 0 {
			t.Fatalf("heard %s", d)
		}
		for i, s := range says {
			if (i%2 == 0) != (s == "elected") {
				t.Fatalf("heard %s", d)
			}
		}
	})
}

// R39: when Stop has returned nil, nothing more is heard.
func TestNothingIsHeardAfterStop(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		for delay := range 5 {
			p := w.start()
			var stopped atomic.Bool
			slow := func() {
				time.Sleep(time.Duration(delay) * interval / 2)
				if stopped.Load() {
					t.Error("a callback after Stop")
				}
			}
			e := must(p.Elect(fmt.Sprint("n", delay), simba.Listener{
				OnElected: func(context.Context, *simba.Term) { slow() },
				OnRevoked: func(context.Context, *simba.Term, simba.Reason) { slow() },
			}))
			synctest.Wait()
			if err := e.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			stopped.Store(true)
			time.Sleep(2 * lease)
		}
	})
}

func TestStopGoesOnWhenItsContextIsDone(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		e, term, _ := leading(t, p, "n")
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		cancel(why)
		p.way.set(late(time.Second), opRelease)
		if err := e.Stop(ctx); !errors.Is(err, why) || err.Error() != `simba: stopping "n" goes on: why` {
			t.Errorf("Stop says %v", err)
		}
		within(t, 2*time.Second, "the end", e.Done())
		if term.Reason() != simba.Stopped || w.holder("n").Held {
			t.Errorf("reason %v, %+v", term.Reason(), w.holder("n"))
		}
		// It is done now, whatever the context says.
		if err := e.Stop(ctx); err != nil {
			t.Errorf("Stop says %v", err)
		}
		var stopped *simba.StoppedError
		if err := e.StepDown(t.Context(), 0); !errors.As(err, &stopped) || stopped.Name != "n" {
			t.Errorf("StepDown says %v", err)
		}
	})
}

// R33.
func TestStepDown(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		e, first, cancelled := leading(t, a, "n")
		other := must(b.Elect("n", simba.Listener{}))
		time.Sleep(time.Second)
		begin := time.Now()
		if err := e.StepDown(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		<-cancelled
		synctest.Wait()
		if first.Reason() != simba.SteppedDown || other.Term() == nil || e.Term() != nil {
			t.Errorf("reason %v; the other leads: %v; still leads: %v", first.Reason(), other.Term() != nil, e.Term() != nil)
		}
		if s := e.Snapshot(); s.Status != simba.StatusCandidate || s.Cooldown != time.Hour-time.Since(begin) || s.Token != 0 || s.Running {
			t.Errorf("%+v", s)
		}
		// The later end counts.
		time.Sleep(30 * time.Minute)
		e.StepDown(t.Context(), time.Minute)
		if s := e.Snapshot(); s.Cooldown != 30*time.Minute {
			t.Errorf("after a shorter one: %v", s.Cooldown)
		}
		e.StepDown(t.Context(), time.Hour)
		if s := e.Snapshot(); s.Cooldown != time.Hour {
			t.Errorf("after a longer one: %v", s.Cooldown)
		}
		begin = time.Now()
		calls := a.way.count(opAcquire)
		other.Stop(t.Context())
		time.Sleep(time.Hour - time.Nanosecond - time.Since(begin))
		if n := a.way.count(opAcquire) - calls; n != 0 || e.Term() != nil {
			t.Errorf("%d attempts in the cooldown", n)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if term := e.Term(); term == nil || term.Token() <= first.Token() {
			t.Error("it does not lead after the cooldown")
		}
		var cooldown *simba.CooldownError
		if err := e.StepDown(t.Context(), -1); !errors.As(err, &cooldown) {
			t.Errorf("StepDown says %v", err)
		}
		a.way.set(late(time.Second), opRelease)
		if err := e.StepDown(canceled, 0); !errors.Is(err, context.Canceled) || err.Error() != `simba: stepping down from "n" goes on: context canceled` {
			t.Errorf("StepDown says %v", err)
		}
	})
}

// R44: the policies.
func TestPolicies(t *testing.T) {
	fails := errors.New("fails")
	tests := []struct {
		name   string
		result error
		opts   []simba.RunOption
		// within a minute
		runs  func(int) bool
		terms func(int) bool
		ends  bool
	}{
		{"hold by default", nil, nil, is(1), is(1), false},
		{"yield by default", fails, nil, moreThan(5), moreThan(5), false},
		{"restart", nil, []simba.RunOption{simba.OnReturn(simba.Restart)}, moreThan(10), is(1), false},
		{"restart after a failure", fails, []simba.RunOption{simba.OnFailure(simba.Restart)}, moreThan(10), is(1), false},
		{"yield", nil, []simba.RunOption{simba.OnReturn(simba.Yield)}, moreThan(10), moreThan(10), false},
		{"finish", nil, []simba.RunOption{simba.OnReturn(simba.Finish)}, is(1), is(1), true},
		{"finish after a failure", fails, []simba.RunOption{simba.OnFailure(simba.Finish)}, is(1), is(1), true},
		{"hold after a failure", fails, []simba.RunOption{simba.OnFailure(simba.Hold)}, is(1), is(1), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			virtual(t, func(t *testing.T, w *world) {
				p := w.start()
				var runs, failures atomic.Int32
				e := must(p.Run("n", func(context.Context, *simba.Term) error {
					runs.Add(1)
					time.Sleep(100 * time.Millisecond)
					if failures.Add(1)%2 == 0 && test.result != nil {
						panic(test.result) // which is a failure as well
					}
					return test.result
				}, test.opts...))
				time.Sleep(time.Minute)
				terms := len(of[observe.Elected](p.events))
				if !test.runs(int(runs.Load())) || !test.terms(terms) {
					t.Errorf("%d runs in %d terms", runs.Load(), terms)
				}
				s := e.Snapshot()
				if (s.Status == simba.StatusStopped) != test.ends || s.Restarts != int(runs.Load())-terms {
					t.Errorf("%+v", s)
				}
				if test.result != nil && !errors.Is(s.LastErr, fails) || test.result == nil && s.LastErr != nil {
					t.Errorf("last error %v", s.LastErr)
				}
				select {
				case <-e.Done():
					if !test.ends {
						t.Error("it is done")
					}
				default:
					if test.ends {
						t.Error("it is not done")
					}
				}
			})
		})
	}
}

func is(want int) func(int) bool        { return func(n int) bool { return n == want } }
func moreThan(least int) func(int) bool { return func(n int) bool { return n > least } }

// A task that returns at once, whatever it returns, does not spin: the pauses grow, in the
// same term or from term to term.
func TestReturningAtOnceBacksOff(t *testing.T) {
	for _, policy := range []simba.Policy{simba.Restart, simba.Yield} {
		for _, result := range []error{nil, errors.New("fails")} {
			virtual(t, func(t *testing.T, w *world) {
				p := w.start()
				var at []time.Time
				e := must(p.Run("n", func(context.Context, *simba.Term) error {
					at = append(at, time.Now())
					return result
				}, simba.OnReturn(policy), simba.OnFailure(policy)))
				time.Sleep(time.Minute)
				synctest.Wait()
				s := e.Snapshot()
				p.Close(t.Context())
				if len(at) < 8 {
					t.Fatalf("%v after %v: %d runs", policy, result, len(at))
				}
				for i := 1; i < len(at); i++ {
					if d, want := at[i].Sub(at[i-1]), min(100*time.Millisecond<<(i-1), interval); d < want {
						t.Errorf("%v after %v: pause %d is %v, want %v", policy, result, i, d, want)
					}
				}
				restarts := 0
				if policy == simba.Restart {
					restarts = len(at) - 1
				}
				if s.Restarts != restarts || s.LastErr != result || s.Running {
					t.Errorf("%v after %v, %d runs: %+v", policy, result, len(at), s)
				}
			})
		}
	}
}

// A task that holds its lease runs again in the next term, if this one is lost.
func TestHoldIsForItsTerm(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		var tokens []uint64
		e := must(p.Run("n", func(_ context.Context, term *simba.Term) error {
			tokens = append(tokens, term.Token())
			return nil
		}))
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := e.Snapshot(); len(tokens) != 1 || s.Status != simba.StatusLeader || s.Running || s.Token != tokens[0] {
			t.Errorf("tokens %v, %+v", tokens, s)
		}
		p.way.set(expired, opRenew)
		time.Sleep(interval + time.Second)
		p.way.heal()
		time.Sleep(2 * lease)
		synctest.Wait()
		if len(tokens) != 2 || tokens[1] <= tokens[0] || e.Snapshot().Token != tokens[1] {
			t.Errorf("tokens %v, %+v", tokens, e.Snapshot())
		}
	})
}

// A task that fails is the chance of another client, at once, and its own comes back.
func TestYieldLetsAnotherLead(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		begun := make(chan struct{}, 1)
		fail := make(chan struct{})
		e := must(a.Run("n", func(ctx context.Context, _ *simba.Term) error {
			begun <- struct{}{}
			select {
			case <-fail:
				panic("fails")
			case <-ctx.Done():
				return nil
			}
		}))
		<-begun
		other := must(b.Elect("n", simba.Listener{}))
		time.Sleep(lease)
		fail <- struct{}{}
		synctest.Wait()
		if s := e.Snapshot(); other.Term() == nil || s.Status != simba.StatusCandidate || s.Cooldown == 0 {
			t.Errorf("the other one leads: %v; %+v", other.Term() != nil, s)
		}
		time.Sleep(lease)
		other.Stop(t.Context())
		within(t, interval, "the task to run again", begun)
		var panicked *simba.PanicError
		if s := e.Snapshot(); !s.Running || s.Status != simba.StatusLeader || s.Restarts != 0 || !errors.As(s.LastErr, &panicked) {
			t.Errorf("%+v", s)
		}
	})
}

func TestTaskWithAListener(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		d := &diary{t: t}
		e := must(p.Run("n", func(ctx context.Context, _ *simba.Term) error {
			d.write("runs")
			<-ctx.Done()
			d.write("ends")
			return nil
		}, simba.WithListener(d.listener())))
		time.Sleep(time.Second)
		if s := e.Snapshot(); !s.Running || s.Status != simba.StatusLeader {
			t.Errorf("%+v", s)
		}
		e.Stop(t.Context())
		if d.String() != "elected runs ends STOPPED" {
			t.Errorf("heard %s", d)
		}
	})
}

func TestRunArguments(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		_, err := p.Run("n", nil, simba.OnReturn(9), nil, simba.OnFailure(8))
		if err == nil || err.Error() != `simba: option 2 of 3 for the task of "n" is nil; leave it out
simba: the task of "n" is nil; without one, use Elect
simba: the task of "n" has the unknown policy Policy(9); it must be Hold, Restart, Yield or Finish
simba: the task of "n" has the unknown policy Policy(8); it must be Hold, Restart, Yield or Finish` {
			t.Errorf("Run says %v", err)
		}
		var name *simba.NameError
		if _, err := p.Run("..", noTask); !errors.As(err, &name) {
			t.Errorf("Run says %v", err)
		}
		if _, err := p.Elect("", simba.Listener{}); !errors.As(err, &name) {
			t.Errorf("Elect says %v", err)
		}
		e := must(p.Elect("n", simba.Listener{}))
		var inUse *simba.InUseError
		if _, err := p.Elect("n", simba.Listener{}); !errors.As(err, &inUse) {
			t.Errorf("Elect says %v", err)
		}
		if e.Name() != "n" {
			t.Errorf("name %q", e.Name())
		}
		// Once it has stopped the name is free, at once.
		for range 100 {
			e.Stop(t.Context())
			e = must(p.Elect("n", simba.Listener{}))
		}
	})
}
