package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// session is a row of the table of that name.
type session struct {
	id, label string
	lease     time.Duration
	deadline  actor.Instant
	revision  int64
}

// slack is by how much a deadline may be too far away before that is taken for a
// sign, so that processors whose clocks differ by a little do no harm.
const slack = time.Second

// alive judges a session that has a row.
//
// The clock counts from the start of the machine. After the next start it is behind
// the deadlines of before, and they would seem far away. A deadline is never
// further away than the lease while the clock goes on, so one that is must be of
// an earlier start: its session's process is gone, and so is the session. If the
// clock has come close to such a deadline by chance, the session seems alive for
// at most one lease more.
//
// This needs no id of the boot, and is better off without: containers that have
// been given a boot id of their own (by systemd-nspawn or LXC) share this clock, and
// what one of them holds must not be free for the others.
func (s session) alive(now actor.Instant) bool {
	left := s.deadline.Sub(now)
	return left > 0 && left-slack <= s.lease
}

// Open implements [backend.Driver]. If the file was replaced, it begins to use the
// new one.
func (s *Store) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	if lease <= 0 {
		return backend.Grant{}, s.at(fmt.Errorf("the lease %v of a session must be above zero", lease))
	}
	return call(ctx, s.writer, func() (backend.Grant, error) {
		if err := s.adopt(ctx); err != nil {
			return backend.Grant{}, err
		}
		id := rand.Text() // R3: 128 random bits
		err := s.writer.write(ctx, false, func(t *tx) error { return t.open(id, lease, label) })
		return backend.Grant{Session: id, Remaining: lease}, err
	})
}

func (t *tx) open(id string, lease time.Duration, label string) error {
	if err := t.sweep(id); err != nil {
		return err
	}
	_, err := t.exec(insertSession, id, label, int64(lease), int64(t.now().Add(lease)))
	return err
}

// sweep deletes dead sessions that nobody asks about, at a constant cost: it looks
// at a few. As ids are random, the ones that follow a new id are random too.
func (t *tx) sweep(id string) error {
	var dead []string
	err := t.query(func(r row) {
		s := session{id: r.text(0), lease: time.Duration(r.number(1)), deadline: actor.Instant(r.number(2))}
		if !s.alive(t.now()) {
			dead = append(dead, s.id)
		}
	}, selectSome, id)
	for _, id := range dead {
		if err == nil {
			err = t.kill(id)
		}
	}
	return err
}

// kill ends a session for good.
func (t *tx) kill(id string) error {
	_, err := t.exec(deleteSession, id)
	return err
}

// living returns the session, or ErrExpired if it has ended. That it has is then
// written down, so that it does not depend on what the clock says later.
func (t *tx) living(id string) (s session, err error) {
	err = t.query(func(r row) {
		s = session{id: id, lease: time.Duration(r.number(0)), deadline: actor.Instant(r.number(1)), revision: r.number(2)}
	}, selectSession, id)
	if err != nil || s.alive(t.now()) {
		return s, err
	}
	if s.id != "" {
		if err := t.kill(id); err != nil {
			return s, err
		}
	}
	return s, backend.ErrExpired
}

// Renew implements [backend.Driver].
func (s *Store) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	return call(ctx, s.renewer, func() (renewal backend.Renewal, err error) {
		err = s.renewer.write(ctx, false, func(t *tx) error {
			renewal, err = t.renew(session, known, full)
			return err
		})
		return renewal, err
	})
}

func (t *tx) renew(id string, known uint64, full bool) (backend.Renewal, error) {
	s, err := t.living(id)
	if err != nil {
		return backend.Renewal{}, err // R2: there is no way back
	}
	if _, err := t.exec(renewSession, int64(t.now().Add(s.lease)), id); err != nil {
		return backend.Renewal{}, err
	}
	r := backend.Renewal{Remaining: s.lease, Revision: uint64(s.revision)}
	if full || known != r.Revision {
		r.Complete = true
		r.Leases, err = t.leases(id)
	}
	return r, err
}

// leases returns what a session owns.
func (t *tx) leases(id string) (leases []backend.Lease, err error) {
	err = t.query(func(r row) {
		leases = append(leases, backend.Lease{Name: r.text(0), Token: uint64(r.number(1))})
	}, selectHeld, id)
	return leases, err
}

// CloseSession implements [backend.Driver].
func (s *Store) CloseSession(ctx context.Context, session string) error {
	err := do(ctx, s.writer, func() error {
		return s.writer.write(ctx, false, func(t *tx) error { return t.kill(session) })
	})
	s.wake()
	return err
}
