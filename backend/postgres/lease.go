package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
)

// row is what the database knows about a name.
type row struct {
	name          string
	token         int64   // the last one
	holder, label *string // nil if nobody holds it
	remaining     int64   // microseconds
}

// to is the answer for people.
func (r row) to() backend.Holder {
	if r.holder == nil {
		return backend.Holder{Name: r.name}
	}
	return backend.Holder{
		Name: r.name, Held: true, Session: *r.holder, Label: *r.label,
		Token: uint64(r.token), Remaining: time.Duration(r.remaining) * time.Microsecond,
	}
}

// Acquire implements [backend.Driver].
func (s *Store) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	outcomes := make([]backend.Outcome, len(names))
	index := make(map[string]int, len(names))
	for i, name := range names {
		outcomes[i].Name = name
		index[name] = i
	}
	alive := errors.New("the answer has no end")
	err := s.do(ctx, s.calls, func(rows pgx.Rows) error {
		var name *string
		var won bool
		var r row
		if err := rows.Scan(&name, &won, &r.token, &r.holder, &r.label, &r.remaining); err != nil {
			return err
		}
		if name == nil {
			alive = nil
			if !won {
				alive = backend.ErrExpired
			}
			return nil
		}
		r.name = *name
		o := backend.Outcome{Name: r.name, Won: won}
		if won {
			o.Token = uint64(r.token)
		} else {
			o.Holder = r.to()
		}
		outcomes[index[r.name]] = o
		return nil
	}, "lease_acquire($1, $2, $3)", session, names, all)
	if err == nil {
		err = s.at(alive)
	}
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// Release implements [backend.Driver].
func (s *Store) Release(ctx context.Context, session string, leases []backend.Lease) error {
	names, tokens := make([]string, len(leases)), make([]int64, len(leases))
	for i, l := range leases {
		names[i], tokens[i] = l.Name, int64(l.Token)
	}
	freed := names // for all that we know
	err := s.do(ctx, s.calls, func(rows pgx.Rows) error { return rows.Scan(&freed) }, "lease_release($1, $2, $3)", session, names, tokens)
	s.crier.tell(freed)
	return err
}

// Inspect implements [backend.Driver].
func (s *Store) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	if len(names) == 0 {
		var holders []backend.Holder
		err := s.rows(ctx, func(r row) { holders = append(holders, r.to()) }, "lease_held()")
		return holders, err
	}
	known := make(map[string]row, len(names))
	err := s.look(ctx, names, func(r row) { known[r.name] = r })
	if err != nil {
		return nil, err
	}
	holders := make([]backend.Holder, len(names))
	for i, name := range names {
		r := known[name]
		r.name = name
		holders[i] = r.to()
	}
	return holders, nil
}

// look calls each for those of the names that were ever used.
func (s *Store) look(ctx context.Context, names []string, each func(row)) error {
	return s.rows(ctx, each, "lease_look($1)", names)
}

func (s *Store) rows(ctx context.Context, each func(row), function string, args ...any) error {
	return s.do(ctx, s.calls, func(rows pgx.Rows) error {
		var r row
		if err := rows.Scan(&r.name, &r.token, &r.holder, &r.label, &r.remaining); err != nil {
			return err
		}
		each(r)
		return nil
	}, function, args...)
}
