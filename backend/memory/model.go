// Package memory is the reference backend: what every other backend must behave
// like.
//
// [Model] is a pure state machine over an explicit clock. It comes in two coats:
// [Store] is a thread-safe store for one process, for tests and for programs whose
// contenders are all in that process, and [NewActor] is an arbiter that reaches
// time and randomness through its actor's context only, for a deterministic
// simulation. The conformance suite of package backendtest compares other stores
// with the model.
package memory

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Config configures a [Model]. The zero value is ready to use.
type Config struct {
	// MaxLease is the longest lease that is granted; zero means no limit. A
	// session that asks for more is granted this.
	MaxLease time.Duration
	// Wall returns the wall clock in microseconds since 1970, as a function of
	// the model's time. It is the least value of a new token, so that tokens stay
	// ahead even after everything was lost. Nil means that they count from 1.
	Wall func(now actor.Instant) uint64
}

// Model is the reference state machine. It has no clock: each method is told the
// time, which must not go back. It is not safe for concurrent use.
//
// A lease is its record (token, owner), and it is good if and only if its owner's
// session is alive. Ending a session, also by expiry, is therefore one write,
// however many leases it has. Their records are overwritten when somebody takes
// the name, and never deleted, because they hold the last token of the name.
type Model struct {
	config   Config
	sessions map[string]*session // the living, and those whose death nobody has noticed yet
	leases   map[string]*record
	notes    map[string]backend.Note
	sweepAt  int // the number of sessions at which to look for dead ones
}

type session struct {
	id, label string
	lease     time.Duration
	expires   actor.Instant     // dead from this instant on
	dead      bool              // for good
	revision  uint64            // changes with leases
	leases    map[string]uint64 // name to token; nil once dead
}

type record struct {
	token uint64   // the last one, also when nobody owns the lease
	owner *session // nil, or maybe dead
}

// minSweep is the number of sessions below which looking for dead ones is not
// worth it.
const minSweep = 64

// NewModel returns a model without sessions and leases.
func NewModel(c Config) *Model {
	m := &Model{config: c}
	m.Reset()
	return m
}

// Reset forgets everything, the tokens included, like a server that was restarted
// without its data. Sessions from before have expired, but their clients believe
// in them until their deadlines: what keeps one owner at a time is not there
// until the longest lease has passed.
func (m *Model) Reset() {
	m.sessions = make(map[string]*session)
	m.leases = make(map[string]*record)
	m.notes = make(map[string]backend.Note)
	m.sweepAt = minSweep
}

// Open begins a session with an id that was never used before.
func (m *Model) Open(now actor.Instant, id string, lease time.Duration, label string) (backend.Grant, error) {
	if lease <= 0 {
		return backend.Grant{}, fmt.Errorf("simba: the lease %v of a session must be above zero", lease)
	}
	if _, used := m.sessions[id]; used {
		return backend.Grant{}, fmt.Errorf("simba: the session id %q is in use", id)
	}
	m.sweep(now)
	if m.config.MaxLease > 0 {
		lease = min(lease, m.config.MaxLease)
	}
	m.sessions[id] = &session{
		id: id, label: label, lease: lease, expires: now.Add(lease),
		revision: 1, leases: make(map[string]uint64),
	}
	return backend.Grant{Session: id, Remaining: lease}, nil
}

// Renew lets a session live for its lease from now on.
func (m *Model) Renew(now actor.Instant, id string, known uint64, full bool) (backend.Renewal, error) {
	s := m.session(now, id)
	if s == nil {
		return backend.Renewal{}, backend.ErrExpired // R2: there is no way back
	}
	s.expires = now.Add(s.lease)
	r := backend.Renewal{Remaining: s.lease, Revision: s.revision}
	if full || known != s.revision {
		r.Complete = true
		r.Leases = make([]backend.Lease, 0, len(s.leases))
		for _, name := range slices.Sorted(maps.Keys(s.leases)) {
			r.Leases = append(r.Leases, backend.Lease{Name: name, Token: s.leases[name]})
		}
	}
	return r, nil
}

// Close ends a session and returns the names that became vacant by that, in order.
func (m *Model) Close(now actor.Instant, id string) (vacated iter.Seq[string]) {
	s := m.session(now, id)
	if s == nil {
		return func(func(string) bool) {}
	}
	leases := s.leases
	m.end(s)
	return func(yield func(string) bool) { // sorted only if somebody wants to know
		slices.Values(slices.Sorted(maps.Keys(leases)))(yield)
	}
}

// Expires returns when a session expires unless it is renewed, and whether the
// model knows it. It only looks: one whose time is over may still be there.
func (m *Model) Expires(id string) (at actor.Instant, known bool) {
	s := m.sessions[id]
	if s == nil {
		return 0, false
	}
	return s.expires, true
}

// session returns the living session with this id, or nil.
func (m *Model) session(now actor.Instant, id string) *session {
	if s := m.sessions[id]; s != nil && m.alive(now, s) {
		return s
	}
	return nil
}

// alive judges a session, and this is the only place where one expires. Its death
// is written down before anything follows from it, so it does not depend on what
// the clock says later.
func (m *Model) alive(now actor.Instant, s *session) bool {
	if !s.dead && !now.Before(s.expires) {
		m.end(s)
	}
	return !s.dead
}

func (m *Model) end(s *session) {
	s.dead = true
	s.leases = nil
	delete(m.sessions, s.id)
}

// sweep forgets dead sessions that nobody asks about, at a cost that is constant
// for each session opened.
func (m *Model) sweep(now actor.Instant) {
	if len(m.sessions) < m.sweepAt {
		return
	}
	for _, s := range m.sessions { //simba:unordered each is judged by itself
		m.alive(now, s) // which forgets it
	}
	m.sweepAt = max(minSweep, 2*len(m.sessions))
}
