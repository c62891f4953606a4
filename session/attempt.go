package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// maxFlights is how many attempts to acquire may be under way at once. While they
// are, others gather and travel in the next call.
const maxFlights = 4

// owner is an election or lock of this client.
type owner struct {
	ref       actor.Ref
	names     []string
	candidacy uint64 // 0 if the owner does not contend
	report    bool
	call      uint64 // the attempt under way, 0 if none
	queued    bool   // among those that are due
	woken     bool   // a name became free during the attempt
}

func (o *owner) idle() bool { return o.candidacy != 0 && o.call == 0 && !o.queued }

// acquireCall is a call to acquire, until it is answered. One that was given up
// is kept for a while, because its answer may be a win that nobody wants.
type acquireCall struct {
	session  string
	sentAt   actor.Instant
	timeout  actor.Timer
	entries  []entry
	flying   bool
	outcomes int // that the answer must have
}

// entry is what a call asked for on behalf of one owner.
type entry struct {
	owner     *owner
	candidacy uint64
}

type (
	beatNow        struct{}
	flushNow       struct{}
	acquireTimeout struct{ id uint64 }
)

func (s *session) join(m Join) actor.Message {
	if s.machine.State() == Closed {
		return &ClosedError{}
	}
	for _, name := range m.Names {
		if s.owners[name] != nil {
			return &InUseError{Name: name}
		}
	}
	o := &owner{ref: m.Owner, names: m.Names}
	for _, name := range m.Names {
		s.owners[name] = o
	}
	return Done{}
}

func (s *session) leave(ctx actor.Context, name string) {
	o := s.owners[name]
	if o == nil {
		return
	}
	s.withdraw(ctx, name)
	for _, name := range o.names {
		if h := s.held[name]; h != nil {
			s.release(ctx, h.term)
		}
		delete(s.owners, name)
	}
}

func (s *session) contend(ctx actor.Context, m Contend) {
	o := s.owners[m.Name]
	switch {
	case o == nil:
		return // it left
	case s.machine.State() == Closed:
		ctx.Send(o.ref, Lost{Candidacy: m.Candidacy, Err: &ClosedError{}})
		return
	}
	o.candidacy, o.report, o.woken = m.Candidacy, m.Report, false
	s.enqueue(ctx, o)
}

func (s *session) withdraw(ctx actor.Context, name string) {
	o := s.owners[name]
	if o == nil || o.candidacy == 0 {
		return
	}
	// The attempt may still be answered; its entry does not match any more then,
	// and what it won is released.
	o.candidacy, o.call, o.woken = 0, 0, false
	s.unwant(ctx, o)
}

// enqueue makes an idle candidate due, together with all that become so before
// the session has handled the messages that wait for it now.
func (s *session) enqueue(ctx actor.Context, o *owner) {
	if !o.idle() || s.id == "" {
		return // without a session, its start will make everybody due
	}
	o.queued = true
	s.due = append(s.due, o)
	s.flushSoon(ctx)
}

func (s *session) flushSoon(ctx actor.Context) {
	if !s.flushed {
		s.flushed = true
		ctx.After(0, flushNow{})
	}
}

// flush sends what has gathered.
func (s *session) flush(ctx actor.Context) {
	s.flushed = false
	s.flushWatches(ctx)
	s.flushReleases(ctx)
	s.flushAttempts(ctx)
}

// flushAttempts packs those that are due into calls: single names together, and
// each set that must be won as a whole by itself.
func (s *session) flushAttempts(ctx actor.Context) {
	if s.id == "" {
		s.due = clearQueued(s.due)
		return
	}
	var batch []*owner
	for len(s.due) > 0 && s.flights < maxFlights {
		o := s.due[0]
		s.due[0], s.due = nil, s.due[1:]
		o.queued = false
		switch {
		case o.candidacy == 0:
		case s.releasing(o.names):
			// The backend may still list the old lease as ours and answer with its
			// token. The release makes the candidate due when it has settled.
		case len(o.names) > 1:
			s.sendAttempt(ctx, []*owner{o})
		default:
			batch = append(batch, o)
			if len(batch) == backend.MaxBatch {
				s.sendAttempt(ctx, batch)
				batch = nil
			}
		}
	}
	if len(batch) > 0 {
		s.sendAttempt(ctx, batch)
	}
}

