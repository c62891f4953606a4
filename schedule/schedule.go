// Package schedule runs a function again and again while leading: with a pause
// between two runs, at a rate, or by a cron line. A schedule is an actor between an
// election and its host. To the election it is the host, whose task runs as long as
// the term does; to the host it is an election that starts the task for each tick.
package schedule

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// Config is what a schedule needs: a Name, a Plan, a Host that runs the function, and
// a Sink for its events, besides what follows.
type Config struct {
	Name string
	Plan *Plan
	Host actor.Ref
	// Wall reads the wall clock, for plans that need one. It is called on another
	// goroutine.
	Wall func() Moment
	// Backend keeps the notes of durable plans. An answer is waited for until Timeout,
	// and what has failed is tried again after Pause, which doubles up to Timeout.
	Backend        actor.Ref
	Timeout, Pause time.Duration // above zero
	Sink           observe.Sink
	// View receives a snapshot whenever something in it has changed.
	View *atomic.Pointer[Snapshot]
}

// Snapshot is what people see of a schedule. It is immutable.
type Snapshot struct {
	State   State         // where it stands
	Next    actor.Instant // when the next run is due, as far as is known; zero if it is not
	Last    actor.Instant // when the last run began; zero if there was none
	Took    time.Duration // the last run that has returned
	Runs    int           // that have begun
	Failed  int           // of them
	Skipped int           // ticks that passed during a run, or unnoticed, and have none of their own
	LastErr error         // of the last run, or note, that failed
}

// ErrAborted is how the task of a schedule ends by a bug of the engine.
var ErrAborted = &AbortedError{}

// AbortedError says that a schedule has ended by a bug of the engine.
type AbortedError struct{}

// Error says so.
func (*AbortedError) Error() string {
	return "simba: the schedule was aborted by a bug of the engine"
}

// New returns the behaviour of a schedule. It is the [election.Config.Host] of an
// election that works.
func New(c Config) actor.Behavior {
	s := &schedule{Config: c, machine: actor.NewMachine(Table)}
	s.publish()
	return s
}

// schedule is the actor. Its files: schedule.go stands between election and host,
// ticks.go knows when the next run is due, notes.go keeps durable ticks.
type schedule struct {
	Config
	machine actor.Machine[State, Event]
	term    *term.Term // nil while idle
	leader  actor.Ref  // the election, as long as it waits for the task to exit
	ticks   ticks
	notes   notes
	shown   Snapshot
	outbox  []letter
}

// letter is for somebody who may look at the snapshot when it arrives.
type letter struct {
	to  actor.Ref
	msg actor.Message
}

// Receive handles one message.
func (s *schedule) Receive(ctx actor.Context, msg actor.Message) {
	returned := false
	defer func() {
		if !returned {
			s.abort(ctx)
		}
	}()
	s.handle(ctx, msg)
	s.publish()
	s.post(ctx)
	returned = true
}

func (s *schedule) handle(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case election.StartTask:
		s.lead(ctx, m)
	case election.CancelTask:
		s.cancel(ctx, m)
	case election.TaskExited:
		s.exited(ctx, m)
	case election.RunElected, election.RunRevoked:
		s.later(s.Host, msg) // whose answer goes to the election
	case lookNow:
		s.lookNow(ctx, m)
	case sight:
		s.saw(ctx, m)
	case *backend.NoteAnswer:
		s.noted(ctx, m)
	case noteTimeout:
		s.noted(ctx, &backend.NoteAnswer{ID: m.id, Err: errNoAnswer})
	case noteAgain:
		s.noteAgain(ctx, m)
	case *actor.PanicError:
		s.blinded(ctx, m)
	case actor.Stopping:
		s.abort(ctx)
	}
}

// step moves the state machine. An event that its table does not have is a bug, and
// reported as one.
func (s *schedule) step(ctx actor.Context, e Event) bool {
	err := s.machine.Step(e)
	if err != nil {
		ctx.Report(err)
	}
	return err == nil
}

func (s *schedule) lead(ctx actor.Context, m election.StartTask) {
	if s.step(ctx, Lead) {
		s.term, s.leader = m.Term, m.ReplyTo
		s.begin(ctx)
	}
}

