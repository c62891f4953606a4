package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simba-go/simba/backend"
)

// Acquire implements [backend.Driver].
func (s *Store) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	args := make([]any, 0, len(names)+2)
	args = append(args, session, all)
	for _, name := range names {
		args = append(args, name)
	}
	answer, err := s.do(ctx, call{script: acquireScript, on: s.calls, confirmed: true, held: []string{session}, args: args})
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, backend.ErrExpired
	}
	var r reader
	list := r.list(answer)
	if r.err == nil && len(list) != len(names) {
		r.err = fmt.Errorf("the server answers for %d of %d names", len(list), len(names))
	}
	if r.err != nil {
		return nil, s.at(r.err)
	}
	outcomes := make([]backend.Outcome, len(names))
	for i, name := range names {
		if token, won := list[i].(int64); won {
			outcomes[i] = backend.Outcome{Name: name, Won: true, Token: uint64(token)}
		} else {
			outcomes[i] = backend.Outcome{Name: name, Holder: r.holder(name, list[i])}
		}
	}
	return outcomes, s.at(r.err)
}

// holder reads what the server says about the owner of a name.
func (r *reader) holder(name string, v any) backend.Holder {
	if v == nil {
		return backend.Holder{Name: name}
	}
	fields := r.fields(v, 4)
	if fields == nil {
		return backend.Holder{Name: name}
	}
	return backend.Holder{
		Name: name, Held: true, Session: r.text(fields[0]), Token: uint64(r.number(fields[1])),
		Remaining: time.Duration(r.number(fields[2])) * time.Microsecond, Label: r.text(fields[3]),
	}
}

// Release implements [backend.Driver].
func (s *Store) Release(ctx context.Context, session string, leases []backend.Lease) error {
	args := make([]any, 0, 2*len(leases)+2)
	args = append(args, session, s.channels())
	for _, l := range leases {
		args = append(args, l.Name, l.Token)
	}
	_, err := s.do(ctx, call{script: releaseScript, on: s.calls, held: []string{session}, args: args})
	return err
}

// Inspect implements [backend.Driver]. Everything is listed a page at a time: a lease that moves from one
// session to another meanwhile may be missing.
func (s *Store) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	if len(names) == 0 {
		return s.everything(ctx)
	}
	holders, _, err := s.look(ctx, names)
	return holders, err
}

// look returns the holders of names, and for how long the server grants nothing.
func (s *Store) look(ctx context.Context, names []string) (holders []backend.Holder, withheld time.Duration, err error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	answer, err := s.do(ctx, call{script: inspectScript, on: s.calls, args: args})
	if err != nil {
		return nil, 0, err
	}
	var r reader
	fields := r.fields(answer, 2)
	if fields == nil {
		return nil, 0, s.at(r.err)
	}
	list := r.list(fields[1])
	if r.err == nil && len(list) != len(names) {
		r.err = fmt.Errorf("the server answers for %d of %d names", len(list), len(names))
	}
	if r.err != nil {
		return nil, 0, s.at(r.err)
	}
	holders = make([]backend.Holder, len(names))
	for i, name := range names {
		holders[i] = r.holder(name, list[i])
	}
	return holders, time.Duration(r.number(fields[0])) * time.Microsecond, s.at(r.err)
}

// together is for how many sessions one call asks.
const together = 100

// everything lists all leases.
func (s *Store) everything(ctx context.Context) ([]backend.Holder, error) {
	answer, err := s.do(ctx, call{script: sessionsScript, on: s.calls})
	if err != nil {
		return nil, err
	}
	var r reader
	var ids []string
	for _, id := range r.list(answer) {
		ids = append(ids, r.text(id))
	}
	found := make(map[string]backend.Holder)
	for cursor := "0"; len(ids) > 0 && r.err == nil; {
		page := ids[:min(together, len(ids))]
		args := []any{cursor}
		for _, id := range page {
			args = append(args, id)
		}
		answer, err := s.do(ctx, call{script: listScript, on: s.calls, held: page, args: args})
		if err != nil {
			return nil, err
		}
		fields := r.fields(answer, 3)
		if fields == nil {
			break
		}
		ids, cursor = ids[min(int(r.number(fields[0])), len(page)):], r.text(fields[1])
		r.gather(found, fields[2])
	}
	if r.err != nil {
		return nil, s.at(r.err)
	}
	holders := make([]backend.Holder, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		holders = append(holders, found[name])
	}
	return holders, nil
}

// gather reads names and holders in turn. A name that has moved meanwhile is its last owner's.
func (r *reader) gather(found map[string]backend.Holder, v any) {
	list := r.list(v)
	for i := 0; i+1 < len(list); i += 2 {
		name := r.text(list[i])
		if h := r.holder(name, list[i+1]); h.Token > found[name].Token {
			found[name] = h
		}
	}
}
