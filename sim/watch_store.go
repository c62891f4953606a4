package sim

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/term"
)

// storeWatch keeps its own books of what the backend has said, so that it does not
// have to believe the backend.
type storeWatch struct {
	sessions map[string]*sessionBook
	leases   map[string]leaseBook
	removed  map[backend.Lease]bool // by hand
}

type sessionBook struct {
	expires actor.Instant // by the backend's clock
	closed  bool
	lost    bool // with the backend's data
}

// leaseBook is who was given a name last.
type leaseBook struct {
	session string // empty if it was given back
	token   uint64
}

func newStoreWatch() storeWatch {
	return storeWatch{sessions: make(map[string]*sessionBook), leases: make(map[string]leaseBook), removed: make(map[backend.Lease]bool)}
}

func (s *storeWatch) lost(id string) bool { return s.sessions[id] != nil && s.sessions[id].lost }

// living reports whether a session is alive by the books.
func (s *storeWatch) living(now actor.Instant, id string) bool {
	b := s.sessions[id]
	return b != nil && !b.closed && !b.lost && now.Before(b.expires)
}

// requested is told of a request that the backend is about to handle.
func (m *Monitor) requested(msg actor.Message) {
	r, ok := msg.(*backend.ReleaseRequest)
	if !ok {
		return
	}
	for _, l := range r.Leases {
		if id, token := m.cluster.Model.Recorded(l.Name); id != "" && (id != r.Session || token != l.Token) {
			m.Met[LateRelease]++
		}
	}
}

// answering is told of what the backend answers to the request that it handles,
// before that can be lost.
func (m *Monitor) answering(answer actor.Message) {
	switch a := answer.(type) {
	case *backend.OpenAnswer:
		if a.Err == nil {
			m.granted(a.Grant)
		}
	case *backend.RenewAnswer:
		if r, ok := m.msg.(*backend.RenewRequest); ok && a.Err == nil {
			m.extended(r.Session, a.Renewal)
		}
	case *backend.AcquireAnswer:
		if r, ok := m.msg.(*backend.AcquireRequest); ok && a.Err == nil {
			m.given(r.Session, a.Outcomes)
		}
	case *backend.ReleaseAnswer:
		if r, ok := m.msg.(*backend.ReleaseRequest); ok && a.Err == nil {
			m.givenBack(r)
		}
	case *backend.NoteAnswer:
		if r, ok := m.msg.(*backend.NoteRequest); ok && a.Err == nil && a.Held {
			m.noted(r, a.Note)
		}
	case *backend.CloseAnswer:
		if r, ok := m.msg.(*backend.CloseRequest); ok && a.Err == nil && m.store.sessions[r.Session] != nil {
			m.store.sessions[r.Session].closed = true
		}
	}
}

// granted: the id of a session is never used again.
func (m *Monitor) granted(g backend.Grant) {
	if m.store.sessions[g.Session] != nil {
		m.violate(UniqueSessions, "the backend opens session %s a second time", short(g.Session))
	}
	m.store.sessions[g.Session] = &sessionBook{expires: m.cluster.Store.Now().Add(g.Remaining)}
}

// extended: an expired session never renews.
func (m *Monitor) extended(id string, r backend.Renewal) {
	now := m.cluster.Store.Now()
	if !m.store.living(now, id) {
		m.violate(ExpiredIsFinal, "the backend renews session %s, which has ended", short(id))
		return
	}
	m.store.sessions[id].expires = now.Add(r.Remaining)
}

// given: an expired session never acquires, the tokens of a name grow, and nobody
// is given what a living session has.
func (m *Monitor) given(id string, outcomes []backend.Outcome) {
	now := m.cluster.Store.Now()
	if !m.store.living(now, id) {
		m.violate(ExpiredIsFinal, "the backend lets session %s acquire, which has ended", short(id))
	}
	for _, o := range outcomes {
		last := m.store.leases[o.Name]
		switch {
		case !o.Won:
			continue
		case o.Token == last.token && id == last.session:
			continue // asked again
		case o.Token <= last.token:
			m.violate(TokensGrow, "the backend's token of %q goes from %d to %d", o.Name, last.token, o.Token)
		case m.store.living(now, last.session):
			m.violate(OneValidTerm, "the backend gives %q with token %d away, whose owner with token %d lives", o.Name, o.Token, last.token)
		}
		m.store.leases[o.Name] = leaseBook{id, o.Token}
	}
}

// givenBack: a release frees the leases of its own session with its own tokens, and
// no others.
func (m *Monitor) givenBack(r *backend.ReleaseRequest) {
	for _, l := range r.Leases {
		if book := m.store.leases[l.Name]; book.session == r.Session && book.token == l.Token {
			m.store.leases[l.Name] = leaseBook{token: book.token}
		}
	}
	for _, l := range r.Leases {
		book := m.store.leases[l.Name]
		if id, _ := m.cluster.Model.Recorded(l.Name); m.store.living(m.cluster.Store.Now(), book.session) && id != book.session {
			m.violate(ReleaseOwnLease, "session %s releases %q with token %d, and frees token %d of session %s",
				short(r.Session), l.Name, l.Token, book.token, short(book.session))
		}
	}
}

// answerLost notes an answer that never arrives.
func (m *Monitor) answerLost(msg actor.Message) {
	if a, ok := msg.(*backend.AcquireAnswer); ok {
		for _, o := range a.Outcomes {
			if o.Won {
				m.Met[WinAnswerLost]++
			}
		}
	}
}

// lookAtStore: while a term is valid, the backend keeps its lease for it.
func (m *Monitor) lookAtStore() {
	for _, w := range m.order {
		m.deadlineFirst(w)
		if m.tooMany(w) {
			continue
		}
		for _, t := range w.terms {
			if t.forsaken || !t.valid() {
				continue
			}
			if id, token := m.cluster.Model.Recorded(t.term.Name()); id != t.term.Session() || token != t.token {
				m.violate(DeadlineFirst, "%s is valid for another %v, on %s, and the backend has token %d for session %s",
					termOf(t.term), term.Until(t.term).Sub(w.node.Now()), w.node, token, short(id))
			}
		}
	}
}

// leased reports whether the backend has the lease of a term, for a session that lives.
func (m *Monitor) leased(t *watched) bool {
	id, token := m.cluster.Model.Recorded(t.term.Name())
	if id != t.term.Session() || token != t.token {
		return false
	}
	expires, known := m.cluster.Model.Expires(id)
	return known && m.cluster.Store.Now().Before(expires)
}

// loseData is the end of all that the books say, but for the tokens.
func (m *Monitor) loseData() {
	for _, b := range m.store.sessions {
		b.lost = true
	}
	m.forsake(func(*watched) bool { return true })
	clear(m.ticks) // the notes are gone, too
	m.Met[DataLost]++
}

// removed is the end of what the books say of one name, but for its token.
func (m *Monitor) removed(name string) {
	token := m.store.leases[name].token
	m.store.leases[name] = leaseBook{token: token}
	m.store.removed[backend.Lease{Name: name, Token: token}] = true
	m.forsake(func(t *watched) bool { return t.term.Name() == name })
	m.Met[LeaseRemoved]++
}

// forsake marks the terms for which the backend does not stand any more.
func (m *Monitor) forsake(which func(*watched) bool) {
	for _, n := range m.names { //simba:unordered all of them
		for _, t := range n.terms {
			if !t.forsaken && which(t) {
				t.forsaken, t.lost = true, t.node.watch.renewals
			}
		}
	}
}
