package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/simba-go/simba/backend"
)

// micros is how many microseconds the lease has, which is what the server counts in.
func micros(lease time.Duration) time.Duration { return lease.Truncate(time.Microsecond) }

// Open implements [backend.Driver].
func (s *Store) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	granted := micros(lease)
	if granted <= 0 {
		return backend.Grant{}, s.at(fmt.Errorf("the lease %v of a session must be at least 1µs", lease))
	}
	id := rand.Text() // R3: 128 random bits
	answer, err := s.do(ctx, call{script: openScript, on: s.calls, confirmed: true, args: []any{id, granted.Microseconds(), label}})
	if err != nil {
		return backend.Grant{}, err
	}
	var r reader
	var dead []string
	for _, id := range r.list(answer) {
		dead = append(dead, r.text(id))
	}
	if r.err != nil {
		return backend.Grant{}, s.at(r.err)
	}
	s.clearAway(dead)
	return backend.Grant{Session: id, Remaining: granted}, nil
}

// Renew implements [backend.Driver].
func (s *Store) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	answer, err := s.do(ctx, call{
		script: renewScript, on: s.renewals, confirmed: true, held: []string{session},
		args: []any{session, known, full},
	})
	if err != nil {
		return backend.Renewal{}, err
	}
	if answer == nil {
		return backend.Renewal{}, backend.ErrExpired // R2: there is no way back
	}
	var r reader
	fields := r.fields(answer, 2)
	if r.err != nil {
		return backend.Renewal{}, s.at(r.err)
	}
	renewal := backend.Renewal{
		Remaining: time.Duration(r.number(fields[0])) * time.Microsecond,
		Revision:  uint64(r.number(fields[1])),
		Complete:  len(fields) > 2,
	}
	if renewal.Complete {
		renewal.Leases = r.leases(fields[2])
	}
	return renewal, s.at(r.err)
}

// leases reads names and tokens in turn.
func (r *reader) leases(v any) []backend.Lease {
	list := r.list(v)
	leases := make([]backend.Lease, 0, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		leases = append(leases, backend.Lease{Name: r.text(list[i]), Token: uint64(r.number(list[i+1]))})
	}
	return leases
}

// CloseSession implements [backend.Driver].
func (s *Store) CloseSession(ctx context.Context, session string) error {
	cursor, err := s.closePage(ctx, session, "0")
	if err != nil {
		return err
	}
	// The session has ended. That others wait for its leases is worth the rest of the call's time;
	// if this fails, whoever opens a session next goes on with it.
	s.closePages(ctx, session, cursor)
	return nil
}

func (s *Store) closePages(ctx context.Context, session, cursor string) {
	for err := error(nil); cursor != "0" && err == nil; {
		cursor, err = s.closePage(ctx, session, cursor)
	}
}

func (s *Store) closePage(ctx context.Context, session, cursor string) (next string, err error) {
	answer, err := s.do(ctx, call{
		script: closeScript, on: s.calls, held: []string{session},
		args: []any{session, cursor, s.channels()},
	})
	if err != nil {
		return "", err
	}
	var r reader
	next = r.text(answer)
	return next, s.at(r.err)
}

// clearTime is how long clearing away may take.
const clearTime = 10 * time.Second

// clearAway removes what sessions that have ended held, and tells those who wait for it, in the
// background. What fails is done by whoever opens a session next.
func (s *Store) clearAway(sessions []string) {
	if len(sessions) == 0 {
		return
	}
	done, err := s.begin()
	if err != nil {
		return
	}
	go func() {
		defer done()
		ctx, cancel := context.WithTimeout(s.life, clearTime)
		defer cancel()
		for _, session := range sessions {
			if cursor, err := s.closePage(ctx, session, "0"); err == nil {
				s.closePages(ctx, session, cursor)
			}
		}
	}()
}
