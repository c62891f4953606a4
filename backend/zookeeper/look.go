package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
)

// maxToken is the greatest one that survives a detour through a floating-point number.
const maxToken = 1<<53 - 1

// base is what tokens count from: when the namespace was created, in microseconds, by the leader's clock.
// A token is that and the id of the transaction which took the lease. Ids rise as long as the ensemble
// keeps its data; if it does not, or if another one takes its place, the namespace is created anew, later.
func (s *Store) base(ctx context.Context, l *link) (uint64, error) {
	root, err := exists(ctx, l, s.tree.root)
	switch {
	case err != nil:
		return 0, err
	case root == nil:
		return 0, fmt.Errorf("the node %s is gone: %w", s.tree.root, zk.ErrNoNode)
	}
	return uint64(max(root.Ctime, 0)) * 1000, nil
}

// token returns the one of a transaction.
func token(base uint64, transaction int64) (uint64, error) {
	t := base + uint64(transaction)
	if t > maxToken {
		return 0, fmt.Errorf("the next token would be %d, above %d: the namespace was created in the far future, or the ensemble had a million elections", t, maxToken)
	}
	return t, nil
}

// view is what a server knows about a name. It may be the state of a moment ago.
type view struct {
	name   string
	exists bool           // there is a node for it
	dead   []string       // sessions that were its owners
	holder backend.Holder // who owns it
}

// holders looks at names. Sessions are judged after the names: one that owned a name and does not exist
// any more is dead for good.
func (s *Store) holders(ctx context.Context, l *link, base uint64, names []string) ([]view, error) {
	views := make([]view, len(names))
	err := parallel(len(names), func(i int) (err error) {
		views[i], err = s.view(ctx, l, base, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, l, views)
	if err != nil {
		return nil, err
	}
	for i := range views {
		views[i].judge(records)
	}
	return views, nil
}

// view looks at a name. Who owns it is in dead as long as nobody has looked whether it lives.
func (s *Store) view(ctx context.Context, l *link, base uint64, name string) (view, error) {
	v := view{name: name, holder: backend.Holder{Name: name}}
	type children struct {
		names []string
		stat  *zk.Stat
	}
	c, err := ask(ctx, l, func(c *zk.Conn) (children, error) {
		names, stat, err := c.Children(s.tree.lease(name))
		return children{names, stat}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.exists, v.dead = true, c.names
	// The last change below the node is that of its owner.
	v.holder.Token, err = token(base, c.stat.Pzxid)
	return v, err
}

// records returns those of the owners that live.
func (s *Store) records(ctx context.Context, l *link, views []view) (map[string]*record, error) {
	var ids []string
	for _, v := range views {
		ids = append(ids, v.dead...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	records := make([]*record, len(ids))
	err := parallel(len(ids), func(i int) (err error) {
		records[i], err = s.record(ctx, l, ids[i])
		return err
	})
	byID := make(map[string]*record)
	for i, r := range records {
		byID[ids[i]] = r
	}
	return byID, err
}

// record returns that of a session, nil if it is dead.
func (s *Store) record(ctx context.Context, l *link, id string) (*record, error) {
	data, err := ask(ctx, l, func(c *zk.Conn) ([]byte, error) {
		data, _, err := c.Get(s.tree.session(id))
		return data, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the node %s has contents that are not Simba's: %w", s.tree.session(id), err)
	}
	return r, nil
}

// judge finds the owner among those that were.
func (v *view) judge(records map[string]*record) {
	owners := v.dead
	v.dead = nil
	for _, id := range owners {
		r := records[id]
		if r == nil {
			v.dead = append(v.dead, id)
			continue
		}
		v.holder.Held, v.holder.Session, v.holder.Label = true, id, r.Label
		v.holder.Remaining, _ = time.ParseDuration(r.Lease)
	}
	if !v.holder.Held {
		v.holder.Token = 0
	}
}

// Inspect implements [backend.Driver].
func (s *Store) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	views, err := s.inspect(ctx, names)
	if err != nil {
		return nil, s.at(err)
	}
	holders := make([]backend.Holder, 0, len(views))
	for _, v := range views {
		if v.holder.Held || len(names) > 0 {
			holders = append(holders, v.holder)
		}
	}
	return holders, nil
}

func (s *Store) inspect(ctx context.Context, names []string) ([]view, error) {
	r, err := s.reader(ctx)
	if err != nil {
		return nil, err
	}
	err = caughtUp(ctx, r.link, s.tree.root)
	if errors.Is(err, zk.ErrNoNode) { // somebody has removed the namespace
		return vacancies(names), nil
	}
	if err != nil {
		return nil, err
	}
	base, err := s.base(ctx, r.link)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		if names, err = s.names(ctx, r.link); err != nil {
			return nil, err
		}
		slices.Sort(names)
	}
	return s.holders(ctx, r.link, base, names)
}

// vacancies are views of names that have no node.
func vacancies(names []string) []view {
	views := make([]view, len(names))
	for i, name := range names {
		views[i] = view{name: name, holder: backend.Holder{Name: name}}
	}
	return views
}

// names returns those that have a node.
func (s *Store) names(ctx context.Context, l *link) ([]string, error) {
	names, err := ask(ctx, l, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(s.tree.leases())
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}
