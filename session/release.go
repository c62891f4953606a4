package session

import (
	"cmp"
	"errors"
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
	failures int
	retrying bool

	// floors is the highest token that was released of a name. A floor is needed
	// as long as a call may be answered that was made before the backend confirmed
	// the release, and forgotten then.
	floors  map[string]uint64
	settled []settledFloor // in the order of lastID
}

type pendingRelease struct {
	owner *owner // told when it has settled; nil if nobody is
	term  *term.Term
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
	// The owner has ended the term. That the lease of a valid term is never
	// released must not depend on it.
	term.End(t, term.Stopped)
	h := s.held[t.Name()]
	if h == nil || h.term != t {
		// Its session or its lease is gone, and there is nothing to give back.
		if o := s.owners[t.Name()]; o != nil {
			ctx.Send(o.ref, Settled{Term: t})
		}
		return
	}
	delete(s.held, t.Name())
	s.queueRelease(ctx, backend.Lease{Name: t.Name(), Token: t.Token()}, h.owner, t)
	s.publish()
}

func (s *session) queueRelease(ctx actor.Context, l backend.Lease, o *owner, t *term.Term) {
	s.out.floors[l.Name] = max(s.out.floors[l.Name], l.Token)
	if s.out.pending[l] != nil {
		return
	}
	s.out.pending[l] = &pendingRelease{owner: o, term: t}
	s.out.names[l.Name]++
	s.out.queue = append(s.out.queue, l)
	s.flushSoon(ctx)
}

// releasing reports whether a release of one of the names is pending.
func (s *session) releasing(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s.out.names[name] > 0 })
}

func (s *session) flushReleases(ctx actor.Context) {
	if s.id == "" || s.out.sending.id != 0 || s.out.retrying || len(s.out.queue) == 0 {
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
	// Expired frees everything, and is for the next renewal to find out.
	if m.Err != nil && !errors.Is(m.Err, backend.ErrExpired) {
		s.releaseFailed(ctx, m.Err)
		return
	}
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
	s.out.queue = append(s.out.sent, s.out.queue...)
	s.out.sent = nil
	s.out.retrying = true
	ctx.After(s.Params.backoff(ctx, s.out.failures), releaseRetry{})
	s.out.failures++
}

func (s *session) retryReleases(ctx actor.Context) {
	s.out.retrying = false
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
	if p.owner != nil {
		ctx.Send(p.owner.ref, Settled{Term: p.term})
	}
	if o := s.owners[l.Name]; o != nil {
		s.enqueue(ctx, o)
	}
}

// forgetFloors drops the floors that no answer can fall below any more.
func (s *session) forgetFloors() {
	if len(s.out.settled) == 0 {
		return
	}
	oldest := s.lastID + 1
	for id := range s.calls {
		oldest = min(oldest, id)
	}
	n := 0
	for n < len(s.out.settled) && s.out.settled[n].lastID < oldest {
		if l := s.out.settled[n].lease; s.out.floors[l.Name] == l.Token {
			delete(s.out.floors, l.Name)
		}
		n++
	}
	s.out.settled = slices.Delete(s.out.settled, 0, n)
}

// dropReleases is the end of the incarnation: its leases end with it.
func (s *session) dropReleases(ctx actor.Context) {
	s.out.sending.drop()
	leases := make([]backend.Lease, 0, len(s.out.pending))
	for l := range s.out.pending {
		leases = append(leases, l)
	}
	slices.SortFunc(leases, func(a, b backend.Lease) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Token, b.Token))
	})
	for _, l := range leases {
		if p := s.out.pending[l]; p.owner != nil {
			ctx.Send(p.owner.ref, Settled{Term: p.term})
		}
	}
	retrying := s.out.retrying // its timer will still fire
	s.out = newReleases()
	s.out.retrying = retrying
}
