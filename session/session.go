// Package session keeps one client alive at its backend. The session's actor is
// the client's only voice there: it renews the one session on which all leases
// depend, gathers what its owners (elections and locks) want into few calls, and
// ends every term when the session ends.
package session

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// Config is what a session needs: its Params, a Sink for its events, and more. All fields but View are required.
type Config struct {
	Params  Params
	Label   string      // shown to people as the holder
	Backend actor.Ref   // speaks the protocol of package backend
	Clock   actor.Clock // the one that the actor's context reads
	Sink    observe.Sink
	// View receives a snapshot whenever something in it has changed.
	View *atomic.Pointer[Snapshot]
}

// New returns the behaviour of a session.
func New(c Config) actor.Behavior {
	return &session{
		Config:   c,
		machine:  actor.NewMachine(Table),
		bound:    c.Params.Bound(),
		interval: c.Params.RenewInterval,
		owners:   make(map[string]*owner),
		held:     make(map[string]*held),
		calls:    make(map[uint64]*acquireCall),
		out:      newReleases(),
		watching: newWatches(),
	}
}

// session is the actor. Its files: renew.go keeps the incarnation alive,
// candidate.go and attempt.go compete, release.go gives back, reconcile.go judges
// what the backend lists, watch.go passes notices on, close.go ends it all.
type session struct {
	Config
	machine actor.Machine[State, Event]
	bound   term.Bound
	lastID  uint64 // of the requests to the backend

	// The incarnation. id is empty while there is none.
	id         string
	deadline   *term.Deadline
	interval   time.Duration // the effective renew interval
	shortened  bool          // reported for this incarnation
	opening    call
	tries      int // to open, in a row, that have led to no renewal
	renewing   call
	renewals   uint64 // sent for this incarnation
	firstID    uint64 // ids of this incarnation's calls begin here
	nextRenew  actor.Timer
	atDeadline actor.Timer
	lastErr    error

	// What the backend is known to list.
	revision uint64
	doubtful bool // a call's outcome is unknown: compare the whole list next time

	owners   map[string]*owner // by each of their names
	held     map[string]*held
	calls    map[uint64]*acquireCall // without an answer, also those given up
	flights  int                     // of calls, those not given up
	due      []*owner                // candidates that the next flush sends off
	beat     actor.Timer             // the next regular attempt; nil while nobody waits
	flushing bool                    // a flush is on its way
	out      releases
	watching watches
	ending   closing
	waiting  []actor.Ref // for a session
}

// call is the one request of its kind that may be under way. id is 0 if none is.
type call struct {
	id      uint64
	sentAt  actor.Instant
	timeout actor.Timer
}

// drop forgets the call; an answer is not waited for any more.
func (c *call) drop() {
	if c.id != 0 {
		c.timeout.Stop()
		c.id = 0
	}
}

// held is a term that the session's renewals keep alive.
type held struct {
	term  *term.Term
	owner *owner
	// since is how many renewals had been sent when the term began. Only later
	// ones can tell whether the backend still lists its lease.
	since uint64
}

// Timers of the session itself. Those of an incarnation are stopped with it, and a
// timer that was stopped is never delivered.
type (
	openNow      struct{}
	openTimeout  struct{ id uint64 }
	renewNow     struct{}
	renewTimeout struct{ id uint64 }
	deadlineNow  struct{}
)

// Receive handles one message.
func (s *session) Receive(ctx actor.Context, msg actor.Message) {
	returned := false
	defer func() {
		if !returned {
			s.abort(ctx)
		}
	}()
	// Whatever the message is, it meets a session that knows what time it is: an
	// answer that comes after the deadline finds no session any more (R10, R28).
	s.checkDeadline(ctx)
	s.handle(ctx, msg)
	returned = true
}

