package election

import (
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// task is the user's work under a term. It may outlive the term, if it does not
// heed its cancelled context.
type task struct {
	term     *term.Term // under which it runs or ran last
	running  bool
	failures int // in a row
	restarts int // in all
}

// startTask begins the work of the current term, unless the term is being handed
// over already.
func (e *election) startTask(ctx actor.Context) {
	if !e.Works || e.machine.State() != Leader || e.task.running {
		return
	}
	e.task.term, e.task.running = e.term, true
	e.Sink(observe.TaskStarted{Name: e.Name, Token: e.term.Token()})
	ctx.Send(e.Host, StartTask{ReplyTo: ctx.Self(), Term: e.term})
}

func (e *election) cancelTask(ctx actor.Context, reason term.Reason) {
	if e.task.running {
		ctx.Send(e.Host, CancelTask{Term: e.task.term, Reason: reason})
	}
}

func (e *election) taskExited(ctx actor.Context, m TaskExited) {
	if !e.task.running || m.Term != e.task.term {
		return
	}
	e.task.running = false
	e.Sink(observe.TaskEnded{Name: e.Name, Token: m.Term.Token(), Err: m.Err})
	if m.Err != nil {
		e.lastErr = m.Err
	}
	switch {
	case m.Term != e.term:
		e.contend(ctx) // it was of a lost term, and all that waited for it
	case e.machine.State() == Leader && m.Term.Reason() != term.None:
		// Lost as well, and word of it is on its way here. The task did not return
		// under a term that goes on, which is what the policies are for.
	case e.machine.State() == SteppingDown:
		e.endTerm(ctx)
	default:
		e.follow(ctx, m.Err)
	}
}

// follow applies the policy for a task that returned while its term goes on.
func (e *election) follow(ctx actor.Context, err error) {
	policy := e.AfterReturn
	var pause time.Duration
	if err == nil {
		e.task.failures = 0
	} else {
		policy = e.AfterFailure
		pause = e.backoff(e.task.failures)
		e.task.failures++
	}
	switch policy {
	case Restart:
		ctx.After(pause, restartNow{e.term})
	case Yield:
		e.stepDown(ctx, pause)
	case Finish:
		e.step(ctx, StopAsked)
		e.begin(ctx, term.Stopped, true)
	}
}

func (e *election) restart(ctx actor.Context, m restartNow) {
	if m.term == e.term && e.machine.State() == Leader && !e.task.running {
		e.task.restarts++
		e.startTask(ctx)
	}
}
