package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// lease is what the database knows about a name.
type lease struct {
	name  string
	token uint64  // the last one, 0 if there was none
	owner session // without an id if nobody is; it may be dead
}

// holder is the answer for people.
func (l lease) holder(now actor.Instant) backend.Holder {
	if !l.owner.alive(now) {
		return backend.Holder{Name: l.name}
	}
	return backend.Holder{
		Name: l.name, Held: true, Session: l.owner.id, Label: l.owner.label,
		Token: l.token, Remaining: l.owner.deadline.Sub(now),
	}
}

// look calls each for the lease of every name, with the index of the name. Names is
// a JSON array.
func (c *conn) look(names string, each func(i int, l lease)) error {
	return c.query(func(r row) {
		l := lease{name: r.text(1)}
		if !r.null(2) {
			l.token = uint64(r.number(2))
		}
		if !r.null(3) {
			l.owner = owner(r, 3)
		}
		each(int(r.number(0)), l)
	}, selectLeases, names)
}

// owner reads a session from the columns from i on.
func owner(r row, i int) session {
	return session{
		id: r.text(i), label: r.text(i + 1),
		lease: time.Duration(r.number(i + 2)), deadline: actor.Instant(r.number(i + 3)),
	}
}

// Acquire implements [backend.Driver].
func (s *Store) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	a := &acquisition{session: session, names: array(names), all: all, outcomes: make([]backend.Outcome, len(names))}
	for i, name := range names {
		a.outcomes[i].Name = name
	}
	return call(ctx, s.writer, func() ([]backend.Outcome, error) {
		// A token must survive a crash of the machine, because the next one must be
		// greater whatever the wall clock says then.
		err := s.writer.write(ctx, true, func(t *tx) error {
			a.wall = uint64(max(0, s.wall().UnixMicro()))
			return a.run(t)
		})
		return a.outcomes, err
	})
}

// acquisition is one call of Acquire.
type acquisition struct {
	session  string
	names    string // a JSON array
	all      bool
	wall     uint64 // the least new token: microseconds since 1970
	outcomes []backend.Outcome
	vacant   []vacancy
	lost     bool // a name is somebody else's
}

// vacancy is a name that can be taken.
type vacancy struct {
	outcome *backend.Outcome
	lease   lease
}

// maxToken is the greatest integer up to which floating-point numbers have no gaps.
const maxToken = 1<<53 - 1

func (a *acquisition) run(t *tx) error {
	self, err := t.living(a.session)
	if err != nil {
		return err
	}
	if err := t.look(a.names, func(i int, l lease) { a.judge(&a.outcomes[i], l, t.now()) }); err != nil {
		return err
	}
	if len(a.vacant) == 0 || a.all && a.lost {
		return nil
	}
	if err := a.bury(t); err != nil {
		return err
	}
	var take object
	for _, v := range a.vacant {
		token := max(v.lease.token+1, a.wall) // R19
		if token > maxToken {
			return fmt.Errorf("the next token of %q would be %d, and %d is the greatest: the wall clock is, or was, far in the future", v.outcome.Name, token, uint64(maxToken))
		}
		take.add(v.outcome.Name, token)
		*v.outcome = backend.Outcome{Name: v.outcome.Name, Won: true, Token: token}
	}
	if _, err := t.exec(takeLeases, self.id, take.String()); err != nil {
		return err
	}
	return t.revise(self.id)
}

func (a *acquisition) judge(o *backend.Outcome, l lease, now actor.Instant) {
	o.Holder = l.holder(now)
	switch {
	case l.owner.id == a.session: // R30: the same token as before
		*o = backend.Outcome{Name: o.Name, Won: true, Token: l.token}
	case o.Holder.Held:
		a.lost = true
	default:
		a.vacant = append(a.vacant, vacancy{o, l})
	}
}

// bury ends the sessions that have expired and own something that is to be taken.
// This comes first: nothing can bring them back when it has gone.
func (a *acquisition) bury(t *tx) error {
	dead := make(map[string]bool)
	for _, v := range a.vacant {
		id := v.lease.owner.id
		if id == "" || dead[id] {
			continue
		}
		dead[id] = true
		if err := t.kill(id); err != nil {
			return err
		}
	}
	return nil
}

// revise gives a session's set of leases another revision.
func (t *tx) revise(id string) error {
	_, err := t.exec(reviseSession, id)
	return err
}

// Release implements [backend.Driver].
func (s *Store) Release(ctx context.Context, session string, leases []backend.Lease) error {
	var free object
	for _, l := range leases {
		free.add(l.Name, l.Token)
	}
	err := do(ctx, s.writer, func() error {
		// Nothing is lost if a crash of the machine undoes it: that ends the session.
		return s.writer.write(ctx, false, func(t *tx) error { return t.release(session, free) })
	})
	s.wake()
	return err
}

func (t *tx) release(id string, free object) error {
	n, err := t.exec(freeLeases, free.String(), id)
	if err != nil || n == 0 {
		return err
	}
	return t.revise(id)
}

// Inspect implements [backend.Driver].
func (s *Store) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	list, names := array(names), slices.Clone(names)
	return call(ctx, s.reader, func() ([]backend.Holder, error) {
		var leases []lease
		err := s.reader.read(ctx, func(c *conn) error {
			if len(names) == 0 {
				leases = nil
				return c.owned(func(l lease) { leases = append(leases, l) })
			}
			leases = make([]lease, len(names))
			return c.look(list, func(i int, l lease) { leases[i] = l })
		})
		// The clock is read after the database: the other way round, a session that
		// was opened or renewed in between could have more left than its lease.
		now := s.clock.Now()
		holders := make([]backend.Holder, 0, len(leases))
		for _, l := range leases {
			if h := l.holder(now); h.Held || len(names) > 0 {
				holders = append(holders, h)
			}
		}
		return holders, err
	})
}

// owned calls each for the leases that have an owner, in the order of names.
func (c *conn) owned(each func(l lease)) error {
	return c.query(func(r row) {
		each(lease{name: r.text(0), token: uint64(r.number(1)), owner: owner(r, 2)})
	}, selectOwned)
}

// array returns names as a JSON array.
func array(names []string) string {
	b := []byte{'['}
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, name)
	}
	return string(append(b, ']'))
}

// object is a JSON object of names and tokens. Unlike a map it can have a name
// twice.
type object struct{ b []byte }

func (o *object) add(name string, token uint64) {
	o.b = append(o.b, ',')
	o.b = strconv.AppendQuote(o.b, name)
	o.b = append(o.b, ':')
	o.b = strconv.AppendUint(o.b, token, 10)
}

func (o object) String() string {
	if len(o.b) == 0 {
		return "{}"
	}
	return "{" + string(o.b[1:]) + "}"
}
