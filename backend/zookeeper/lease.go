package zookeeper

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
)

// maxOperations is how many operations go in one transaction. All or none of many names may take more:
// they must be one.
const maxOperations = 500

// Acquire implements [backend.Driver].
func (s *Store) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	o, err := s.session(ctx, session)
	if err != nil {
		return nil, s.at(err)
	}
	a := &attempt{session: o, ctx: ctx, all: all, outcomes: make([]backend.Outcome, len(names)), at: make(map[string]int)}
	for i, name := range names {
		a.at[name] = i
	}
	err = a.run(names)
	if isExpired(err) {
		o.abandon(err)
	}
	if err != nil {
		return nil, s.at(err)
	}
	return a.outcomes, nil
}

// attempt is one call of Acquire.
type attempt struct {
	*session
	ctx      context.Context
	all      bool
	outcomes []backend.Outcome
	at       map[string]int // name to index
	proved   bool           // by a write that the session lives
}

func (a *attempt) run(names []string) error {
	if err := a.presume(names); err != nil {
		return err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return a.outcomes[a.at[name]].Won })
	for len(names) > 0 {
		free, err := a.survey(names)
		if err != nil {
			return err
		}
		if names, err = a.take(free); err != nil {
			return err
		}
	}
	if a.proved {
		return nil
	}
	return a.prove() // nothing was written, so the session may be dead without anybody having said so
}

// presume takes names without looking, if this store has heard last that they are vacant. If they are not
// any more, nothing is lost but a round trip.
func (a *attempt) presume(names []string) error {
	vacant := a.store.vacant.take(names)
	if len(vacant) == 0 || a.all && len(vacant) < len(names) {
		return nil
	}
	_, err := a.take(vacancies(vacant))
	return err
}

// prove makes sure that the session lives, and that its server is not behind.
func (a *attempt) prove() error {
	err := a.proveAlive(a.ctx)
	a.proved = err == nil
	return err
}

func (o *session) proveAlive(ctx context.Context) error {
	err := caughtUp(ctx, o.link, o.store.tree.session(o.id))
	if errors.Is(err, zk.ErrNoNode) {
		return backend.ErrExpired
	}
	return err
}

// survey looks which of the names are free, and what all of the others are. A server may be behind, so
// that others have them is true only after it has caught up.
func (a *attempt) survey(names []string) (free []view, err error) {
	free, taken, err := a.sort(names)
	if err != nil || len(taken) == 0 {
		return free, err
	}
	if err := a.prove(); err != nil {
		return nil, err
	}
	again, taken, err := a.sort(taken)
	if err != nil {
		return nil, err
	}
	free = append(free, again...)
	if a.all && len(taken) > 0 {
		for _, v := range free {
			a.lost(v)
		}
		free = nil
	}
	return free, nil
}

// sort tells names that are free from those that others have.
func (a *attempt) sort(names []string) (free []view, taken []string, err error) {
	views, err := a.store.holders(a.ctx, a.link, a.base, names)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range views {
		switch {
		case !v.holder.Held:
			free = append(free, v)
		case v.holder.Session == a.id:
			a.won(v.name, v.holder.Token) // R30
		default:
			a.lost(v)
			taken = append(taken, v.name)
		}
	}
	return free, taken, nil
}

func (a *attempt) won(name string, token uint64) {
	a.outcomes[a.at[name]] = backend.Outcome{Name: name, Won: true, Token: token}
}

func (a *attempt) lost(v view) {
	a.outcomes[a.at[v.name]] = backend.Outcome{Name: v.name, Holder: v.holder}
}

// take takes names that were free. It returns those that it has found otherwise.
func (a *attempt) take(free []view) (again []string, err error) {
	for len(free) > 0 {
		part := len(free)
		if !a.all {
			part = a.fit(free)
		}
		changed, err := a.seize(free[:part])
		if err != nil {
			return nil, err
		}
		if changed {
			for _, v := range free[:part] {
				again = append(again, v.name)
			}
		}
		free = free[part:]
	}
	return again, nil
}

// fit returns how many of the views fit into one transaction, which is one at least.
func (a *attempt) fit(free []view) (n int) {
	room := maxOperations - 1
	for _, v := range free {
		room -= len(a.store.occupy(v, a.id))
		if room < 0 && n > 0 {
			break
		}
		n++
	}
	return n
}

// seize takes all of the names in one transaction, or finds that something has changed.
func (a *attempt) seize(free []view) (changed bool, err error) {
	// The write to the session's node fails if it is dead, and says which transaction this is.
	operations := []any{a.sign()}
	names := make([]string, len(free))
	for i, v := range free {
		names[i] = v.name
		operations = append(operations, a.store.occupy(v, a.id)...)
	}
	won, err := ask(a.ctx, a.link, func(c *zk.Conn) (won result, err error) {
		a.claim(names)
		won, err = a.commit(c, operations)
		a.settle(names, won.token, err == nil) // also if nobody waits for it any more
		return won, err
	})
	switch {
	case err != nil:
		return false, err
	case won.homeless:
		return true, a.store.folders(a.ctx, a.link)
	case won.changed:
		return true, nil
	}
	a.proved = true
	for _, name := range names {
		a.won(name, won.token)
	}
	return false, nil
}

