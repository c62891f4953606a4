package memory

import (
	"maps"
	"slices"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Acquire tries to take each name by itself or, with all, all or none.
func (m *Model) Acquire(now actor.Instant, id string, names []string, all bool) ([]backend.Outcome, error) {
	s := m.session(now, id)
	if s == nil {
		return nil, backend.ErrExpired
	}
	outcomes := make([]backend.Outcome, len(names))
	take := true
	for i, name := range names {
		outcomes[i].Name = name
		holder := m.holder(now, name)
		switch {
		case holder.Session == s.id: // R30: the same token as before
			outcomes[i].Won, outcomes[i].Token = true, holder.Token
		case holder.Held:
			outcomes[i].Holder = holder
			take = take && !all
		default:
			outcomes[i].Holder = holder
		}
	}
	if !take {
		return outcomes, nil
	}
	for i := range outcomes {
		if o := &outcomes[i]; !o.Won && !o.Holder.Held {
			*o = backend.Outcome{Name: o.Name, Won: true, Token: m.take(now, s, o.Name)}
		}
	}
	return outcomes, nil
}

// take makes s the owner of a lease that no living session has, or that s has.
func (m *Model) take(now actor.Instant, s *session, name string) (token uint64) {
	r := m.leases[name]
	switch {
	case r == nil:
		r = &record{}
		m.leases[name] = r
	case r.owner == s:
		return r.token // twice in one request
	}
	// R19: greater than before whatever happened to the lease since, and ahead of
	// everything handed out before the data were lost.
	r.token++
	if m.config.Wall != nil {
		r.token = max(r.token, m.config.Wall(now))
	}
	r.owner = s
	s.leases[name] = r.token
	s.revision++
	return r.token
}

// Release frees those of the leases that the session owns with just this token
// (R23), and returns the names that became vacant by that.
func (m *Model) Release(now actor.Instant, id string, leases []backend.Lease) (vacated []string) {
	s := m.session(now, id)
	if s == nil {
		return nil // all of its leases are free already
	}
	for _, l := range leases {
		if token, ok := s.leases[l.Name]; !ok || token != l.Token {
			continue
		}
		m.leases[l.Name].owner = nil // the record stays: it knows the last token
		delete(s.leases, l.Name)
		s.revision++
		vacated = append(vacated, l.Name)
	}
	return vacated
}

// Inspect returns a holder for each name, or for no names, one for each lease that
// is held, in the order of names.
func (m *Model) Inspect(now actor.Instant, names []string) []backend.Holder {
	if len(names) > 0 {
		holders := make([]backend.Holder, len(names))
		for i, name := range names {
			holders[i] = m.holder(now, name)
		}
		return holders
	}
	var holders []backend.Holder
	for _, name := range slices.Sorted(maps.Keys(m.leases)) {
		if h := m.holder(now, name); h.Held {
			holders = append(holders, h)
		}
	}
	return holders
}

// Vacant returns those of the names that nobody owns, and the first instant at
// which one of the others becomes vacant unless its owner's session is renewed:
// [actor.MaxInstant] if there are no others.
func (m *Model) Vacant(now actor.Instant, names []string) (vacant []string, next actor.Instant) {
	next = actor.MaxInstant
	for _, name := range names {
		if owner := m.owner(now, name); owner == nil {
			vacant = append(vacant, name)
		} else {
			next = min(next, owner.expires)
		}
	}
	return vacant, next
}

// owner returns the living session that owns name, or nil.
func (m *Model) owner(now actor.Instant, name string) *session {
	r := m.leases[name]
	if r == nil || r.owner == nil || !m.alive(now, r.owner) {
		return nil
	}
	return r.owner
}

// Recorded returns what the record of name says: whose it is, and with which
// token. It only looks: the session may have expired.
func (m *Model) Recorded(name string) (session string, token uint64) {
	r := m.leases[name]
	switch {
	case r == nil:
		return "", 0
	case r.owner == nil || r.owner.dead:
		return "", r.token
	}
	return r.owner.id, r.token
}

// Remove takes the lease of name from whoever has it, like somebody who deletes the
// record's owner by hand. The last token stays.
func (m *Model) Remove(name string) {
	if r := m.leases[name]; r != nil && r.owner != nil {
		delete(r.owner.leases, name)
		r.owner = nil
	}
}

func (m *Model) holder(now actor.Instant, name string) backend.Holder {
	s := m.owner(now, name)
	if s == nil {
		return backend.Holder{Name: name}
	}
	return backend.Holder{
		Name: name, Held: true, Session: s.id, Label: s.label,
		Token: m.leases[name].token, Remaining: s.expires.Sub(now),
	}
}
