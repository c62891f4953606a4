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
	term     *term.Term // under which it runs; nil while it does not
	since    actor.Instant
	failures int // in a row, see pause
	restarts int // in all
}

// startTask begins the work of the current term, unless that is lost already. It is
// not being handed over either: a handover without a task ends in the same step.
func (e *election) startTask(ctx actor.Context) {
	if !e.Works || !e.term.Valid() {
		return
	}
	e.task.term, e.task.since = e.term, ctx.Now()
	e.Sink(observe.TaskStarted{Name: e.Name, Token: e.term.Token()})
	e.later(e.Host, StartTask{ReplyTo: ctx.Self(), Term: e.term})
}

func (e *election) cancelTask(reason term.Reason) {
	if e.task.term != nil {
		e.later(e.Host, CancelTask{Term: e.task.term, Reason: reason})
	}
}

// overrunning tells of a task that does not heed its context.
func (e *election) overrunning(m overrunning) {
	if m.term == e.task.term {
		e.Sink(observe.TaskOverrunning{Name: e.Name, Token: m.term.Token()})
	}
}

func (e *election) taskExited(ctx actor.Context, m TaskExited) {
	if m.Term != e.task.term {
		return
	}
	lasted := ctx.Now().Sub(e.task.since)
	e.task.term = nil
	e.Sink(observe.TaskEnded{Name: e.Name, Token: m.Term.Token(), Err: m.Err})
	if m.Err != nil {
		e.lastErr = m.Err
	}
	switch {
	case m.Term != e.term: // lost before the task exited; a new candidacy has waited for that
	case e.machine.State() == SteppingDown:
		e.endTerm(ctx)
	case e.term.Valid():
		e.follow(ctx, m.Err, lasted)
	default:
		// The term was lost while the task ran, as far as anybody can tell (R44). The
		// session is about to say so.
	}
}

// follow applies the policy for a task that returned while its term goes on.
func (e *election) follow(ctx actor.Context, err error, lasted time.Duration) {
	policy := e.AfterReturn
	if err != nil {
		policy = e.AfterFailure
	}
	switch policy {
	case Restart:
		ctx.After(e.pause(err, lasted), restartNow{e.term})
	case Yield:
		e.stepDown(ctx, e.pause(err, lasted))
	case Finish:
		e.step(ctx, StopAsked)
		e.begin(ctx, term.Stopped, true)
	}
}

// pause is how long the task rests before it may run again: not at all after a
// long run that returned nil. A run that failed or was short, whatever it
// returned, is followed by a back-off, which doubles with each such run in a row,
// because a task that returns at once must not spin. A long run ends the row.
func (e *election) pause(err error, lasted time.Duration) time.Duration {
	long := lasted >= e.Params.RenewInterval
	if long {
		e.task.failures = 0
	}
	if long && err == nil {
		return 0
	}
	d := e.backoff(e.task.failures)
	e.task.failures++
	return d
}

func (e *election) restart(ctx actor.Context, m restartNow) {
	if m.term == e.term {
		e.task.restarts++
		e.startTask(ctx)
	}
}
