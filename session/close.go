package session

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// closing is what is left to do once the session is CLOSED: to tell the backend,
// so that nobody has to wait for the expiry.
type closing struct {
	session string // to be closed at the backend; empty once that is done
	until   actor.Instant
	telling call
	tries   int
	asked   []actor.Ref
}

type (
	closeRetry   struct{}
	closeTimeout struct{ id uint64 }
)

// awaitOpen answers at once if there is a session, or never will be one.
func (s *session) awaitOpen(ctx actor.Context, replyTo actor.Ref) {
	switch s.machine.State() {
	case Opening:
		s.waiting = append(s.waiting, replyTo)
	case Closed:
		ctx.Send(replyTo, &ClosedError{})
	default:
		ctx.Send(replyTo, Done{})
	}
}

func (s *session) close(ctx actor.Context, replyTo actor.Ref) {
	s.ending.asked = append(s.ending.asked, replyTo)
	if s.machine.State() != Closed {
		s.shut(ctx)
	}
	if s.ending.session == "" {
		s.closed(ctx)
	}
}

// shut ends everything here, before the backend hears of it.
func (s *session) shut(ctx actor.Context) {
	s.step(ctx, CloseAsked)
	if s.id != "" {
		s.ending.session = s.id
		s.ending.until, _ = s.deadline.At()
		s.Sink(observe.SessionEnded{Session: s.id, Reason: term.Stopped})
		s.forget(ctx, term.Stopped)
		s.sendClose(ctx)
	}
	for _, name := range sortedKeys(s.owners) {
		if o := s.owners[name]; o.names[0] == name && o.candidacy != 0 {
			ctx.Send(o.ref, Lost{Candidacy: o.candidacy, Err: &ClosedError{}})
			s.withdraw(ctx, name)
		}
	}
	for _, ref := range s.waiting {
		ctx.Send(ref, &ClosedError{})
	}
	s.waiting = nil
	s.publish()
}

func (s *session) sendClose(ctx actor.Context) {
	if s.ending.session == "" || s.ending.telling.id != 0 {
		return
	}
	c := s.newCall(ctx, s.Params.RenewInterval)
	s.ending.telling = call{id: c.ID, sentAt: ctx.Now(), timeout: ctx.After(c.Timeout, closeTimeout{c.ID})}
	ctx.Send(s.Backend, &backend.CloseRequest{Call: c, Session: s.ending.session})
}

func (s *session) closeGivenUp(ctx actor.Context, id uint64) {
	s.closeAnswered(ctx, &backend.CloseAnswer{ID: id, Err: errNoAnswer})
}

func (s *session) closeAnswered(ctx actor.Context, m *backend.CloseAnswer) {
	if m.ID != s.ending.telling.id {
		return
	}
	s.ending.telling.drop()
	delay := s.Params.backoff(ctx, s.ending.tries)
	s.ending.tries++
	// Once the deadline has passed, the session is about to expire by itself.
	if m.Err != nil && ctx.Now().Add(delay) < s.ending.until {
		ctx.After(delay, closeRetry{})
		return
	}
	s.ending.session = ""
	s.closed(ctx)
}

func (s *session) closed(ctx actor.Context) {
	for _, ref := range s.ending.asked {
		ctx.Send(ref, Done{})
	}
	s.ending.asked = nil
}
