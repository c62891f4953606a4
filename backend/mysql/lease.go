package mysql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/vigil"
)

// row is what the database knows about a name.
type row struct {
	name          string
	token         uint64  // the last one
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
		Token: r.token, Remaining: time.Duration(r.remaining) * time.Microsecond,
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
	err := s.do(ctx, s.calls, []result{func(rows *sql.Rows) error {
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
			o.Token = r.token
		} else {
			o.Holder = r.to()
		}
		outcomes[index[r.name]] = o
		return nil
	}}, "CALL simba_acquire(?, ?, ?)", session, array(names), all)
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
	sorted := slices.SortedFunc(slices.Values(leases), func(a, b backend.Lease) int { return strings.Compare(a.Name, b.Name) })
	var list strings.Builder
	for i, l := range sorted {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString(`{"n":"` + l.Name + `","t":` + strconv.FormatUint(l.Token, 10) + `}`)
	}
	return s.do(ctx, s.calls, nil, "CALL simba_release(?, ?)", session, "["+list.String()+"]")
}

// array returns names as a JSON array in order. They have no characters that mean something there.
func array(names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	return `["` + strings.Join(slices.Sorted(slices.Values(names)), `","`) + `"]`
}

// Inspect implements [backend.Driver].
func (s *Store) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	if len(names) == 0 {
		var holders []backend.Holder
		err := s.rows(ctx, func(r row) { holders = append(holders, r.to()) }, "CALL simba_held()")
		return holders, err
	}
	known := make(map[string]row, len(names))
	if err := s.look(ctx, names, func(r row) { known[r.name] = r }); err != nil {
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
	return s.rows(ctx, each, "CALL simba_look(?)", array(names))
}

func (s *Store) rows(ctx context.Context, each func(row), query string, args ...any) error {
	return s.do(ctx, s.calls, []result{func(rows *sql.Rows) error {
		var r row
		if err := rows.Scan(&r.name, &r.token, &r.holder, &r.label, &r.remaining); err != nil {
			return err
		}
		each(r)
		return nil
	}}, query, args...)
}

// Watch implements [backend.Watcher]. The database does not tell of releases, so it looks twice a second,
// and when an owner should expire.
func (s *Store) Watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	return vigil.Watch(ctx, vigil.Source{Look: s.sight, Every: vigil.Pace}, set, vacated)
}

// sight is a look.
func (s *Store) sight(ctx context.Context, names []string) ([]vigil.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	known := make(map[string]row, len(names))
	if err := s.look(ctx, names, func(r row) { known[r.name] = r }); err != nil {
		return nil, err
	}
	leases := make([]vigil.Lease, len(names))
	for i, name := range names {
		r := known[name]
		leases[i] = vigil.Lease{
			Name: name, Token: r.token, Held: r.holder != nil, Remaining: time.Duration(r.remaining) * time.Microsecond,
		}
	}
	return leases, nil
}
