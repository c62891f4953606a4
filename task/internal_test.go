package task

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/term"
)

// answers takes what a host answers.
type answers chan any

func (a answers) Tell(msg actor.Message) { a <- msg }
func (a answers) String() string         { return "answers" }

// TestNothingIsLeftBehind: whichever way callbacks, tasks and executors end, a host
// and its client remember neither goroutines nor terms of the past.
func TestNothingIsLeftBehind(t *testing.T) {
	returns, panics, exits := func() {}, func() { panic("leaves abruptly") }, runtime.Goexit
	executors := map[string]Executor{
		"goroutine": Go,
		"inline":    Inline,
		"refuses":   func(func()) error { return errors.New("the pool is full") },
		"panics":    func(func()) error { panic("the pool is broken") },
		"exits":     func(func()) error { runtime.Goexit(); return nil },
	}
	for kind, executor := range executors {
		for how, end := range map[string]func(){"returns": returns, "panics": panics, "exits": exits} {
			t.Run(kind+"/"+how, func(t *testing.T) {
				var running sync.WaitGroup
				replies := make(answers, 10)
				h := NewHost(HostConfig{
					Name: "billing", Executor: executor, Insiders: NewInsiders(), Running: &running,
					Listener: Listener{
						OnElected: func(context.Context, *term.Term) { end() },
						OnRevoked: func(context.Context, *term.Term, term.Reason) { end() },
					},
					Work: func(context.Context, *term.Term) error { end(); return nil },
				})
				clock := actor.NewGoClock()
				tm := term.New("billing", "s", 1, term.NewDeadline(clock, actor.MaxInstant))
				h.Tell(election.RunElected{ReplyTo: replies, Term: tm})
				<-replies
				h.Tell(election.StartTask{ReplyTo: replies, Term: tm})
				<-replies
				h.Tell(election.RunRevoked{ReplyTo: replies, Term: tm, Reason: term.Stopped})
				<-replies
				running.Wait()
				if n := len(h.Insiders.code) + len(h.Insiders.loops); n > 0 {
					t.Errorf("%d goroutines are remembered", n)
				}
				if h.term != nil || h.cancel != nil {
					t.Error("the task is remembered")
				}
			})
		}
	}
}
