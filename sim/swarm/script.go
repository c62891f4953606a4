package swarm

import (
	"errors"
	"time"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

var errTask = errors.New("the task failed")

func (w *World) electAll(cl *sim.Client) {
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
	if w.yes("task") {
		s.Task = func(*term.Term) sim.Work { return w.work(cl, name) }
	}
	return s
}

// tidies is how long a task takes to return once faults have ended.
const tidies = 300 * time.Millisecond

// work draws one run of a task.
func (w *World) work(cl *sim.Client, name string) sim.Work {
	if w.healing {
		return sim.Work{Tidies: tidies}
	}
	k := sim.Work{Lasts: 1 + w.upTo("lasts", longest), Tidies: w.upTo("tidies", time.Second), Then: w.inside(cl, name)}
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
