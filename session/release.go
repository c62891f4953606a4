package session

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// releases are the leases that this incarnation gives back. One call is under way
// at a time; what comes meanwhile travels in the next one.
type releases struct {
	pending  map[backend.Lease]*pendingRelease
	queue    []backend.Lease // of pending, those not under way
	names    map[string]int  // pending releases by name
	sending  call
	sent     []backend.Lease
	failures int         // of calls, in a row
	retry    actor.Timer // nil unless the last call failed

	// floors is the highest token that was released of a name (R28). A floor is
	// needed as long as a call may be answered that was made before the backend
	// confirmed the release; later calls are answered with a greater token (R19).
	// It is forgotten then, for there may be millions of names over time.
	floors  map[string]uint64
	settled []settledFloor // in the order of lastID
}

// pendingRelease says who is told when a release has settled.
type pendingRelease struct {
	owner *owner // nil if nobody is
	term  *term.Term
}

func (p *pendingRelease) settle(ctx actor.Context) {
	if p.owner != nil {
		ctx.Send(p.owner.ref, Settled{Term: p.term})
	}
}

// settledFloor belongs to a release that was confirmed when the session had made
// the calls up to lastID.
type settledFloor struct {
	lease  backend.Lease
	lastID uint64
}

type (
	releaseTimeout struct{ id uint64 }
	releaseRetry   struct{}
)

func newReleases() releases {
	return releases{
		pending: make(map[backend.Lease]*pendingRelease),
		names:   make(map[string]int),
		floors:  make(map[string]uint64),
	}
}

// release gives a term's lease back on behalf of its owner.
func (s *session) release(ctx actor.Context, t *term.Term) {
	// R23. The owner has ended the term. That the lease of a valid term is never
	// released must not depend on it.
	term.End(t, term.Stopped)
	l := backend.Lease{Name: t.Name(), Token: t.Token()}
	h, p, o := s.held[l.Name], s.out.pending[l], s.owners[l.Name]
	switch {
	case h != nil && h.term == t:
		delete(s.held, l.Name)
		s.queueRelease(ctx, l, &pendingRelease{owner: h.owner, term: t})
		s.publish()
	case p != nil && t.Session() == s.id:
		if p.owner == nil { // the lease is being given back for another reason
			p.owner, p.term = o, t
		}
	case o != nil:
		// Its session or its lease is gone, and there is nothing to give back.
		ctx.Send(o.ref, Settled{Term: t})
	}
}

// queueRelease gives a lease back behind which no term stands: it has ended and is
// not among those held any more (R23), or the lease never became one. From here on
// the floor keeps an answer that is under way from making it one.
func (s *session) queueRelease(ctx actor.Context, l backend.Lease, p *pendingRelease) {
	s.out.floors[l.Name] = max(s.out.floors[l.Name], l.Token)
	if s.out.pending[l] != nil {
		return
	}
	s.out.pending[l] = p
	s.out.names[l.Name]++
	s.out.queue = append(s.out.queue, l)
	s.flushSoon(ctx)
}

func (s *session) flushReleases(ctx actor.Context) {
	if s.id == "" || s.out.sending.id != 0 || s.out.retry != nil || len(s.out.queue) == 0 {
		return
	}
	n := min(len(s.out.queue), backend.MaxBatch)
	s.out.sent = slices.Clone(s.out.queue[:n])
	s.out.queue = slices.Delete(s.out.queue, 0, n)
	c := s.newCall(ctx, s.interval)
	s.out.sending = call{id: c.ID, sentAt: ctx.Now(), timeout: ctx.After(c.Timeout, releaseTimeout{c.ID})}
	ctx.Send(s.Backend, &backend.ReleaseRequest{Call: c, Session: s.id, Leases: s.out.sent})
}

func (s *session) releaseGivenUp(ctx actor.Context, id uint64) {
	s.released(ctx, &backend.ReleaseAnswer{ID: id, Err: errNoAnswer})
}

func (s *session) released(ctx actor.Context, m *backend.ReleaseAnswer) {
	if m.ID != s.out.sending.id {
		return // given up and sent again, or of another incarnation
	}
	s.out.sending.drop()
	s.Sink(observe.Released{Result: resultOf(m.Err), Leases: len(s.out.sent), Took: ctx.Now().Sub(s.out.sending.sentAt)})
	switch {
	case errors.Is(m.Err, backend.ErrExpired):
		s.end(ctx, Expired, term.SessionExpired) // R2; all of its leases are free
	case m.Err != nil:
		s.releaseFailed(ctx, m.Err)
	default:
		s.releaseDone(ctx)
	}
}

func (s *session) releaseDone(ctx actor.Context) {
	s.out.failures = 0
	for _, l := range s.out.sent {
		s.settle(ctx, l)
	}
	s.out.sent = nil
	s.forgetFloors()
	if len(s.out.queue) > 0 {
		s.flushSoon(ctx)
	}
}

// releaseFailed tries again, while the session lives: with the outcome unknown, a
// second release with the same token does no harm.
func (s *session) releaseFailed(ctx actor.Context, err error) {
	s.lastErr = err
	s.publish()
	s.out.queue = slices.Concat(s.out.sent, s.out.queue) // the request keeps what it was sent with
	s.out.sent = nil
	s.out.retry = ctx.After(s.Params.backoff(ctx, s.out.failures), releaseRetry{})
	s.out.failures++
}

func (s *session) retryReleases(ctx actor.Context) {
	s.out.retry = nil
	s.flushReleases(ctx)
}

// settle is the end of a release.
func (s *session) settle(ctx actor.Context, l backend.Lease) {
	p := s.out.pending[l]
	delete(s.out.pending, l)
	if s.out.names[l.Name]--; s.out.names[l.Name] == 0 {
		delete(s.out.names, l.Name)
	}
	s.out.settled = append(s.out.settled, settledFloor{lease: l, lastID: s.lastID})
	p.settle(ctx)
	if o := s.owners[l.Name]; o != nil {
		s.enqueue(ctx, o)
	}
}

// forgetFloors drops the floors that no answer can fall below any more: all calls
// from before the confirmation have been answered or forgotten.
func (s *session) forgetFloors() {
	if len(s.out.settled) == 0 {
		return
	}
	oldest := s.lastID + 1
	for id, a := range s.calls {
		if a.session == s.id {
			oldest = min(oldest, id)
		}
	}
	n := 0
	for n < len(s.out.settled) && s.out.settled[n].lastID < oldest {
		if l := s.out.settled[n].lease; s.out.floors[l.Name] == l.Token && s.out.pending[l] == nil {
			delete(s.out.floors, l.Name)
		}
		n++
	}
	if s.out.settled = slices.Delete(s.out.settled, 0, n); len(s.out.settled) == 0 {
		s.out.settled = nil
	}
}

// dropReleases is the end of the incarnation: its leases end with it.
func (s *session) dropReleases(ctx actor.Context) {
	s.out.sending.drop()
	if s.out.retry != nil {
		s.out.retry.Stop()
	}
	leases := slices.SortedFunc(maps.Keys(s.out.pending), func(a, b backend.Lease) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Token, b.Token))
	})
	for _, l := range leases {
		s.out.pending[l].settle(ctx)
	}
	s.out = newReleases()
}