// result is that of a transaction that was carried out, or that the servers have refused.
type result struct {
	token    uint64
	changed  bool // a name is not what it was
	homeless bool // the folder of the names is gone
}

func (a *attempt) commit(c *zk.Conn, operations []any) (result, error) {
	answers, at, err := change(c, operations)
	switch {
	case err == nil:
		t, err := token(a.base, answers[0].Stat.Mzxid)
		return result{token: t}, err
	case at == 0 && errors.Is(err, zk.ErrNoNode):
		return result{}, backend.ErrExpired
	case at > 0 && (errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNotEmpty)):
		_, creates := operations[at].(*zk.CreateRequest)
		return result{changed: true, homeless: creates && errors.Is(err, zk.ErrNoNode)}, nil
	}
	return result{}, err
}

// occupy makes the session the owner of a name that nobody else has. It fails if somebody does, or if
// somebody else does the same.
func (s *Store) occupy(v view, id string) (operations []any) {
	lease := s.tree.lease(v.name)
	for _, dead := range v.dead {
		operations = append(operations, &zk.DeleteRequest{Path: s.tree.owner(v.name, dead), Version: -1})
	}
	if v.exists && len(v.dead) == 0 { // somebody has removed the owner: only one can create the node anew
		operations = append(operations, &zk.DeleteRequest{Path: lease, Version: -1})
	}
	if len(v.dead) == 0 {
		operations = append(operations, &zk.CreateRequest{Path: lease, Acl: s.acl.list, Flags: zk.FlagPersistent})
	}
	return append(operations, &zk.CreateRequest{Path: s.tree.owner(v.name, id), Acl: s.acl.list, Flags: zk.FlagPersistent})
}

// vacate removes an owner of a name, and the name's node.
func (s *Store) vacate(name, id string) []any {
	return []any{
		&zk.DeleteRequest{Path: s.tree.owner(name, id), Version: -1},
		&zk.DeleteRequest{Path: s.tree.lease(name), Version: -1},
	}
}

// Release implements [backend.Driver].
func (s *Store) Release(ctx context.Context, session string, leases []backend.Lease) error {
	o, err := s.session(ctx, session)
	for err == nil && len(leases) > 0 {
		n := min(len(leases), maxOperations/2)
		err = o.release(ctx, leases[:n])
		leases = leases[n:]
	}
	if isExpired(err) {
		return nil // with it, its leases are free
	}
	return s.at(err)
}

// release frees those leases that the session owns. It asks the servers about those of which it is not
// sure, about all if one has turned out to be otherwise, and goes one by one if that does not help either.
func (o *session) release(ctx context.Context, leases []backend.Lease) (err error) {
	for _, sure := range []bool{false, true} {
		if leases, err = o.mine(ctx, leases, sure); err != nil || len(leases) == 0 {
			return err
		}
		if refused, err := o.free(ctx, leases, o.store.vacate); err != nil || !refused {
			return err
		}
	}
	for _, l := range leases {
		if err := o.freeOne(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// mine returns those of the leases that the session owns with just this token.
func (o *session) mine(ctx context.Context, leases []backend.Lease, sure bool) ([]backend.Lease, error) {
	owned := make([]uint64, len(leases))
	err := parallel(len(leases), func(i int) (err error) {
		token, open := o.owns(leases[i].Name)
		if token != 0 && !open && !sure { // or else it may be another one by now
			owned[i] = token
			return nil
		}
		if token != 0 || open {
			owned[i], err = o.taken(ctx, leases[i].Name)
		}
		return err
	})
	var mine []backend.Lease
	seen := make(map[string]bool)
	for i, l := range leases {
		if owned[i] != 0 && owned[i] == l.Token && !seen[l.Name] {
			seen[l.Name] = true
			mine = append(mine, l)
		}
	}
	return mine, err
}

// free carries out a release. It reports whether the servers have refused it because something is not
// there that should be, or the other way round.
func (o *session) free(ctx context.Context, leases []backend.Lease, operations func(name, id string) []any) (refused bool, err error) {
	var all []any
	for _, l := range leases {
		all = append(all, operations(l.Name, o.id)...)
	}
	return ask(ctx, o.link, func(c *zk.Conn) (bool, error) {
		_, _, err := change(c, all)
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
			return true, nil
		}
		o.lose(leases, err == nil)
		if err == nil {
			for _, l := range leases {
				o.store.vacant.add(l.Name)
			}
		}
		return false, err
	})
}

// freeOne frees a lease of which something else is in the way: another owner that somebody has put there.
func (o *session) freeOne(ctx context.Context, l backend.Lease) error {
	refused, err := o.free(ctx, []backend.Lease{l}, o.store.vacate)
	if err != nil || !refused {
		return err
	}
	_, err = o.free(ctx, []backend.Lease{l}, func(name, id string) []any { return o.store.vacate(name, id)[:1] })
	return err
}
