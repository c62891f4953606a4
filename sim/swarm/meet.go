package swarm

import (
	"slices"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
)

// meeting is something that is done when a client is about to handle a message of
// some kind. By chance alone the two would hardly ever meet.
type meeting struct {
	node    *sim.Node
	arrives bool // when the message comes into the mailbox, and not when it is handled
	kind    func(actor.Message) bool
	do      func()
}

// meet draws what is to be met, and what is done then.
func (w *World) meet(cl *sim.Client, name string) {
	var do func()
	switch w.Choose("what it meets", 5) {
	case 0:
		do = func() { w.stepDown(cl, name) }
	case 1:
		do = func() { w.stop(cl, name) }
	case 2:
		do = func() { w.pause(cl) }
	case 3:
		do = func() { when(w.faults.closes, w.close, cl) }
	case 4: // whoever wins the name
		for _, cl := range w.Clients {
			w.meetings = append(w.meetings, meeting{cl.Node, true, wins(name), func() { w.blink(cl, name) }})
		}
		return
	}
	kinds := []func(actor.Message) bool{
		is[*backend.AcquireAnswer], is[session.Won], is[session.Ended], is[*backend.RenewAnswer],
		is[*backend.ReleaseAnswer], is[election.CallbackDone], is[election.TaskExited], is[session.Lost],
	}
	w.meetings = append(w.meetings, meeting{cl.Node, !w.yes("as it is handled"), kinds[w.Choose("what is met", int64(len(kinds)))], do})
}

// wins is the answer to an attempt that wins a name.
func wins(name string) func(actor.Message) bool {
	return func(msg actor.Message) bool {
		a, ok := msg.(*backend.AcquireAnswer)
		return ok && slices.ContainsFunc(a.Outcomes, func(o backend.Outcome) bool { return o.Won && o.Name == name })
	}
}

// met does what was to be done, just before the message is handled, or when it comes.
func (w *World) met(arrives bool) func(to actor.Ref, msg actor.Message) {
	return func(to actor.Ref, msg actor.Message) {
		for i, m := range w.meetings {
			if m.arrives == arrives && m.kind(msg) && m.node.Has(to) {
				w.meetings = append(w.meetings[:i], w.meetings[i+1:]...)
				m.do()
				return
			}
		}
	}
}
