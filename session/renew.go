package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// errNoAnswer is why a call that was given up has failed.
var errNoAnswer = errors.New("simba: the backend did not answer in time")

// fullEvery is how often a session with many leases compares the whole list: the
// revision does not tell when somebody removes a lease by hand. Sessions with up
// to fullBelow leases compare it every time.
const (
	fullEvery = 8
	fullBelow = 256
)

// open asks the backend for a new incarnation.
func (s *session) open(ctx actor.Context) {
	if s.machine.State() != Opening || s.opening.id != 0 {
		return
	}
	c := s.newCall(ctx, s.Params.RenewInterval)
	s.opening = call{id: c.ID, sentAt: ctx.Now(), timeout: ctx.After(c.Timeout, openTimeout{c.ID})}
	ctx.Send(s.Backend, &backend.OpenRequest{Call: c, Lease: s.Params.Lease, Label: s.Label})
}

func (s *session) openGivenUp(ctx actor.Context, id uint64) {
	if s.opening.id == id {
		s.opening.id = 0
		s.openFailed(ctx, errNoAnswer)
	}
}

func (s *session) opened(ctx actor.Context, m *backend.OpenAnswer) {
	if m.ID != s.opening.id || s.machine.State() != Opening {
		if m.Err == nil {
			// Nobody will renew this one. Without a word it would just expire.
			ctx.Send(s.Backend, &backend.CloseRequest{Call: s.newCall(ctx, s.Params.RenewInterval), Session: m.Grant.Session})
		}
		return
	}
	sentAt := s.opening.sentAt
	s.opening.drop()
	if m.Err != nil {
		s.openFailed(ctx, m.Err)
		return
	}
	at := s.bound.Deadline(sentAt, m.Grant.Remaining)
	if at <= ctx.Now() {
		s.openFailed(ctx, fmt.Errorf("simba: a session of %v was granted, which was over before the answer arrived", m.Grant.Remaining))
		return
	}
	s.begin(ctx, m.Grant, sentAt, at)
}

// openFailed tries again after an exponential back-off with jitter.
func (s *session) openFailed(ctx actor.Context, err error) {
	delay := s.Params.backoff(ctx, s.tries)
	s.tries++
	s.lastErr = err
	s.Sink(observe.OpenFailed{Err: err, Retry: delay, Attempt: s.tries})
	s.publish()
	ctx.After(delay, openNow{})
}

// backoff returns a random pause whose upper end doubles with each failure, from
// MinBackoff to RenewInterval. The lower end is half of that, so that a backend
// which has come back is not met by everybody at once.
func (p Params) backoff(ctx actor.Context, failures int) time.Duration {
	upper := p.RenewInterval
	if shift := uint(min(failures, 62)); p.MinBackoff <= upper>>shift {
		upper = p.MinBackoff << shift
	}
	return upper/2 + time.Duration(ctx.Random(int64(upper-upper/2)+1))
}

// begin is the start of an incarnation.
func (s *session) begin(ctx actor.Context, g backend.Grant, sentAt, deadline actor.Instant) {
	s.step(ctx, Opened)
	s.id, s.deadline = g.Session, term.NewDeadline(s.Clock, deadline)
	s.tries, s.renewals, s.revision, s.lastErr = 0, 0, 0, nil
	s.firstID, s.shortened, s.doubtful = s.lastID+1, false, false
	s.Sink(observe.SessionOpened{Session: s.id, Remaining: s.deadline.Remaining()})
	s.adapt(g.Remaining)
	s.scheduleRenewal(ctx, sentAt.Add(s.interval).Sub(ctx.Now()))
	s.armDeadline(ctx, s.id)
	s.publish()
	for _, ref := range s.waiting {
		ctx.Send(ref, Done{})
	}
	s.waiting = nil
	s.beatAll(ctx)
}

// adapt makes the interval fit what the backend grants: two renewals must fit
// into the local validity, or three go into it.
func (s *session) adapt(granted time.Duration) {
	s.interval = s.Params.RenewInterval
	local := s.bound.Local(granted)
	if local/2 >= s.interval || local <= 0 {
		return
	}
	s.interval = max(local/3, 1)
	if !s.shortened {
		s.shortened = true
		s.Sink(observe.SessionShortened{Session: s.id, Asked: s.Params.Lease, Granted: granted, Interval: s.interval})
	}
}

func (s *session) scheduleRenewal(ctx actor.Context, d time.Duration) {
	if s.nextRenew != nil {
		s.nextRenew.Stop()
	}
	s.nextRenew = ctx.After(d, renewNow{s.id})
}

