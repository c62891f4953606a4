package election_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// sessionPlayer plays the session of one election. What it does of its own accord,
// the test decides.
type sessionPlayer struct {
	t        *rapid.T
	election actor.Ref
	ctx      actor.Context
	clock    actor.Clock

	standing uint64 // the candidacy that is entered
	token    uint64
	held     *term.Term
	deadline *term.Deadline
	pending  []*term.Term // released, not settled
	left     int
	ends     map[*term.Term]term.Reason // that this session has ended
	all      []*term.Term
}

// do makes a player act within its own context, as the world demands of actors.
type do func()

func (s *sessionPlayer) Receive(ctx actor.Context, msg actor.Message) {
	s.ctx = ctx
	switch m := msg.(type) {
	case do:
		m()
	case session.Contend:
		if s.left > 0 {
			s.t.Fatal("it contends after it has left")
		}
		s.standing = m.Candidacy
	case session.Withdraw:
		s.standing = 0
	case session.Release:
		s.release(m.Term)
	case session.Leave:
		s.left++
		s.standing = 0
		if s.held != nil {
			term.End(s.held, term.Stopped)
			s.held = nil
		}
	}
}

func (s *sessionPlayer) release(t *term.Term) {
	if t.Reason() == term.None {
		s.t.Fatal("R23: a term is released that has not ended")
	}
	if s.held == t {
		s.held = nil
	}
	s.pending = append(s.pending, t)
}

func (s *sessionPlayer) canWin() bool {
	return s.standing != 0 && s.held == nil && len(s.pending) == 0
}

func (s *sessionPlayer) win() {
	if !s.canWin() {
		return // by now
	}
	s.token++
	s.deadline = term.NewDeadline(s.clock, s.clock.Now().Add(lease))
	s.held = term.New(name, "s", s.token, s.deadline)
	s.all = append(s.all, s.held)
	s.ctx.Send(s.election, won(s.standing, s.held))
	s.standing = 0
}

func (s *sessionPlayer) renew() {
	if s.held != nil {
		s.deadline.Extend(s.clock.Now().Add(lease))
	}
}

func (s *sessionPlayer) overdue() bool { return s.held != nil && s.deadline.Passed() }

func (s *sessionPlayer) lose(reason term.Reason) {
	if s.held == nil || reason == term.DeadlinePassed && !s.overdue() {
		return
	}
	if term.End(s.held, reason) {
		s.ends[s.held] = reason
		s.ctx.Send(s.election, session.Ended{Term: s.held, Reason: reason})
	}
	s.held = nil
}

func (s *sessionPlayer) settle() {
	if len(s.pending) > 0 {
		s.ctx.Send(s.election, session.Settled{Term: s.pending[0]})
		s.pending = s.pending[1:]
	}
}

func (s *sessionPlayer) fail() {
	if s.standing != 0 {
		s.ctx.Send(s.election, session.Lost{Candidacy: s.standing, Err: errBoom})
	}
}

// hostPlayer plays the host. Callbacks and the task take as long as the test likes,
// and the task need not heed its context.
type hostPlayer struct {
	t        *rapid.T
	election actor.Ref
	ctx      actor.Context
	listens  bool

	elected *election.RunElected // under way
	revoked *election.RunRevoked // under way
	open    *term.Term           // of which the listener has heard the beginning only
	refused map[*term.Term]bool
	heard   map[*term.Term]int // OnRevoked
	task    *term.Term
	tasks   int
}

func (h *hostPlayer) Receive(ctx actor.Context, msg actor.Message) {
	h.ctx = ctx
	switch m := msg.(type) {
	case do:
		m()
	case election.RunElected:
		h.free()
		if h.open != nil {
			h.t.Fatal("R37: OnElected before OnRevoked of the term before")
		}
		h.elected = &m
	case election.RunRevoked:
		h.free()
		if h.open != m.Term || m.Reason != m.Term.Reason() {
			h.t.Fatalf("R37: OnRevoked without OnElected, or for %v instead of %v", m.Reason, m.Term.Reason())
		}
		h.revoked = &m
	case election.StartTask:
		if h.task != nil {
			h.t.Fatal("R31: two tasks at once")
		}
		if h.listens && (h.open != m.Term || h.elected != nil) {
			h.t.Fatal("the task starts before OnElected has run")
		}
		h.task = m.Term
		h.tasks++
	}
}

func (h *hostPlayer) free() {
	if h.elected != nil || h.revoked != nil {
		h.t.Fatal("R38: two callbacks at once")
	}
}

func (h *hostPlayer) finishCallback(err error) {
	switch {
	case h.elected != nil:
		h.open = h.elected.Term
		h.elected = nil
		h.ctx.Send(h.election, election.CallbackDone{Term: h.open, Err: err})
	case h.revoked != nil:
		h.heard[h.open]++
		h.ctx.Send(h.election, election.CallbackDone{Term: h.open, Err: err})
		h.open, h.revoked = nil, nil
	}
}

func (h *hostPlayer) refuse() {
	if h.elected != nil {
		h.refused[h.elected.Term] = true
		h.ctx.Send(h.election, election.CallbackRefused{Term: h.elected.Term, Err: errBoom})
		h.elected = nil
	}
}

func (h *hostPlayer) exit(err error) {
	if h.task != nil {
		h.ctx.Send(h.election, election.TaskExited{Term: h.task, Err: err})
		h.task = nil
	}
}

// inOrder is a network between nodes that keeps the order of what one sends to
// another, and takes up to most for it.
func inOrder(t *rapid.T, now func() actor.Instant, most time.Duration) func(from, to any) []time.Duration {
	arrived := make(map[[2]any]actor.Instant)
	return func(from, to any) []time.Duration {
		d := time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, "delay"))
		at := max(now().Add(d), arrived[[2]any{from, to}])
		arrived[[2]any{from, to}] = at
		return []time.Duration{at.Sub(now())}
	}
}
