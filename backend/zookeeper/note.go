package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
)

// script is what the node of a note has.
type script struct {
	Version uint64 `json:"version"`
	Text    string `json:"text"`
}

// page is what a server has of a name's note.
type page struct {
	note    backend.Note
	edition int32 // of the node, -1 if there is none
}

// KeepNote implements [backend.Noter].
func (s *Store) KeepNote(ctx context.Context, session string, lease backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	o, err := s.session(ctx, session)
	if err == nil {
		kept, held, err = o.note(ctx, lease, note)
		if isExpired(err) {
			o.abandon(err)
		}
	}
	if err != nil || !held {
		return backend.Note{}, false, s.at(err)
	}
	return kept, true, nil
}

func (o *session) note(ctx context.Context, lease backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	mine, err := o.mine(ctx, []backend.Lease{lease}, false)
	if err != nil {
		return kept, false, err
	}
	if len(mine) == 0 {
		return kept, false, o.proveAlive(ctx)
	}
	for {
		// What earlier owners have noted came before this session took the lease, and so this server has
		// it; nobody else notes anything from then on.
		p, err := o.page(ctx, lease.Name)
		if err != nil {
			return kept, false, err
		}
		if note.Version <= p.note.Version {
			note = p.note
		}
		outcome, err := o.inscribe(ctx, lease.Name, p, note)
		switch {
		case err != nil:
			return kept, false, err
		case outcome == nodeMissing:
			err = o.store.folders(ctx, o.link)
		case outcome != nodeChanged:
			return note, outcome == done, nil
		}
		if err != nil {
			return kept, false, err
		}
	}
}

// page reads a note.
func (o *session) page(ctx context.Context, name string) (page, error) {
	path := o.store.tree.note(name)
	type node struct {
		data []byte
		stat *zk.Stat
	}
	n, err := ask(ctx, o.link, func(c *zk.Conn) (node, error) {
		data, stat, err := c.Get(path)
		return node{data, stat}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return page{edition: -1}, nil
	}
	if err != nil {
		return page{}, err
	}
	var written script
	if err := json.Unmarshal(n.data, &written); err != nil {
		return page{}, fmt.Errorf("the node %s has contents that are not Simba's: %w", path, err)
	}
	return page{backend.Note(written), n.stat.Version}, nil
}

// What becomes of a note.
type outcome int

const (
	done        outcome = iota
	notHeld             // the session does not own the lease
	nodeChanged         // the note is not what it was
	nodeMissing         // the folder of the notes is gone
)

// inscribe makes a page say what note does, if the session lives and owns the lease.
func (o *session) inscribe(ctx context.Context, name string, p page, note backend.Note) (outcome, error) {
	operations := append([]any{o.sign()}, o.checks([]string{name})...)
	if note != p.note {
		data, err := json.Marshal(script(note))
		if err != nil {
			return 0, err
		}
		path := o.store.tree.note(name)
		if p.edition < 0 {
			operations = append(operations, &zk.CreateRequest{Path: path, Data: data, Acl: o.store.acl.list, Flags: zk.FlagPersistent})
		} else {
			operations = append(operations, &zk.SetDataRequest{Path: path, Data: data, Version: p.edition})
		}
	}
	at, err := ask(ctx, o.link, func(c *zk.Conn) (int, error) {
		_, at, err := change(c, operations)
		return at, err
	})
	missing := errors.Is(err, zk.ErrNoNode)
	switch {
	case missing && at == 0:
		return 0, backend.ErrExpired
	case missing && at == 1:
		return notHeld, nil
	case missing && p.edition < 0:
		return nodeMissing, nil
	case missing, errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists):
		return nodeChanged, nil
	}
	return done, err
}
