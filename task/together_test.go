package task_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/task"
	"github.com/simba-go/simba/term"
)

// pair is two clients that contend for one name on one store.
func pair(t *testing.T) (first, second *client, cut *flaky) {
	clock := actor.NewGoClock()
	store := memory.New(memory.WithClock(clock))
	cut = &flaky{Store: store}
	return open(t, clock, cut), open(t, clock, store), cut
}

// TestNextTaskStartsAfterTheOld (R32, invariant 14), and at once then.
func TestNextTaskStartsAfterTheOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := pair(t)
		const flush = 3 * time.Second
		old := a.elect("billing", nil, func(ctx context.Context, tm *term.Term) error {
			<-ctx.Done()
			if context.Cause(ctx) != task.ErrHandover {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			time.Sleep(flush)
			if !tm.Valid() {
				t.Error("the task could not flush under its token")
			}
			return nil
		})
		time.Sleep(time.Second)
		started := make(chan *term.Term, 1)
		b.elect("billing", nil, func(ctx context.Context, tm *term.Term) error {
			started <- tm
			<-ctx.Done()
			return nil
		})
		time.Sleep(time.Second)
		began := time.Now()
		if err := old.stop(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != flush {
			t.Errorf("Stop took %v, and the task %v", took, flush)
		}
		<-started
		if took := time.Since(began); took != flush {
			t.Errorf("the next task started after %v", took)
		}
		a.close(context.Background())
		b.close(context.Background())
	})
}

// TestDeafTaskInAHandover: the next task starts at D0, the deadline as it stood when
// the handover began, however often the session is renewed meanwhile; and the deaf
// one's process does not contend until it has exited.
func TestDeafTaskInAHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := pair(t)
		goOn := make(chan struct{})
		var runs atomic.Int32
		deaf := a.elect("billing", nil, func(_ context.Context, tm *term.Term) error {
			if runs.Add(1) > 1 {
				return nil
			}
			<-goOn
			if tm.Valid() {
				t.Error("the deaf task outlives its term, but that is valid")
			}
			return nil
		})
		time.Sleep(time.Second)
		started := make(chan *term.Term, 1)
		b.elect("billing", nil, func(ctx context.Context, tm *term.Term) error {
			started <- tm
			<-ctx.Done()
			return nil
		})
		time.Sleep(time.Second)
		began, left := time.Now(), deaf.view.Load().Term.Remaining()
		if err := deaf.stepDown(context.Background(), 0); err != nil {
			t.Error(err)
		}
		<-started
		if took := time.Since(began); took != left {
			t.Errorf("the next task started after %v, and D0 was %v away", took, left)
		}
		b.close(context.Background()) // the name is free
		time.Sleep(10 * lease)
		if s := deaf.view.Load(); s.Status != election.Candidate || !s.Running || runs.Load() != 1 {
			t.Errorf("%v, running: %v, after %d runs", s.Status, s.Running, runs.Load())
		}
		close(goOn)
		time.Sleep(lease)
		if s := deaf.view.Load(); s.Status != election.Leader || runs.Load() != 2 {
			t.Errorf("%v after %d runs; it should lead again", s.Status, runs.Load())
		}
		a.close(context.Background())
	})
}

// TestDeafTaskAfterALoss (R31): the other process leads once the lease is over; this
// one makes no attempt until its task has exited, and Stop does not wait for it, but
// Close does.
func TestDeafTaskAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, cut := pair(t)
		goOn := make(chan struct{})
		revoked := make(chan term.Reason, 1)
		lost := a.elect("billing",
			&task.Listener{OnRevoked: func(_ context.Context, _ *term.Term, r term.Reason) { revoked <- r }},
			func(context.Context, *term.Term) error { <-goOn; return nil })
		time.Sleep(time.Second)
		started := make(chan *term.Term, 1)
		b.elect("billing", nil, func(ctx context.Context, tm *term.Term) error {
			started <- tm
			<-ctx.Done()
			return nil
		})
		time.Sleep(time.Second)
		old := lost.view.Load().Term
		cut.cut.Store(true)
		<-old.Done()
		if r := <-revoked; r != term.DeadlinePassed || old.Reason() != r {
			t.Errorf("OnRevoked was told %v, and the term ended for %v", r, old.Reason())
		}
		if tm := <-started; tm.Token() <= old.Token() {
			t.Errorf("the tokens are %d and then %d", old.Token(), tm.Token())
		}
		cut.cut.Store(false)
		time.Sleep(2 * lease)
		if s := lost.view.Load(); s.Status != election.Candidate || !s.Running {
			t.Errorf("%v, running: %v", s.Status, s.Running)
		}
		began := time.Now()
		if err := lost.stop(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("Stop waited for %v", took)
		}
		time.AfterFunc(time.Minute, func() { close(goOn) })
		a.close(context.Background())
		if took := time.Since(began); took < time.Minute {
			t.Errorf("Close returned after %v, before the task had", took)
		}
		b.close(context.Background())
	})
}

