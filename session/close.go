package session

import (
	"errors"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
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

// shut ends everything here, before the backend hears of it (R4, R23).
func (s *session) shut(ctx actor.Context) {
	s.opening.drop()
	if s.id == "" {
		s.step(ctx, CloseAsked)
		s.publish()
	} else {
		s.ending.session = s.id
		s.ending.until, _ = s.deadline.At()
		s.retire(ctx, CloseAsked, term.Stopped)
		s.sendClose(ctx)
	}
	for _, name := range sortedKeys(s.owners) {
		if o := s.owners[name]; o.names[0] == name && o.candidacy != 0 {
			ctx.Send(o.ref, Lost{Candidacy: o.candidacy, Err: &ClosedError{}})
			s.withdraw(ctx, name)
		}
	}
	s.unwatchAll(ctx)
	s.refuseWaiting(ctx)
}

// refuseWaiting answers those who wait for what will never come.
func (s *session) refuseWaiting(ctx actor.Context) {
	for _, ref := range s.waiting {
		ctx.Send(ref, &ClosedError{})
	}
	s.waiting = nil
	for _, id := range sortedKeys(s.watching.inspects) {
		c := s.watching.inspects[id]
		c.timeout.Stop()
		ctx.Send(c.replyTo, &ClosedError{})
	}
	clear(s.watching.inspects)
}

func (s *session) sendClose(ctx actor.Context) {
	c := s.newCall(ctx, s.interval)
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
	if m.Err != nil && !errors.Is(m.Err, backend.ErrExpired) {
		delay := s.Params.backoff(ctx, s.ending.tries)
		s.ending.tries++
		// Once the deadline has passed, the session is about to expire by itself.
		if ctx.Now().Add(delay) < s.ending.until {
			ctx.After(delay, closeRetry{})
			return
		}
	}
	s.closed(ctx)
}

// closed is when nothing is left to do.
func (s *session) closed(ctx actor.Context) {
	s.ending.session = ""
	for _, ref := range s.ending.asked {
		ctx.Send(ref, Done{})
	}
	s.ending.asked = nil
}

// stopping is the end of the actor. A client closes its session first; whoever
// does not must not leave terms behind that look valid and that nobody renews.
func (s *session) stopping(ctx actor.Context) {
	if s.machine.State() != Closed {
		s.shut(ctx)
	}
	s.flushWatches(ctx) // there will be no other flush
	s.hangUp(ctx)
}

// hangUp answers all who wait for something of this actor, which ends.
func (s *session) hangUp(ctx actor.Context) {
	s.refuseWaiting(ctx)
	for _, ref := range s.ending.asked {
		ctx.Send(ref, &ClosedError{})
	}
	s.ending.asked = nil
}