func clearQueued(due []*owner) []*owner {
	for _, o := range due {
		o.queued = false
	}
	return nil
}

func (s *session) sendAttempt(ctx actor.Context, owners []*owner) {
	c := s.newCall(ctx, s.interval)
	a := &acquireCall{session: s.id, sentAt: ctx.Now(), flying: true}
	var names []string
	for _, o := range owners {
		o.call, o.woken = c.ID, false
		a.entries = append(a.entries, entry{o, o.candidacy})
		names = append(names, o.names...)
	}
	a.outcomes = len(names)
	a.timeout = ctx.After(c.Timeout, acquireTimeout{c.ID})
	s.calls[c.ID] = a
	s.flights++
	all := len(owners) == 1 && len(owners[0].names) > 1
	ctx.Send(s.Backend, &backend.AcquireRequest{Call: c, Session: s.id, Names: names, All: all})
}

// land ends a call's flight, and makes room for the next.
func (s *session) land(ctx actor.Context, a *acquireCall) {
	if a.flying {
		a.flying = false
		a.timeout.Stop()
		s.flights--
	}
	if len(s.due) > 0 {
		s.flushSoon(ctx)
	}
}

func (s *session) acquired(ctx actor.Context, m *backend.AcquireAnswer) {
	a := s.calls[m.ID]
	if a == nil {
		return // too late even for the list of late ones; the next renewal's list tells
	}
	delete(s.calls, m.ID)
	inTime := a.flying
	s.land(ctx, a)
	if m.Err == nil && len(m.Outcomes) != a.outcomes {
		m.Err = fmt.Errorf("simba: the backend answered for %d of %d names", len(m.Outcomes), a.outcomes)
	}
	if inTime {
		s.Sink(observe.Attempted{Result: resultOf(m.Err), Names: a.outcomes, Took: ctx.Now().Sub(a.sentAt)})
	}
	switch {
	case a.session != s.id:
		s.releaseForeign(ctx, a.session, m.Outcomes)
	case errors.Is(m.Err, backend.ErrExpired):
		s.end(ctx, Expired, term.SessionExpired)
	case m.Err != nil:
		s.attemptFailed(ctx, m.ID, a, m.Err)
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

func (s *session) acquireGivenUp(ctx actor.Context, id uint64) {
	a := s.calls[id]
	if a == nil || !a.flying {
		return
	}
	s.land(ctx, a)
	s.Sink(observe.Attempted{Result: observe.Unknown, Names: a.outcomes, Took: ctx.Now().Sub(a.sentAt)})
	s.attemptFailed(ctx, id, a, errNoAnswer)
}

// attemptFailed is for a call whose outcome is unknown: the leases may be ours.
func (s *session) attemptFailed(ctx actor.Context, id uint64, a *acquireCall, err error) {
	s.doubtful = true
	s.lastErr = err
	s.publish()
	for _, e := range a.entries {
		if e.owner.call == id {
			s.lost(ctx, e.owner, Lost{Candidacy: e.candidacy, Err: err})
		}
	}
}

// lost leaves a candidate waiting, for the next beat or, if one of its names
// became free during the attempt, for nothing.
func (s *session) lost(ctx actor.Context, o *owner, m Lost) {
	o.call = 0
	if o.report || m.Err != nil {
		ctx.Send(o.ref, m)
	}
	s.want(ctx, o)
	if o.woken {
		s.enqueue(ctx, o)
		return
	}
	s.armBeat(ctx)
}

// judge hands the outcomes of a call to those on whose behalf it was made.
func (s *session) judge(ctx actor.Context, id uint64, a *acquireCall, outcomes []backend.Outcome) {
	for _, e := range a.entries {
		n := len(e.owner.names)
		mine := outcomes[:n]
		outcomes = outcomes[n:]
		current := e.owner.call == id && e.owner.candidacy == e.candidacy
		if current && s.wins(mine) {
			s.install(ctx, e.owner, mine)
			continue
		}
		// Whatever was won and does not become a term is given back.
		holders := make([]backend.Holder, 0, n)
		for _, o := range mine {
			if o.Won {
				s.unwanted(ctx, o.Name, o.Token)
			} else {
				holders = append(holders, o.Holder)
			}
		}
		if current {
			s.lost(ctx, e.owner, Lost{Candidacy: e.candidacy, Holders: holders})
		}
	}
}

// wins reports whether all outcomes are wins with tokens that this session has
// not released. An answer that was overtaken by the release of the very lease
// that it names would otherwise become a term without a lease.
func (s *session) wins(outcomes []backend.Outcome) bool {
	for _, o := range outcomes {
		if !o.Won || o.Token <= s.out.floors[o.Name] {
			return false
		}
	}
	return true
}

// install makes terms of a win. They are shown to nobody before the owner is.
func (s *session) install(ctx actor.Context, o *owner, outcomes []backend.Outcome) {
	won := Won{Candidacy: o.candidacy}
	for _, out := range outcomes {
		t := term.New(out.Name, s.id, out.Token, s.deadline)
		s.held[out.Name] = &held{term: t, owner: o, since: s.renewals}
		won.Terms = append(won.Terms, t)
	}
	o.candidacy, o.call, o.woken = 0, 0, false
	s.unwant(ctx, o)
	ctx.Send(o.ref, won)
	s.publish()
}

// unwanted gives a lease back that no term stands for.
func (s *session) unwanted(ctx actor.Context, name string, token uint64) {
	if h := s.held[name]; h != nil && h.term.Token() == token {
		return // a later answer has made it a term
	}
	s.queueRelease(ctx, backend.Lease{Name: name, Token: token}, nil, nil)
}

// releaseForeign gives back what a session won that has ended here meanwhile. It
// is tried once: the backend will let that session expire.
func (s *session) releaseForeign(ctx actor.Context, id string, outcomes []backend.Outcome) {
	var leases []backend.Lease
	for _, o := range outcomes {
		if o.Won {
			leases = append(leases, backend.Lease{Name: o.Name, Token: o.Token})
		}
	}
	if len(leases) > 0 {
		c := s.newCall(ctx, s.Params.RenewInterval)
		ctx.Send(s.Backend, &backend.ReleaseRequest{Call: c, Session: id, Leases: leases})
	}
}

// groundFlights is the end of the incarnation for those who contend. They go on
// with the next one.
func (s *session) groundFlights(ctx actor.Context) {
	s.due = clearQueued(s.due)
	for _, a := range s.calls {
		if a.flying {
			a.flying = false
			a.timeout.Stop()
		}
	}
	s.flights = 0
	for _, name := range sortedKeys(s.owners) {
		if o := s.owners[name]; o.names[0] == name && o.call != 0 {
			o.call, o.woken = 0, false
			ctx.Send(o.ref, Lost{Candidacy: o.candidacy, Err: errSessionEnded})
		}
	}
}

// errSessionEnded is why an attempt failed whose session ended meanwhile.
var errSessionEnded = errors.New("simba: the session ended during the attempt")

// armBeat schedules the next regular attempt of everybody who waits.
func (s *session) armBeat(ctx actor.Context) {
	if s.beat != nil {
		return
	}
	jitter := time.Duration(0)
	if s.Params.RetryJitter > 0 {
		jitter = time.Duration(ctx.Random(int64(s.Params.RetryJitter)))
	}
	s.beat = ctx.After(s.Params.RenewInterval/2+jitter, beatNow{})
}

// beatAll makes every waiting candidate due, in the order of names so that the
// same world always takes the same course.
func (s *session) beatAll(ctx actor.Context) {
	if s.beat != nil {
		s.beat.Stop()
		s.beat = nil
	}
	s.forgetCalls(ctx)
	for _, name := range sortedKeys(s.owners) {
		s.enqueue(ctx, s.owners[name])
	}
}

// forgetCalls drops the calls that were given up long ago. An answer that comes
// later still is ignored, and what it won shows up in the next renewal's list.
func (s *session) forgetCalls(ctx actor.Context) {
	for id, a := range s.calls {
		if !a.flying && ctx.Now().Sub(a.sentAt) > 2*s.Params.Lease {
			delete(s.calls, id)
		}
	}
}
