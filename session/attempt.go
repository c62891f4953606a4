package session

import (
	"errors"
	"fmt"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// maxFlights is how many attempts to acquire may be under way at once. While they
// are, others gather and travel in the next call.
const maxFlights = 4

// acquireCall is a call to acquire, until it is answered. One that was given up
// is kept for a while, because its answer may be a win that nobody wants.
type acquireCall struct {
	session string
	sentAt  actor.Instant
	timer   actor.Timer // to give it up and, after that, to forget it
	owners  []*owner    // on whose behalf it was made, in order
	names   int         // that it asks for
	flying  bool        // not given up
}

type (
	acquireTimeout   struct{ id uint64 }
	acquireForgotten struct{ id uint64 }
)

// flushAttempts sends those that are due, as far as there is room.
func (s *session) flushAttempts(ctx actor.Context) {
	for s.id != "" && len(s.due) > 0 && s.flights < maxFlights {
		if owners := s.takeDue(); len(owners) > 0 {
			s.sendAttempt(ctx, owners)
		}
	}
}

func (s *session) sendAttempt(ctx actor.Context, owners []*owner) {
	c := s.newCall(ctx, s.interval)
	a := &acquireCall{session: s.id, sentAt: ctx.Now(), owners: owners, flying: true}
	var names []string
	for _, o := range owners {
		o.call, o.tried, o.woken = c.ID, o.candidacy, false
		names = append(names, o.names...)
	}
	a.names = len(names)
	a.timer = ctx.After(c.Timeout, acquireTimeout{c.ID})
	s.calls[c.ID] = a
	s.flights++
	ctx.Send(s.Backend, &backend.AcquireRequest{Call: c, Session: s.id, Names: names, All: owners[0].set()})
}

// land ends a call's flight, and makes room for the next.
func (s *session) land(ctx actor.Context, a *acquireCall) {
	if a.flying {
		a.flying = false
		s.flights--
	}
	if len(s.due) > 0 {
		s.flushSoon(ctx)
	}
}

func (s *session) acquired(ctx actor.Context, m *backend.AcquireAnswer) {
	a := s.calls[m.ID]
	if a == nil {
		return // answered before, or forgotten: then a renewal's list tells
	}
	delete(s.calls, m.ID)
	a.timer.Stop()
	inTime := a.flying
	s.land(ctx, a)
	err := m.Err
	if err == nil && len(m.Outcomes) != a.names {
		err = fmt.Errorf("simba: the backend answered for %d of %d names", len(m.Outcomes), a.names)
	}
	if inTime {
		s.Sink(observe.Attempted{Result: resultOf(err), Names: a.names, Took: ctx.Now().Sub(a.sentAt)})
	}
	switch {
	case a.session != s.id:
		// R28: the deadline of the session that asked has passed.
		s.releaseForeign(ctx, a.session, m.Outcomes)
	case errors.Is(err, backend.ErrExpired):
		s.end(ctx, Expired, term.SessionExpired) // R2, whichever call brings the news
	case err != nil:
		s.attemptFailed(ctx, m.ID, a, err)
	default:
		s.judge(ctx, m.ID, a, m.Outcomes)
	}
	s.forgetFloors()
}

func resultOf(err error) observe.Result {
	switch {
	case err == nil:
		return observe.Succeeded
	case errors.Is(err, backend.ErrExpired):
		return observe.Expired
	}
	return observe.Unknown
}

// acquireGivenUp is for a call that was not answered in time (R11).
func (s *session) acquireGivenUp(ctx actor.Context, id uint64) {
	a := s.calls[id]
	if !a.flying {
		return // its session has just ended, and it with that
	}
	s.land(ctx, a)
	s.keepForAWhile(ctx, id, a)
	s.Sink(observe.Attempted{Result: observe.Unknown, Names: a.names, Took: ctx.Now().Sub(a.sentAt)})
	s.attemptFailed(ctx, id, a, errNoAnswer)
}

// keepForAWhile sets a limit to how long the answer to a call that is not under
// way any more is expected. One that comes later still is ignored.
func (s *session) keepForAWhile(ctx actor.Context, id uint64, a *acquireCall) {
	a.timer.Stop()
	a.timer = ctx.After(2*s.Params.Lease, acquireForgotten{id})
}

func (s *session) forgetCall(id uint64) {
	delete(s.calls, id)
	s.forgetFloors()
}

// attemptFailed is for a call whose outcome is unknown: the leases may be ours.
func (s *session) attemptFailed(ctx actor.Context, id uint64, a *acquireCall, err error) {
	s.doubtful = true
	s.lastErr = err
	s.publish()
	for _, o := range a.owners {
		switch {
		case o.current(id):
			s.lost(ctx, o, Lost{Candidacy: o.candidacy, Err: err})
		case o.call == id:
			s.abandoned(ctx, o)
		}
	}
}

// judge hands the outcomes of a call to those on whose behalf it was made.
func (s *session) judge(ctx actor.Context, id uint64, a *acquireCall, outcomes []backend.Outcome) {
	for _, o := range a.owners {
		n := len(o.names)
		mine := outcomes[:n]
		outcomes = outcomes[n:]
		if o.current(id) && s.wins(mine) {
			s.install(ctx, o, mine)
			continue
		}
		holders := s.giveBack(ctx, mine)
		switch {
		case o.current(id):
			s.lost(ctx, o, Lost{Candidacy: o.candidacy, Holders: holders})
		case o.call == id:
			s.abandoned(ctx, o)
		}
	}
}

// wins reports whether all outcomes are wins with tokens above those that this
// session has released (R28). An answer that was overtaken by the release of the
// very lease that it names would otherwise become a term without a lease.
func (s *session) wins(outcomes []backend.Outcome) bool {
	for _, out := range outcomes {
		if !out.Won || out.Token <= s.out.floors[out.Name] {
			return false
		}
	}
	return true
}

// install makes terms of a win.
func (s *session) install(ctx actor.Context, o *owner, outcomes []backend.Outcome) {
	won := Won{Candidacy: o.candidacy}
	for _, out := range outcomes {
		t := term.New(out.Name, s.id, out.Token, s.deadline)
		s.held[out.Name] = &held{term: t, owner: o, since: s.renewals}
		won.Terms = append(won.Terms, t)
	}
	o.candidacy, o.call, o.woken = 0, 0, false
	s.unwant(ctx, o)
	s.publish()
	ctx.Send(o.ref, won)
}

// giveBack releases what was won and does not become a term (R29), and returns who
// holds the rest.
func (s *session) giveBack(ctx actor.Context, outcomes []backend.Outcome) (holders []backend.Holder) {
	for _, out := range outcomes {
		h := s.held[out.Name]
		switch {
		case !out.Won:
			holders = append(holders, out.Holder)
		case h != nil && h.term.Token() == out.Token:
			// The answer to a later attempt has made it a term.
		default:
			s.queueRelease(ctx, backend.Lease{Name: out.Name, Token: out.Token}, &pendingRelease{})
		}
	}
	return holders
}

// releaseForeign gives back what a session won that has ended here meanwhile. It
// is tried once: the backend will let that session expire.
func (s *session) releaseForeign(ctx actor.Context, id string, outcomes []backend.Outcome) {
	var leases []backend.Lease
	for _, out := range outcomes {
		if out.Won {
			leases = append(leases, backend.Lease{Name: out.Name, Token: out.Token})
		}
	}
	if len(leases) > 0 {
		c := s.newCall(ctx, s.Params.RenewInterval)
		ctx.Send(s.Backend, &backend.ReleaseRequest{Call: c, Session: id, Leases: leases})
	}
}

// errSessionEnded is why an attempt failed whose session ended meanwhile.
var errSessionEnded = errors.New("simba: the session ended during the attempt")

// groundFlights is the end of the incarnation for those who contend. They go on
// with the next one.
func (s *session) groundFlights(ctx actor.Context) {
	s.dropDue()
	for _, id := range sortedKeys(s.calls) {
		if a := s.calls[id]; a.flying {
			a.flying = false
			s.keepForAWhile(ctx, id, a)
		}
	}
	s.flights = 0
	for _, name := range sortedKeys(s.owners) {
		if o := s.owners[name]; o.names[0] == name && o.call != 0 {
			current := o.current(o.call)
			o.call, o.woken = 0, false
			if current {
				ctx.Send(o.ref, Lost{Candidacy: o.candidacy, Err: errSessionEnded})
			}
		}
	}
}
