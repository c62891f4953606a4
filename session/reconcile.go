package session

import (
	"cmp"
	"slices"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/term"
)

// reconcile compares the complete list of the seq-th renewal with what the
// session believes.
func (s *session) reconcile(ctx actor.Context, r backend.Renewal, seq uint64) {
	s.revision = r.Revision
	s.doubtful = false
	s.endMissing(ctx, r.Leases, seq)
	for _, l := range r.Leases {
		s.checkOrphan(ctx, l)
	}
}

// endMissing ends the terms whose leases are not listed, or with another token
// (R24). A term that began after the renewal was sent may be missing rightly: the
// list may be older than it.
func (s *session) endMissing(ctx actor.Context, leases []backend.Lease, seq uint64) {
	listed := make(map[string]uint64, len(leases))
	for _, l := range leases {
		listed[l.Name] = l.Token
	}
	var missing []*held
	for name, h := range s.held { //simba:unordered what is missing is sorted below
		if h.since < seq && listed[name] != h.term.Token() {
			missing = append(missing, h)
			delete(s.held, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	s.publish()
	slices.SortFunc(missing, func(a, b *held) int { return cmp.Compare(a.term.Name(), b.term.Name()) })
	for _, h := range missing {
		if term.End(h.term, term.TakenOver) {
			ctx.Send(h.owner.ref, Ended{Term: h.term, Reason: term.TakenOver})
		}
		s.enqueue(ctx, h.owner) // should it contend already, it was held back by this term
	}
}

// checkOrphan is for a lease that may have nothing behind it, because the answer
// that won it was lost (R25).
func (s *session) checkOrphan(ctx actor.Context, l backend.Lease) {
	o := s.owners[l.Name]
	switch {
	case s.held[l.Name] != nil:
		// That very lease, or one which is newer than the list.
	case s.out.names[l.Name] > 0:
		// It is being released, or the next list tells.
	case o != nil && o.candidacy != 0:
		// Asked again, the backend answers with this lease (R30). If an attempt is
		// under way, that may be the answer.
		s.enqueue(ctx, o)
	default:
		s.queueRelease(ctx, l, &pendingRelease{})
	}
}
