package actor_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
)

// doubles answers numbers with their double.
func doubles(ctx actor.Context, msg actor.Message) {
	if r, ok := msg.(*actor.Request); ok {
		if n, ok := r.Message.(int); ok {
			ctx.Send(r.ReplyTo(), 2*n)
		}
	}
}

func TestAskReturnsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		ref := s.Spawn("doubles", actor.BehaviorFunc(doubles))
		for n := range 3 {
			if answer, err := actor.Ask(t.Context(), ref, n); answer != 2*n || err != nil {
				t.Errorf("asked %d: %v, %v", n, answer, err)
			}
		}
		// An answer may be nil, or an error: it is an answer all the same.
		echo := s.Spawn("echo", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if r, ok := msg.(*actor.Request); ok {
				ctx.Send(r.ReplyTo(), r.Message)
			}
		}))
		for _, msg := range messages(nil, io.EOF, actor.ErrStopped, "text") {
			if answer, err := actor.Ask(t.Context(), echo, msg); answer != msg || err != nil {
				t.Errorf("asked for %v: %v, %v", msg, answer, err)
			}
		}
	})
}

// Whoever took a request may answer it when it likes, and may hand it on.
func TestAskIsAnsweredLaterAndByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		last := s.Spawn("doubles", actor.BehaviorFunc(doubles))
		first := s.Spawn("delays", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			switch r := msg.(type) {
			case *actor.Request:
				ctx.After(time.Second, later{r})
			case later:
				ctx.Send(last, r.Request)
				ctx.Stop() // and the end of this one is no answer
			}
		}))
		start := time.Now()
		answer, err := actor.Ask(t.Context(), first, 21)
		if answer != 42 || err != nil || time.Since(start) != time.Second {
			t.Errorf("after %v: %v, %v", time.Since(start), answer, err)
		}
	})
}

type later struct{ *actor.Request }

func TestAskGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		ref := s.Spawn("silent", &journal{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := actor.Ask(ctx, ref, 1)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if !strings.Contains(err.Error(), "silent") {
			t.Errorf("the error %q does not say who was asked", err)
		}

		caused, cancelCause := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancelCause(io.ErrNoProgress) })
		if _, err := actor.Ask(caused, ref, 1); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%v does not match the cause of the context", err)
		}
	})
}

func TestAskSendsNothingOnceItsContextIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{do: doubles}
		ref := s.Spawn("doubles", j)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			if answer, err := actor.Ask(ctx, ref, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v; want context.Canceled", answer, err)
			}
		}
		s.shutdown()
		equal(t, "received", j.seen, messages(actor.Started{}, actor.Stopping{}))
	})
}

func TestOnlyTheFirstAnswerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		var old []actor.Ref
		ref := s.Spawn("talkative", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if r, ok := msg.(*actor.Request); ok {
				for _, asker := range old {
					ctx.Send(asker, "stale")
				}
				ctx.Send(r.ReplyTo(), r.Message)
				ctx.Send(r.ReplyTo(), "stale")
				old = append(old, r.ReplyTo())
			}
		}))
		for n := range 20 {
			if answer, err := actor.Ask(t.Context(), ref, n); answer != n || err != nil {
				t.Errorf("asked for %d: %v, %v", n, answer, err)
			}
		}
	})
}

// The answer to a request that nobody waits for any more must not reach whoever
// has its channel now.
func TestLateAnswersReachNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		var late []actor.Ref
		ref := s.Spawn("late", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			r, ok := msg.(*actor.Request)
			switch {
			case !ok:
			case r.Message == "wait in vain":
				late = append(late, r.ReplyTo())
			default:
				for _, asker := range late {
					ctx.Send(asker, "late")
				}
				ctx.Send(r.ReplyTo(), r.Message)
			}
		}))
		for n := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if answer, err := actor.Ask(ctx, ref, "wait in vain"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, %v", answer, err)
			}
			cancel()
			if answer, err := actor.Ask(t.Context(), ref, n); answer != n || err != nil {
				t.Errorf("asked for %d: %v, %v", n, answer, err)
			}
		}
	})
}