// TestManyTogether lets clients lead, step down, stop, be cut off and lead again for
// a while, with tasks that take their time or are deaf, on real goroutines. Whenever
// a task starts, every other one's term is over.
func TestManyTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := actor.NewGoClock()
		store := memory.New(memory.WithClock(clock))
		seed := rand.Uint64()
		w := &watcher{t: t, random: rand.New(rand.NewPCG(seed, 0)), listeners: make(map[string]*term.Term)}
		var clients sync.WaitGroup
		for i := range 3 {
			clients.Go(func() { w.live(fmt.Sprintf("client %d", i), clock, &flaky{Store: store}) })
		}
		clients.Wait()
		if w.starts < 30 || w.overruns == 0 || w.lost == 0 {
			t.Errorf("only %d tasks have started, %d were deaf, and %d terms were lost", w.starts, w.overruns, w.lost)
		}
		t.Logf("seed %d: %d tasks have started, %d were deaf, and %d terms were lost", seed, w.starts, w.overruns, w.lost)
	})
}

// watcher sees all clients of TestManyTogether.
type watcher struct {
	t *testing.T

	mu        sync.Mutex
	random    *rand.Rand
	running   []*run
	listeners map[string]*term.Term // of which a client's listener has heard the beginning only
	starts    int
	overruns  int
	lost      int
}

type run struct {
	client string
	term   *term.Term
}

func (w *watcher) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func (w *watcher) seconds(n int) time.Duration {
	return time.Duration(w.draw(n*1000)) * time.Millisecond
}

func (w *watcher) live(name string, clock actor.Clock, store *flaky) {
	c := open(w.t, clock, store)
	c.sink = func(e observe.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := e.(type) {
		case observe.TaskOverrunning:
			w.overruns++
		case observe.Revoked:
			if !e.Reason.Voluntary() {
				w.lost++
			}
		}
	}
	policies := []election.Policy{election.Hold, election.Restart, election.Yield}
	quiet := false // guarded by w.mu, like what the listener does
	listener := &task.Listener{
		OnElected: func(_ context.Context, t *term.Term) { w.elected(name, t, &quiet) },
		OnRevoked: func(_ context.Context, t *term.Term, r term.Reason) { w.revoked(name, t, r, &quiet) },
	}
	for end := time.Now().Add(20 * time.Minute); time.Now().Before(end); {
		h := c.elect("billing", listener, func(ctx context.Context, t *term.Term) error { return w.task(ctx, name, t) },
			policies[w.draw(len(policies))])
		for range 1 + w.draw(6) {
			time.Sleep(w.seconds(30))
			switch w.draw(3) {
			case 0:
				if err := h.stepDown(context.Background(), w.seconds(5)); err != nil {
					w.t.Error(err)
				}
			case 1:
				store.cut.Store(true)
				time.Sleep(w.seconds(30))
				store.cut.Store(false)
			}
		}
		if err := h.stop(context.Background()); err != nil {
			w.t.Error(err)
		}
		w.mu.Lock()
		quiet = true
		w.mu.Unlock()
		// The name is taken until the task has exited.
		for h.view.Load().Running {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		w.mu.Lock()
		quiet = false
		w.mu.Unlock()
	}
	c.close(context.Background())
}

func (w *watcher) elected(name string, t *term.Term, quiet *bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners[name] != nil || *quiet {
		w.t.Errorf("%s: OnElected after OnElected, or after Stop", name)
	}
	w.listeners[name] = t
}

func (w *watcher) revoked(name string, t *term.Term, r term.Reason, quiet *bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners[name] != t || *quiet || t.Valid() || t.Reason() != r {
		w.t.Errorf("%s: OnRevoked of a term that did not begin or has not ended, or after Stop", name)
	}
	w.listeners[name] = nil
}

func (w *watcher) task(ctx context.Context, name string, t *term.Term) error {
	me := &run{name, t}
	w.mu.Lock()
	w.starts++
	for _, other := range w.running {
		if other.client == name {
			w.t.Errorf("%s: two tasks at once", name)
		}
		if other.term.Valid() {
			w.t.Errorf("%s starts token %d while %s still has a valid token %d", name, t.Token(), other.client, other.term.Token())
		}
	}
	w.running = append(w.running, me)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running = slices.DeleteFunc(w.running, func(r *run) bool { return r == me })
	}()
	if w.draw(10) == 0 {
		time.Sleep(w.seconds(40)) // deaf
		return nil
	}
	select {
	case <-ctx.Done():
		time.Sleep(w.seconds(4))
		return ctx.Err()
	case <-time.After(w.seconds(60)):
		return nil
	}
}
