package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
		s.opening.drop()
		s.openFailed(ctx, errNoAnswer)
	}
}

func (s *session) opened(ctx actor.Context, m *backend.OpenAnswer) {
	if m.ID != s.opening.id {
		if m.Err == nil {
			s.disown(ctx, m.Grant.Session)
		}
		return
	}
	sentAt := s.opening.sentAt
	s.opening.drop()
	// R8: the time that the answer took counts as well.
	at := s.bound.Deadline(sentAt, m.Grant.Remaining)
	switch {
	case m.Err != nil:
		s.openFailed(ctx, m.Err)
	case m.Grant.Session == "":
		s.openFailed(ctx, errors.New("simba: the backend granted a session without an id"))
	case at <= ctx.Now():
		s.disown(ctx, m.Grant.Session)
		s.openFailed(ctx, fmt.Errorf("simba: a session of %v was granted, which was over before it could be used", m.Grant.Remaining))
	default:
		s.begin(ctx, m.Grant, sentAt, at)
	}
}

// disown closes a session that this client will never renew. It is tried once:
// without a word, the session would just expire. A backend or a network that says
// things twice may say so of the current session.
func (s *session) disown(ctx actor.Context, id string) {
	if id != s.id {
		ctx.Send(s.Backend, &backend.CloseRequest{Call: s.newCall(ctx, s.Params.RenewInterval), Session: id})
	}
}

// openFailed tries again after an exponential back-off with jitter (R15).
func (s *session) openFailed(ctx actor.Context, err error) {
	delay := s.Params.backoff(ctx, s.tries)
	s.tries++
	s.lastErr = err
	s.Sink(observe.OpenFailed{Err: err, Retry: delay, Attempt: s.tries})
	s.publish()
	ctx.After(delay, openNow{})
}

// backoff returns a random pause after that many failures in a row before this
// one. Its upper end doubles from twice MinBackoff to RenewInterval. The lower end
// is half of that, so that a backend which has come back is not met by everybody at
// once, but never less than MinBackoff.
func (p Params) backoff(ctx actor.Context, failures int) time.Duration {
	upper := p.RenewInterval
	if shift := min(failures, 61) + 1; p.MinBackoff <= upper>>shift {
		upper = p.MinBackoff << shift
	}
	lower := max(p.MinBackoff, upper/2)
	return lower + time.Duration(ctx.Random(int64(upper-lower)+1))
}

// begin is the start of an incarnation.
func (s *session) begin(ctx actor.Context, g backend.Grant, sentAt, deadline actor.Instant) {
	s.step(ctx, Opened)
	s.id, s.deadline = g.Session, term.NewDeadline(s.Clock, deadline)
	s.tries++ // a failure as long as no renewal has succeeded
	s.renewals, s.revision, s.lastErr = 0, 0, nil
	s.firstID, s.shortened, s.doubtful = s.lastID+1, false, false
	s.Sink(observe.SessionOpened{Session: s.id, Remaining: s.deadline.Remaining()})
	s.adapt(g.Remaining)
	s.scheduleRenewal(ctx, sentAt.Add(s.interval).Sub(ctx.Now()))
	s.armDeadline(ctx)
	s.publish()
	for _, ref := range s.waiting {
		ctx.Send(ref, Done{})
	}
	s.waiting = nil
	s.beatAll(ctx)
}

// adapt makes the interval fit what the backend grants: two renewals must fit into
// the local validity, or three go into it (R49). They fit if there is time for one
// that is lost, for the pause after that, and for as long again for the answer to
// the next: one lost renewal must not cost a term. With a configured interval of
// nearly half the lease they may not fit from the start, and there is nothing to
// warn of: the backend has granted all that it was asked for.
func (s *session) adapt(granted time.Duration) {
	s.interval = s.Params.RenewInterval
	local := s.bound.Local(granted)
	if local-2*s.interval >= 2*s.leastPause() {
		return
	}
	s.interval = max(local/3, 1)
	if granted < s.Params.Lease && !s.shortened {
		s.shortened = true
		s.Sink(observe.SessionShortened{Session: s.id, Asked: s.Params.Lease, Granted: granted, Interval: s.interval})
	}
}

// leastPause is the least pause before a renewal is tried again. Half an interval
// leaves time for the answer before the deadline.
func (s *session) leastPause() time.Duration { return min(s.Params.MinBackoff, s.interval/2) }

func (s *session) scheduleRenewal(ctx actor.Context, d time.Duration) {
	if s.nextRenew != nil {
		s.nextRenew.Stop()
	}
	s.nextRenew = ctx.After(d, renewNow{})
}

