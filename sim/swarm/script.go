package swarm

import (
	"errors"
	"time"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

var errTask = errors.New("the task failed")

func (w *World) electAll(cl *sim.Client) {
	cl.Sink = func(e observe.Event) {
		if e, ok := e.(observe.TaskEnded); ok && !w.healing && w.Once("steps down after its task", 12) {
			life := cl.Life()
			w.In(w.upTo("after its task", 100*time.Millisecond), func() {
				if cl.Life() == life {
					w.stepDown(cl, e.Name)
				}
			})
		}
	}
	for _, name := range w.names {
		cl.Elect(name, w.script(cl, name))
	}
}

// script draws the user's code of an election. Once faults have ended, it behaves.
func (w *World) script(cl *sim.Client, name string) sim.Script {
	s := sim.Script{
		AfterReturn:  election.Policy(w.Choose("after return", 3)),
		AfterFailure: election.Policy(w.Choose("after failure", 3)),
		Refuse:       func(*term.Term) bool { return !w.healing && w.faults.refusals && w.Once("refuse", 8) },
	}
	if w.yes("listener") {
		inline := w.yes("inline")
		s.Callback = func(*term.Term, term.Reason) sim.Call {
			if w.healing {
				return sim.Call{}
			}
			return sim.Call{
				Lasts:  w.upTo("callback", 100*time.Millisecond),
				Inline: inline,
				Panics: w.faults.panics && w.Once("callback panics", 8),
				Then:   w.inside(cl, name),
			}
		}
	}
	if w.yes("task") || w.durable[name] {
		s.Task = func(*term.Term) sim.Work { return w.work(cl, name) }
		// Those of one name are alike, or durable ticks would hardly ever be handed on.
		if w.Once("schedule", 4) || w.durable[name] && w.Choose("schedule as well", 4) > 0 {
			s.Plan = w.plan(name)
		}
	}
	return s
}

const (
	// longestTidying is how long a task takes at most that heeds its context.
	longestTidying = time.Second
	// tidies is how long it takes once faults have ended.
	tidies = 300 * time.Millisecond
)

// work draws one run of a task.
func (w *World) work(cl *sim.Client, name string) sim.Work {
	if w.healing {
		return sim.Work{Tidies: tidies}
	}
	k := sim.Work{Lasts: 1 + w.upTo("lasts", longest), Tidies: w.upTo("tidies", longestTidying), Then: w.inside(cl, name)}
	if w.faults.writes {
		k.Writes = 10*time.Millisecond + w.upTo("writes", 500*time.Millisecond)
	}
	if w.faults.deaf && w.yes("deaf task") {
		k.Deaf = true
		if w.Once("for ever", 8) {
			k.Lasts = 0
		}
	}
	if w.yes("fails") {
		k.Err = errTask
		k.Panics = w.faults.panics && w.yes("task panics")
	}
	return k
}

// inside is what user code calls from inside itself, nil for nothing.
func (w *World) inside(cl *sim.Client, name string) func() {
	if !w.faults.inside || !w.Once("inside", 6) {
		return nil
	}
	switch w.Choose("calls from inside", 3) {
	case 0:
		return func() { w.stepDown(cl, name) }
	case 1:
		return func() { w.stop(cl, name) }
	}
	return func() { w.close(cl) }
}