// run asks for one run, unless the term is lost. The session is about to say so
// then, and until it has, nothing runs.
func (s *schedule) run(ctx actor.Context, tick Moment, skipped int) {
	if !s.term.Valid() {
		return
	}
	if !s.step(ctx, Tick) {
		return
	}
	s.ticks.armed++ // what is on its way is for the tick that is run now
	s.shown.Next, s.shown.Last = 0, ctx.Now()
	s.shown.Runs++
	if skipped > 0 {
		s.shown.Skipped += skipped
		s.Sink(observe.TicksSkipped{Name: s.Name, Token: s.term.Token(), Ticks: skipped})
	}
	s.Sink(observe.RunStarted{Name: s.Name, Token: s.term.Token(), Tick: int64(tick)})
	s.later(s.Host, election.StartTask{ReplyTo: ctx.Self(), Term: s.term})
}

// exited is the end of a run. That it failed is told, and changes nothing.
func (s *schedule) exited(ctx actor.Context, m election.TaskExited) {
	if m.Term != s.term || s.notes.takingBack || !s.step(ctx, Return) {
		return
	}
	s.shown.Took = ctx.Now().Sub(s.shown.Last)
	if m.Err != nil {
		s.shown.Failed++
		s.shown.LastErr = m.Err
	}
	s.Sink(observe.RunEnded{Name: s.Name, Token: s.term.Token(), Took: s.shown.Took, Err: m.Err})
	if s.machine.State() == Idle {
		s.leave()
		return
	}
	s.afterRun(ctx)
}

// cancel ends what runs under a term. The election learns that its task has exited
// when the run has (R32).
func (s *schedule) cancel(ctx actor.Context, m election.CancelTask) {
	if m.Term != s.term {
		return
	}
	was := s.machine.State()
	if !s.step(ctx, Cancel) {
		return
	}
	s.ticks.armed++
	s.shown.Next = 0
	switch {
	case was == Waiting:
		s.notes.forget()
		s.leave()
	case was == Noting || s.notes.takingBack:
		s.takeBack(ctx, m.Reason)
	default:
		s.later(s.Host, m)
	}
}

// leave says that nothing runs any more. The election may start the next task now.
func (s *schedule) leave() {
	s.later(s.leader, election.TaskExited{Term: s.term})
	s.term, s.leader = nil, nil
}

// later posts msg at the end of this step, when the step's outcome can be seen.
func (s *schedule) later(to actor.Ref, msg actor.Message) {
	s.outbox = append(s.outbox, letter{to, msg})
}

func (s *schedule) post(ctx actor.Context) {
	for _, l := range s.outbox {
		ctx.Send(l.to, l.msg)
	}
	s.outbox = nil
}

// publish shows the schedule's state to whoever looks.
func (s *schedule) publish() {
	if s.View == nil {
		return
	}
	shown := s.shown
	shown.State = s.machine.State()
	s.View.Store(&shown)
}

// abort is the end after a bug, or with a system that is shut down too early. A run
// that is under way is cancelled, and its end is not told: the election keeps the name
// then, because nobody leading is better than two.
func (s *schedule) abort(ctx actor.Context) {
	switch s.machine.State() {
	case Waiting, Noting:
		ctx.Send(s.leader, election.TaskExited{Term: s.term, Err: ErrAborted})
	case Running, Leaving:
		if s.notes.takingBack {
			ctx.Send(s.leader, election.TaskExited{Term: s.term, Err: ErrAborted})
			return
		}
		ctx.Send(s.Host, election.CancelTask{Term: s.term, Reason: term.Stopped})
	}
}

// glance reads the wall clock elsewhere, and looks for the next tick there.
func (s *schedule) glance(ctx actor.Context) {
	number, after, fresh := s.ticks.armed, s.ticks.after, s.ticks.fresh
	wall, plan := s.Wall, s.Plan
	ctx.Go(func(context.Context) actor.Message {
		seen := plan.look(wall(), after, fresh)
		seen.number = number
		return seen
	})
}