// renew sends the one renewal of an interval.
func (s *session) renew(ctx actor.Context, id string) {
	if id != s.id || s.id == "" || s.renewing.id != 0 {
		return
	}
	c := s.newCall(ctx, s.interval)
	s.renewals++
	s.renewing = call{id: c.ID, sentAt: ctx.Now(), timeout: ctx.After(c.Timeout, renewTimeout{c.ID})}
	full := s.doubtful || len(s.held) <= fullBelow || s.renewals%fullEvery == 0
	ctx.Send(s.Backend, &backend.RenewRequest{Call: c, Session: s.id, Known: s.revision, Full: full})
}

func (s *session) renewGivenUp(ctx actor.Context, id uint64) {
	if s.renewing.id == id {
		s.renewalFailed(ctx, errNoAnswer)
	}
}

func (s *session) renewed(ctx actor.Context, m *backend.RenewAnswer) {
	current := s.id != "" && m.ID >= s.firstID
	switch {
	case current && errors.Is(m.Err, backend.ErrExpired):
		// Also from a renewal that was given up: expired is final.
		s.Sink(observe.Renewed{Result: observe.Expired, Took: s.took(ctx, m.ID)})
		s.end(ctx, Expired, term.SessionExpired)
	case m.ID != s.renewing.id:
		// Given up, or of another incarnation. It must not move the deadline: a
		// later renewal may have failed since.
	case m.Err != nil:
		s.renewalFailed(ctx, m.Err)
	default:
		s.extend(ctx, m.Renewal)
	}
}

// took is how long the current renewal has been under way.
func (s *session) took(ctx actor.Context, id uint64) time.Duration {
	if s.renewing.id != id {
		return 0
	}
	return ctx.Now().Sub(s.renewing.sentAt)
}

func (s *session) renewalFailed(ctx actor.Context, err error) {
	s.Sink(observe.Renewed{Result: observe.Unknown, Took: s.took(ctx, s.renewing.id)})
	s.renewing.drop()
	s.lastErr = err
	s.doubtful = true
	if s.machine.State() == Live {
		s.Sink(observe.SessionSuspended{Session: s.id, Err: err})
	}
	s.step(ctx, RenewalFailed)
	s.scheduleRenewal(ctx, clamp(s.deadline.Remaining()/2, s.Params.MinBackoff, s.interval))
	s.publish()
}

func clamp(d, low, high time.Duration) time.Duration { return max(min(low, high), min(d, high)) }

// extend takes a renewal's answer in. The newest answer counts, even if it grants
// less than the one before.
func (s *session) extend(ctx actor.Context, r backend.Renewal) {
	sentAt, seq := s.renewing.sentAt, s.renewals
	s.Sink(observe.Renewed{Result: observe.Succeeded, Took: ctx.Now().Sub(sentAt)})
	s.renewing.drop()
	s.deadline.Extend(s.bound.Deadline(sentAt, r.Remaining))
	if s.checkDeadline(ctx) {
		return // the deadline had passed, or the new one lies in the past
	}
	if s.machine.State() == Suspended {
		s.Sink(observe.SessionResumed{Session: s.id})
	}
	s.step(ctx, Renewed)
	s.lastErr = nil
	s.adapt(r.Remaining)
	s.scheduleRenewal(ctx, sentAt.Add(s.interval).Sub(ctx.Now()))
	s.armDeadline(ctx, s.id)
	if r.Complete {
		s.reconcile(ctx, r, seq)
	}
	s.publish()
}

// armDeadline looks at the deadline when it is due. One timer is enough: it finds
// out by itself that the deadline has moved.
func (s *session) armDeadline(ctx actor.Context, id string) {
	if id != s.id || s.id == "" {
		return
	}
	at, _ := s.deadline.At()
	if s.atDeadline != nil {
		s.atDeadline.Stop()
	}
	s.atDeadline = ctx.After(at.Sub(ctx.Now()), deadlineNow{s.id})
}

// checkDeadline ends the session if its deadline has passed, and reports that.
func (s *session) checkDeadline(ctx actor.Context) bool {
	if s.id == "" || !s.deadline.Passed() {
		return false
	}
	s.end(ctx, DeadlinePassed, term.DeadlinePassed)
	return true
}

// end is the involuntary end of an incarnation. The terms are over before anybody
// is told, and a new incarnation competes from the start.
func (s *session) end(ctx actor.Context, e Event, reason term.Reason) {
	s.step(ctx, e)
	s.Sink(observe.SessionEnded{Session: s.id, Reason: reason})
	s.forget(ctx, reason)
	s.publish()
	s.open(ctx)
}

// forget drops everything that belonged to the incarnation.
func (s *session) forget(ctx actor.Context, reason term.Reason) {
	s.deadline.Latch()
	s.id, s.deadline = "", nil
	s.renewing.drop()
	s.nextRenew.Stop()
	s.atDeadline.Stop()
	for _, name := range sortedKeys(s.held) {
		h := s.held[name]
		if term.End(h.term, reason) {
			ctx.Send(h.owner.ref, Ended{Term: h.term, Reason: reason})
		}
	}
	clear(s.held)
	s.dropReleases(ctx)
	s.groundFlights(ctx)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