// renew sends the one renewal of an interval. None is under way: the next one is
// scheduled when the last was answered or given up (R11).
func (s *session) renew(ctx actor.Context) {
	if s.id == "" {
		return // it is due, and so was the deadline: Receive has found that out first
	}
	c := s.newCall(ctx, s.interval)
	s.renewals++ // R24: what is installed from now on is beyond this one's judgement
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
		// R14: given up, answered before, or of another incarnation.
	case m.Err != nil:
		s.renewalFailed(ctx, m.Err)
	default:
		s.extend(ctx, m.Renewal)
	}
}

// took is how long the renewal has been under way, zero if it was given up.
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
	// R12: halving what remains leaves room for several tries before the deadline.
	s.scheduleRenewal(ctx, clamp(s.deadline.Remaining()/2, s.leastPause(), s.interval))
	s.publish()
}

func clamp(d, low, high time.Duration) time.Duration { return max(min(low, high), min(d, high)) }

// extend takes a renewal's answer in. The newest answer counts, even if it grants
// less than the one before (R13), for it is the newest that the backend acts by.
func (s *session) extend(ctx actor.Context, r backend.Renewal) {
	sentAt := s.renewing.sentAt
	s.Sink(observe.Renewed{Result: observe.Succeeded, Took: ctx.Now().Sub(sentAt)})
	s.renewing.drop()
	s.deadline.Extend(s.bound.Deadline(sentAt, r.Remaining))
	if s.checkDeadline(ctx) {
		return // somebody has seen it pass meanwhile, or the new one lies in the past
	}
	if s.machine.State() == Suspended {
		s.Sink(observe.SessionResumed{Session: s.id})
	}
	s.step(ctx, Renewed)
	s.tries, s.lastErr = 0, nil
	s.adapt(r.Remaining)
	s.scheduleRenewal(ctx, sentAt.Add(s.interval).Sub(ctx.Now()))
	s.armDeadline(ctx)
	if r.Complete {
		// At most one renewal is under way, so this was the last one that was sent.
		s.reconcile(ctx, r, s.renewals)
	}
	s.publish()
}

// armDeadline looks at the deadline when it is due, and again if it finds the
// timer early. Validity does not wait for that, those who wait for a term's end do.
func (s *session) armDeadline(ctx actor.Context) {
	if s.id == "" {
		return
	}
	at, _ := s.deadline.At()
	if s.atDeadline != nil {
		s.atDeadline.Stop()
	}
	s.atDeadline = ctx.After(at.Sub(ctx.Now()), deadlineNow{})
}

// checkDeadline ends the session if its deadline has passed, and reports that.
func (s *session) checkDeadline(ctx actor.Context) bool {
	if s.id == "" || !s.deadline.Passed() {
		return false
	}
	s.end(ctx, DeadlinePassed, term.DeadlinePassed)
	return true
}

// end is the involuntary end of an incarnation. A new one competes from the start
// (R2): at once, unless this one has never been renewed. A backend that grants
// sessions and does not know them afterwards would be asked without a pause.
func (s *session) end(ctx actor.Context, e Event, reason term.Reason) {
	s.retire(ctx, e, reason)
	if s.tries == 0 {
		s.open(ctx)
		return
	}
	ctx.After(s.Params.backoff(ctx, s.tries-1), openNow{})
}

// retire ends the incarnation and drops everything that belonged to it. First, no
// term is valid any more; then the snapshot shows it; then people are told.
func (s *session) retire(ctx actor.Context, e Event, reason term.Reason) {
	s.deadline.Latch()
	s.step(ctx, e)
	id := s.id
	s.id, s.deadline = "", nil
	s.publish()
	s.Sink(observe.SessionEnded{Session: id, Reason: reason})
	s.renewing.drop()
	s.nextRenew.Stop()
	s.atDeadline.Stop()
	s.endTerms(ctx, reason)
	s.dropReleases(ctx)
	s.groundFlights(ctx)
}

// endTerms ends all terms. An owner that has ended its term already is not told:
// its [Release] is on the way.
func (s *session) endTerms(ctx actor.Context, reason term.Reason) {
	for _, name := range sortedKeys(s.held) {
		h := s.held[name]
		if term.End(h.term, reason) {
			ctx.Send(h.owner.ref, Ended{Term: h.term, Reason: reason})
		}
	}
	clear(s.held)
}

// sortedKeys is for loops over maps whose order shows: the same world must always
// take the same course.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
