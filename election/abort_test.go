package election_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// sandbox runs a behaviour without a runtime, so that its bugs can be contained.
type sandbox struct {
	actor.Context
	election actor.Behavior
	bug      func() // of the sink, at the event that has the type of at
	at       observe.Event
	sent     []any
	caller   caller
}

func newSandbox(configure func(*election.Config)) *sandbox {
	s := &sandbox{}
	c := election.Config{
		Name: name, Listens: true, Works: true, Params: params,
		Sink: func(e observe.Event) {
			if s.bug != nil && e == s.at {
				s.bug()
			}
		},
	}
	configure(&c)
	s.election = election.New(c)
	s.give(actor.Started{}, election.Start{})
	return s
}

func (s *sandbox) Self() actor.Ref    { return &s.caller }
func (s *sandbox) Now() actor.Instant { return 0 }
func (s *sandbox) Stop()              {}
func (s *sandbox) Send(to actor.Ref, msg actor.Message) {
	if to == actor.Ref(&s.caller) {
		s.caller.Tell(msg)
		return
	}
	s.sent = append(s.sent, unowned(msg))
}
func (s *sandbox) After(time.Duration, actor.Message) actor.Timer { return timer{} }

type timer struct{}

func (timer) Stop() bool { return true }

// give lets the election handle messages, and contains its bugs.
func (s *sandbox) give(msgs ...actor.Message) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recover() }()
		for _, msg := range msgs {
			s.election.Receive(s, msg)
		}
	}()
	<-done
}

// standstill is a clock for terms that last.
type standstill struct{}

func (standstill) Now() actor.Instant { return 0 }

func lasting(token uint64) *term.Term {
	return term.New(name, "s", token, term.NewDeadline(standstill{}, 1))
}

// TestAbort: a bug, here of the sink, must not leave a term that looks valid, a
// caller who waits for ever, or a name that somebody else may have lost by it.
func TestAbort(t *testing.T) {
	tests := map[string]struct {
		kind   func(*election.Config)
		at     func(*term.Term) observe.Event
		msgs   func(*term.Term) []actor.Message
		leaves int
		asked  bool
	}{
		"in the step that wins": {
			kind:   onlyListens,
			at:     func(t *term.Term) observe.Event { return observe.Elected{Name: name, Token: t.Token()} },
			msgs:   func(t *term.Term) []actor.Message { return nil },
			leaves: 1,
		},
		"while a task runs": { // it may still act, so the lease stays where it is
			kind: onlyWorks,
			at: func(t *term.Term) observe.Event {
				return observe.HandoverStarted{Name: name, Token: t.Token(), Remaining: 1}
			},
			msgs:  func(*term.Term) []actor.Message { return []actor.Message{election.Stop{}} },
			asked: true,
		},
		"when the task has exited": {
			kind: onlyWorks,
			at: func(t *term.Term) observe.Event {
				return observe.TaskEnded{Name: name, Token: t.Token()}
			},
			msgs: func(t *term.Term) []actor.Message {
				return []actor.Message{election.Stop{}, election.TaskExited{Term: t}}
			},
			asked:  true,
			leaves: 1,
		},
		"when the name was given back": {
			kind: onlyListens,
			at: func(t *term.Term) observe.Event {
				return observe.CallbackFailed{Name: name, Token: t.Token(), Err: errBoom}
			},
			msgs: func(t *term.Term) []actor.Message {
				return []actor.Message{election.Stop{}, election.CallbackDone{Term: t, Err: errBoom}}
			},
			asked:  true,
			leaves: 1,
		},
		"with the system": {
			kind:   onlyListens,
			msgs:   func(t *term.Term) []actor.Message { return []actor.Message{actor.Stopping{}} },
			leaves: 1,
		},
		"with the system while somebody waits": {
			kind:  onlyWorks,
			msgs:  func(t *term.Term) []actor.Message { return []actor.Message{election.Stop{}, actor.Stopping{}} },
			asked: true,
		},
	}
	for what, test := range tests {
		for way, bug := range map[string]func(){"panic": func() { panic("a bug") }, "Goexit": runtime.Goexit} {
			t.Run(what+"/"+way, func(t *testing.T) {
				s := newSandbox(test.kind)
				tm := lasting(1)
				if test.at != nil {
					s.bug, s.at = bug, test.at(tm)
				}
				msgs := []actor.Message{session.Won{Candidacy: 1, Terms: []*term.Term{tm}}}
				for _, msg := range test.msgs(tm) {
					if stop, ok := msg.(election.Stop); ok {
						msg = actor.NewRequest(stop, &s.caller)
					}
					msgs = append(msgs, msg)
				}
				s.give(msgs...)
				if tm.Valid() {
					t.Error("the term is valid")
				}
				if got := count(s.sent, leave); got != test.leaves {
					t.Errorf("the name was given back %d times, want %d", got, test.leaves)
				}
				answers := slices.DeleteFunc(s.caller.answers, func(a any) bool { _, ok := a.(error); return !ok })
				var aborted *election.AbortedError
				if test.asked && (len(answers) != 1 || !errors.As(answers[0].(error), &aborted) || aborted.Name != name) {
					t.Errorf("the answers are %v", s.caller.answers)
				}
			})
		}
	}
}

func count(all []any, one any) int {
	n := 0
	for _, m := range all {
		if m == one {
			n++
		}
	}
	return n
}

// TestEndedBeforeItHadAName: an election that was never started has not joined its
// name, which is somebody else's, and so does not give it back.
func TestEndedBeforeItHadAName(t *testing.T) {
	s := &sandbox{}
	s.election = election.New(election.Config{Name: name, Params: params, Sink: observe.Discard})
	s.give(actor.Started{}, actor.Stopping{})
	s.give(actor.NewRequest(election.Stop{}, &s.caller))
	if len(s.sent) > 0 {
		t.Errorf("it sent %+v", s.sent)
	}
}
