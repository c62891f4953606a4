package session

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/term"
)

// reconcile compares the complete list of the seq-th renewal with what the
// session believes.
func (s *session) reconcile(ctx actor.Context, r backend.Renewal, seq uint64) {
	s.revision = r.Revision
	s.doubtful = false
	listed := make(map[string]uint64, len(r.Leases))
	for _, l := range r.Leases {
		listed[l.Name] = l.Token
	}
	s.endMissing(ctx, listed, seq)
	for _, l := range r.Leases {
		if s.orphaned(l) {
			s.queueRelease(ctx, l, nil, nil)
		}
	}
}

// endMissing ends the terms whose leases are not listed. A term that began after
// the renewal was sent may be missing rightly: the list may be older than it.
func (s *session) endMissing(ctx actor.Context, listed map[string]uint64, seq uint64) {
	for _, name := range sortedKeys(s.held) {
		h := s.held[name]
		if h.since >= seq || listed[name] == h.term.Token() {
			continue
		}
		delete(s.held, name)
		if term.End(h.term, term.TakenOver) {
			ctx.Send(h.owner.ref, Ended{Term: h.term, Reason: term.TakenOver})
		}
	}
}

// orphaned reports whether a listed lease has nothing behind it: no term, no
// candidate that could still be told of it, no pending release. The answer that
// won it was lost.
func (s *session) orphaned(l backend.Lease) bool {
	if h := s.held[l.Name]; h != nil {
		return false // that very lease, or one which is newer than the list
	}
	if o := s.owners[l.Name]; o != nil && o.candidacy != 0 {
		return false // the next attempt is answered with it
	}
	return s.out.names[l.Name] == 0
}