func (s *session) handle(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case actor.Started:
		s.open(ctx)
	case actor.Stopping:
		s.stopping(ctx)
	case *actor.Request:
		s.request(ctx, m)
	case Contend:
		s.contend(ctx, m)
	case Withdraw:
		s.withdraw(ctx, m.Name)
	case Release:
		s.release(ctx, m.Term)
	case Leave:
		s.leave(ctx, m)
	case Watch:
		s.watch(ctx, m.Name, m.Watcher)
	case Unwatch:
		s.unwatch(ctx, m.Name, m.Watcher)
	case *backend.OpenAnswer:
		s.opened(ctx, m)
	case *backend.RenewAnswer:
		s.renewed(ctx, m)
	case *backend.AcquireAnswer:
		s.acquired(ctx, m)
	case *backend.ReleaseAnswer:
		s.released(ctx, m)
	case *backend.CloseAnswer:
		s.closeAnswered(ctx, m)
	case *backend.InspectAnswer:
		s.inspected(ctx, m)
	case *backend.Vacated:
		s.vacated(ctx, m.Names)
	default:
		s.timer(ctx, msg)
	}
}

func (s *session) timer(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case openNow:
		s.open(ctx)
	case openTimeout:
		s.openGivenUp(ctx, m.id)
	case renewNow:
		s.renew(ctx)
	case renewTimeout:
		s.renewGivenUp(ctx, m.id)
	case deadlineNow:
		s.armDeadline(ctx)
	case beatNow:
		s.beatAll(ctx)
	case flushNow:
		s.flush(ctx)
	case acquireTimeout:
		s.acquireGivenUp(ctx, m.id)
	case acquireForgotten:
		s.forgetCall(m.id)
	case releaseTimeout:
		s.releaseGivenUp(ctx, m.id)
	case releaseRetry:
		s.retryReleases(ctx)
	case closeRetry:
		s.sendClose(ctx)
	case closeTimeout:
		s.closeGivenUp(ctx, m.id)
	case inspectTimeout:
		s.inspected(ctx, &backend.InspectAnswer{ID: m.id, Err: errNoAnswer})
	case Check:
		// Receive has done it already.
	default:
		ctx.Report(fmt.Errorf("simba: a session does not take a %T", msg))
	}
}

func (s *session) request(ctx actor.Context, r *actor.Request) {
	switch m := r.Message.(type) {
	case Join:
		ctx.Send(r.ReplyTo(), s.join(m))
	case AwaitOpen:
		s.awaitOpen(ctx, r.ReplyTo())
	case Inspect:
		s.inspect(ctx, m, r.ReplyTo())
	case Close:
		s.close(ctx, r.ReplyTo())
	default:
		ctx.Report(fmt.Errorf("simba: a session cannot be asked for a %T", r.Message))
	}
}

// step moves the state machine. An event that its table does not have is a bug,
// and reported as one.
func (s *session) step(ctx actor.Context, e Event) {
	if err := s.machine.Step(e); err != nil {
		ctx.Report(err)
	}
}

// newCall numbers a request to the backend, which waits for its answer for at
// most timeout.
func (s *session) newCall(ctx actor.Context, timeout time.Duration) backend.Call {
	s.lastID++
	return backend.Call{ID: s.lastID, ReplyTo: ctx.Self(), Timeout: timeout}
}

// publish shows the session's state to whoever looks. It comes before others are
// told of a change, for they may look.
func (s *session) publish() {
	if s.View == nil {
		return
	}
	leases := len(s.held)
	if s.id == "" {
		leases = 0 // they are about to end
	}
	s.View.Store(&Snapshot{
		Session: s.id, State: s.machine.State(), Deadline: s.deadline,
		Interval: s.interval, Leases: leases, LastErr: s.lastErr,
	})
}

// abort is the end after a bug. Nobody renews from here on, so no term may look
// valid, and whoever waits for this session would wait for ever.
func (s *session) abort(ctx actor.Context) {
	if s.deadline != nil {
		s.deadline.Latch()
	}
	s.endTerms(ctx, term.DeadlinePassed)
	s.dropReleases(ctx)
	s.hangUp(ctx)
}