// Answers, second answers and cancellations race here. Whatever wins, an asker
// gets its own answer or the error of its context.
func TestAnswersRaceWithCancellation(t *testing.T) {
	const askers, each = 8, 2000
	s := newSystem(t)
	ref := s.Spawn("echo", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if r, ok := msg.(*actor.Request); ok {
			go r.ReplyTo().Tell(r.Message)
			ctx.Send(r.ReplyTo(), r.Message)
		}
	}))
	var asking sync.WaitGroup
	var mu sync.Mutex
	var answered, cancelled int
	for asker := range askers {
		asking.Go(func() {
			a, c := 0, 0
			for n := range each {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for range n % 8 {
						runtime.Gosched()
					}
					cancel()
				}()
				want := note{asker, n}
				switch answer, err := actor.Ask(ctx, ref, want); {
				case errors.Is(err, context.Canceled):
					c++
				case err == nil && answer == want:
					a++
				default:
					t.Errorf("asked for %v: %v, %v", want, answer, err)
				}
				cancel()
			}
			mu.Lock()
			defer mu.Unlock()
			answered, cancelled = answered+a, cancelled+c
		})
	}
	asking.Wait()
	if answered == 0 || cancelled == 0 {
		t.Errorf("there was no race: %d answered, %d cancelled", answered, cancelled)
	}
}

// hasty is an address that answers at once, and cancels whoever asks as well.
type hasty struct{ cancel context.CancelFunc }

func (hasty) String() string { return "hasty" }
func (h hasty) Tell(msg actor.Message) {
	if r, ok := msg.(*actor.Request); ok {
		r.Tell(r.Message)
		h.cancel()
	}
}

func TestAnAnswerThatIsThereCountsEvenIfTheContextIsDone(t *testing.T) {
	for n := range 100 { // for either may be noticed first
		ctx, cancel := context.WithCancel(t.Context())
		if answer, err := actor.Ask(ctx, hasty{cancel}, n); answer != n || err != nil {
			t.Fatalf("asked for %d: %v, %v", n, answer, err)
		}
	}
}

func TestActorsAskActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		alive := s.Spawn("alive", actor.BehaviorFunc(doubles))
		dead := s.Spawn("dead", &journal{})
		s.Stop(dead)
		synctest.Wait()

		j := &journal{}
		asker := s.Spawn("asker", j)
		alive.Tell(actor.NewRequest(21, asker))
		request := actor.NewRequest(1, asker)
		if request.ReplyTo() != asker {
			t.Errorf("the answer goes to %v, want the asker itself", request.ReplyTo())
		}
		dead.Tell(request)
		synctest.Wait()
		s.shutdown()
		equal(t, "the asker received", j.seen, messages(
			actor.Started{}, actor.Unanswered{Request: request, To: dead}, 42, actor.Stopping{}))
	})
}

// An actor that stands in for another hands the address for the answer on.
func TestAskThroughAStandIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		behind := s.Spawn("behind", actor.BehaviorFunc(doubles))
		front := s.Spawn("front", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if r, ok := msg.(*actor.Request); ok {
				ctx.Send(behind, actor.NewRequest(r.Message, r.ReplyTo()))
			}
		}))
		if answer, err := actor.Ask(t.Context(), front, 21); answer != 42 || err != nil {
			t.Errorf("asked: %v, %v", answer, err)
		}
		s.Stop(behind)
		if _, err := actor.Ask(t.Context(), front, 21); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("asked for what nobody answers: %v; want ErrStopped", err)
		}
	})
}

// A request that is a literal has nobody to answer to, which harms nobody.
func TestAnswerToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		ref := s.Spawn("doubles", actor.BehaviorFunc(doubles))
		r := &actor.Request{Message: 1}
		ref.Tell(r)
		if answer, err := actor.Ask(t.Context(), ref, 21); answer != 42 || err != nil {
			t.Errorf("asked: %v, %v", answer, err)
		}
		if r.ReplyTo() != actor.Ref(r) || r.String() != "request(int)" {
			t.Errorf("%s is answered to %s", r, r.ReplyTo())
		}
	})
}

// inline is an address that is no actor of a System.
type inline struct{}

func (inline) String() string { return "inline" }
func (inline) Tell(msg actor.Message) {
	if r, ok := msg.(*actor.Request); ok && r.Message != nil {
		r.Tell(r.Message)
	}
}

func TestAskOfSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if answer, err := actor.Ask(t.Context(), inline{}, 1); answer != 1 || err != nil {
			t.Errorf("asked: %v, %v", answer, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := actor.Ask(ctx, inline{}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("asked for nothing: %v", err)
		}
	})
}

// Channels that were made in a bubble of testing/synctest must not get out of it,
// where their use panics.
func TestAskInBubblesAndOutside(t *testing.T) {
	round := func(t *testing.T) {
		s := newSystem(t)
		ref := s.Spawn("doubles", actor.BehaviorFunc(doubles))
		for range 20 {
			if answer, err := actor.Ask(t.Context(), ref, 21); answer != 42 || err != nil {
				t.Errorf("asked: %v, %v", answer, err)
			}
		}
	}
	for range 3 {
		synctest.Test(t, round)
		round(t)
	}
}
