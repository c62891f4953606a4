package backendtest_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
)

// Rows is a driver as one would write it over a store with transactions: here, a
// transaction is a lock, and two maps are the tables.
type Rows struct {
	mu       sync.Mutex
	sessions map[string]sessionRow
	leases   map[string]leaseRow
}

type sessionRow struct {
	label    string
	lease    time.Duration
	expires  time.Time
	revision uint64
}

type leaseRow struct {
	session string // "" if nobody owns the lease; the row stays
	token   uint64
}

// alive is the rule that everything rests on: a session is dead for good from the
// moment at which somebody finds it expired. Every operation begins with it.
func (r *Rows) alive(session string) (sessionRow, bool) {
	row, ok := r.sessions[session]
	if ok && time.Now().Before(row.expires) { // the clock is read within the transaction
		return row, true
	}
	delete(r.sessions, session) // one write, however many leases it had
	return sessionRow{}, false
}

// Open implements backend.Driver.
func (r *Rows) Open(_ context.Context, lease time.Duration, label string) (backend.Grant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := rand.Text() // never used again
	r.sessions[id] = sessionRow{label: label, lease: lease, expires: time.Now().Add(lease), revision: 1}
	return backend.Grant{Session: id, Remaining: lease}, nil
}

// Renew implements backend.Driver.
func (r *Rows) Renew(_ context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, ok := r.alive(session)
	if !ok {
		return backend.Renewal{}, backend.ErrExpired
	}
	row.expires = time.Now().Add(row.lease)
	r.sessions[session] = row
	renewal := backend.Renewal{Remaining: row.lease, Revision: row.revision}
	if full || known != row.revision {
		renewal.Complete = true
		for name, l := range r.leases {
			if l.session == session {
				renewal.Leases = append(renewal.Leases, backend.Lease{Name: name, Token: l.token})
			}
		}
	}
	return renewal, nil
}

// Acquire implements backend.Driver.
func (r *Rows) Acquire(_ context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, ok := r.alive(session)
	if !ok {
		return nil, backend.ErrExpired
	}
	outcomes := make([]backend.Outcome, len(names))
	free := true
	for i, name := range names {
		h := r.holder(name)
		mine := h.Session == session
		outcomes[i] = backend.Outcome{Name: name, Won: mine}
		if mine {
			outcomes[i].Token = h.Token // the same as before
		} else {
			outcomes[i].Holder = h
		}
		free = free && (mine || !h.Held)
	}
	if all && !free {
		return outcomes, nil
	}
	for i, o := range outcomes {
		if o.Won || o.Holder.Held {
			continue
		}
		// Greater than the last one, and ahead of those that were lost with the data.
		token := max(r.leases[o.Name].token+1, uint64(time.Now().UnixMicro()))
		r.leases[o.Name] = leaseRow{session: session, token: token}
		outcomes[i] = backend.Outcome{Name: o.Name, Won: true, Token: token}
		row.revision++
	}
	r.sessions[session] = row
	return outcomes, nil
}

// Release implements backend.Driver.
func (r *Rows) Release(_ context.Context, session string, leases []backend.Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, ok := r.alive(session)
	if !ok {
		return nil // everything is free already
	}
	for _, l := range leases {
		if r.leases[l.Name] == (leaseRow{session: session, token: l.Token}) {
			r.leases[l.Name] = leaseRow{token: l.Token} // which keeps the last token
			row.revision++
		}
	}
	r.sessions[session] = row
	return nil
}

// CloseSession implements backend.Driver.
func (r *Rows) CloseSession(_ context.Context, session string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, session)
	return nil
}

// Inspect implements backend.Driver.
func (r *Rows) Inspect(_ context.Context, names []string) ([]backend.Holder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var holders []backend.Holder
	for _, name := range names {
		holders = append(holders, r.holder(name))
	}
	if len(names) == 0 {
		for name := range r.leases {
			if h := r.holder(name); h.Held {
				holders = append(holders, h)
			}
		}
		slices.SortFunc(holders, func(a, b backend.Holder) int { return strings.Compare(a.Name, b.Name) })
	}
	return holders, nil
}

func (r *Rows) holder(name string) backend.Holder {
	l := r.leases[name]
	row, ok := r.alive(l.session)
	if !ok {
		return backend.Holder{Name: name}
	}
	return backend.Holder{
		Name: name, Held: true, Session: l.session, Label: row.label,
		Token: l.token, Remaining: time.Until(row.expires),
	}
}

// A test of a driver needs no more than a way to open an empty store.
func TestRows(t *testing.T) {
	backendtest.Run(t, backendtest.Config{
		Lease: 200 * time.Millisecond,
		Open: func(testing.TB) backendtest.Store {
			return backendtest.Store{Driver: &Rows{
				sessions: make(map[string]sessionRow), leases: make(map[string]leaseRow),
			}}
		},
	})
}
