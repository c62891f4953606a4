package zookeeper

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// session is one that this store has opened.
type session struct {
	store *Store
	id    string
	link  *link
	data  []byte // of its node
	lease time.Duration
	base  uint64        // what its tokens count from
	turn  chan struct{} // has room for the one who lists what it owns

	mu       sync.Mutex
	dying    bool          // it is ended, and no answer may say otherwise
	until    actor.Instant // when it is ended unless it is renewed
	alarm    *time.Timer   // for that
	credit   credit
	claims   map[string]*claim // what it owns, or may own
	revision uint64
	told     list // the last one that a renewal has told
}

// list is what a session owned at a revision.
type list struct {
	revision uint64
	tokens   map[string]uint64
}

// record is what the node of a session says about it, for people and other stores.
type record struct {
	Label string `json:"label"`
	Lease string `json:"lease"` // how long it lives without being renewed
}

// Open implements [backend.Driver].
func (s *Store) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	if lease <= 0 {
		return backend.Grant{}, s.at(fmt.Errorf("the lease %v of a session must be above zero", lease))
	}
	open, granted, err := s.open(ctx, lease, label)
	if err != nil {
		return backend.Grant{}, s.at(err)
	}
	s.background(func(ctx context.Context) { s.sweep(ctx) })
	return backend.Grant{Session: open.id, Remaining: granted}, nil
}

func (s *Store) open(ctx context.Context, lease time.Duration, label string) (*session, time.Duration, error) {
	l, err := s.connect(lease, false, nil)
	if err != nil {
		return nil, 0, err
	}
	// R3: 128 random bits. The servers' own id may come back after their machine was restarted.
	open := &session{
		store: s, id: rand.Text(), link: l, turn: make(chan struct{}, 1), revision: 1, claims: make(map[string]*claim),
	}
	granted, err := open.begin(ctx, lease, label)
	if err == nil {
		err = s.register(open)
	}
	if err != nil {
		if isExpired(err) {
			err = fmt.Errorf("%w: the session has expired before it was used", ErrConnection)
		}
		open.forget() // nobody knows of it
		s.discard(l)
		return nil, 0, err
	}
	return open, granted, nil
}

// begin creates the session's node, which is what makes it a session.
func (o *session) begin(ctx context.Context, lease time.Duration, label string) (time.Duration, error) {
	conn, err := o.link.ready(ctx)
	if err != nil {
		return 0, err
	}
	o.lease = min(lease, conn.timeout)
	if o.data, err = json.Marshal(record{Label: label, Lease: o.lease.String()}); err != nil {
		return 0, err
	}
	sent := o.store.clock.Now()
	err = o.create(ctx)
	if errors.Is(err, zk.ErrNoNode) { // somebody has removed the namespace
		if err = o.store.folders(ctx, o.link); err == nil {
			sent = o.store.clock.Now()
			err = o.create(ctx)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("creating the session's node: %w", err)
	}
	// Read after the node was created: if the namespace was replaced meanwhile, the node is gone too.
	if o.base, err = o.store.base(ctx, o.link); err != nil {
		return 0, err
	}
	return o.accept(conn, request{sent, o.store.clock.Now()})
}

func (o *session) create(ctx context.Context) error {
	_, err := ask(ctx, o.link, func(c *zk.Conn) (string, error) {
		return c.Create(o.store.tree.session(o.id), o.data, zk.FlagEphemeral, o.store.acl.list)
	})
	return err
}

// accept returns what an answered write grants, which was sent over conn.
func (o *session) accept(conn *conn, write request) (time.Duration, error) {
	if !o.link.current(conn) {
		return 0, fmt.Errorf("%w: it was lost while it was used, so this proves nothing", ErrConnection)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dying {
		return 0, backend.ErrExpired
	}
	o.until = write.sent.Add(o.lease)
	o.arm(write.answered)
	left := min(o.credit.grant(conn, write), o.lease)
	if left <= 0 {
		return 0, errors.New("the session lives, but it was out of touch for so long that the servers may be about to end it")
	}
	return left, nil
}

// arm sets the alarm.
func (o *session) arm(now actor.Instant) {
	d := o.until.Sub(now)
	if o.alarm == nil {
		o.alarm = time.AfterFunc(d, o.expire)
		return
	}
	o.alarm.Reset(d)
}

// register makes the session known.
func (s *Store) register(o *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.sessions[o.id] = o
	return nil
}

// discard closes a link that nobody uses any more.
func (s *Store) discard(l *link) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.running.Go(l.close)
	}
	s.mu.Unlock()
	if closed {
		l.close()
	}
}

// session returns one that this store has opened, or ErrExpired. One of another store cannot be kept
// alive from here; whoever tries has lost track of it, and it is ended, so that the answer is true.
func (s *Store) session(ctx context.Context, id string) (*session, error) {
	s.mu.Lock()
	o, closed := s.sessions[id], s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case o == nil:
		if err := s.bury(ctx, id); err != nil {
			return nil, err
		}
		return nil, backend.ErrExpired
	}
	if reason := o.link.over(); reason != nil {
		o.abandon(reason)
		return nil, reason
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dying {
		return nil, backend.ErrExpired
	}
	return o, nil
}

// bury ends a session that is not this store's.
func (s *Store) bury(ctx context.Context, id string) error {
	if backend.CheckName(id) != nil {
		return nil // no session has such an id
	}
	r, err := s.reader(ctx)
	if err != nil {
		return err
	}
	err = caughtUp(ctx, r.link, s.tree.root)
	if errors.Is(err, zk.ErrNoNode) {
		return nil // with the namespace, all sessions are gone
	}
	if err != nil {
		return err
	}
	node := s.tree.session(id)
	found, err := exists(ctx, r.link, node)
	if err != nil || found == nil {
		return err
	}
	return remove(ctx, r.link, node)
}

// remove deletes a node, if there is one.
func remove(ctx context.Context, l *link, node string) error {
	_, err := ask(ctx, l, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(node, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// Renew implements [backend.Driver].
func (s *Store) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	o, err := s.session(ctx, session)
	if err != nil {
		return backend.Renewal{}, s.at(err)
	}
	renewal, err := o.renew(ctx, known, full)
	return renewal, s.at(err)
}

// impatience is the part of the timeout after which a renewal that was given up costs its server the
// connection: it may be cut off from the leader, or hang, and another one may not.
const impatience = 16

func (o *session) renew(ctx context.Context, known uint64, full bool) (backend.Renewal, error) {
	select { // one after the other, so that a revision stands for one list
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return backend.Renewal{}, fmt.Errorf("not done: %w", context.Cause(ctx))
	}
	defer func() { <-o.turn }()
	wanted := full || !o.unchanged(known)
	var have inventory
	var along []string // names that are looked at along with the write
	if wanted {
		if have = o.inventory(); len(have.settled) <= few {
			along = have.settled
		}
	}
	remaining, missing, err := o.prolong(ctx, along)
	if err == nil && missing {
		along = nil
		remaining, _, err = o.prolong(ctx, nil)
	}
	if err != nil {
		return backend.Renewal{}, err
	}
	if !wanted {
		return backend.Renewal{Remaining: remaining, Revision: known}, nil
	}
	tokens := have.tokens()
	if len(along) < len(have.settled) || len(have.open) > 0 {
		if tokens, err = o.verify(ctx, have); err != nil {
			return backend.Renewal{}, err
		}
	}
	renewal := backend.Renewal{
		Remaining: remaining, Revision: o.tell(have, tokens), Complete: true, Leases: make([]backend.Lease, 0, len(tokens)),
	}
	for name, token := range tokens {
		renewal.Leases = append(renewal.Leases, backend.Lease{Name: name, Token: token})
	}
	return renewal, nil
}

// prolong lets the session live on, and looks in passing whether it owns the names. If one is missing,
// nothing was done.
func (o *session) prolong(ctx context.Context, names []string) (remaining time.Duration, missing bool, err error) {
	conn, err := o.link.ready(ctx)
	if err != nil {
		return 0, false, err
	}
	sent := o.store.clock.Now()
	// Only a write proves anything: what a server reads may be the state of long ago.
	operations := append([]any{o.sign()}, o.checks(names)...)
	at, err := ask(ctx, o.link, func(c *zk.Conn) (int, error) {
		_, at, err := change(c, operations)
		return at, err
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && o.store.clock.Now().Sub(sent) > conn.timeout/impatience {
		conn.Close()
	}
	if errors.Is(err, zk.ErrNoNode) {
		if at > 0 {
			return 0, true, nil
		}
		err = backend.ErrExpired // somebody has removed it
	}
	if isExpired(err) {
		o.abandon(err)
	}
	if err != nil {
		return 0, false, err
	}
	remaining, err = o.accept(conn, request{sent, o.store.clock.Now()})
	return remaining, false, err
}

// sign is the write that proves that the session lives.
func (o *session) sign() *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: o.store.tree.session(o.id), Data: o.data, Version: -1}
}

// CloseSession implements [backend.Driver].
func (s *Store) CloseSession(ctx context.Context, session string) error {
	o, err := s.session(ctx, session)
	if err == nil {
		if err = o.end(ctx); isExpired(err) {
			o.abandon(err)
		}
	}
	if isExpired(err) {
		return nil
	}
	return s.at(err)
}

// few is how many leases a session may have for all of it to go in one transaction.
const few = maxOperations/2 - 1

// end deletes the session's node, with which it is dead, and what is left of its leases.
func (o *session) end(ctx context.Context) error {
	node := o.store.tree.session(o.id)
	names := o.owned()
	done := false
	if len(names) <= few {
		operations := []any{&zk.DeleteRequest{Path: node, Version: -1}}
		for _, name := range names {
			operations = append(operations, o.store.vacate(name, o.id)...)
		}
		at, err := ask(ctx, o.link, func(c *zk.Conn) (int, error) {
			_, at, err := change(c, operations)
			return at, err
		})
		switch {
		case err == nil:
			done, names = true, nil
		case at < 1 && !errors.Is(err, zk.ErrNoNode):
			return err
		}
	}
	if !done {
		if err := remove(ctx, o.link, node); err != nil {
			return err
		}
	}
	o.forget()
	if !o.store.background(func(ctx context.Context) {
		o.store.tidy(ctx, o.link, names, o.id)
		o.link.close()
	}) {
		o.link.close()
	}
	return nil
}

// owned returns the names that the session is known to own.
func (o *session) owned() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, c := range o.claims {
		if c.token != 0 {
			names = append(names, name)
		}
	}
	return names
}

// forget says that the session is no more.
func (o *session) forget() {
	o.mu.Lock()
	o.dying = true
	if o.alarm != nil {
		o.alarm.Stop()
	}
	o.mu.Unlock()
	o.store.mu.Lock()
	delete(o.store.sessions, o.id)
	o.store.mu.Unlock()
}

// abandon gives up a session that has ended at the servers, or that they shall let expire.
func (o *session) abandon(reason error) {
	o.link.end(reason)
	o.forget()
	o.store.discard(o.link)
}

// expire ends a session that nobody renews. The library would keep it alive for as long as this process
// runs.
func (o *session) expire() {
	if !o.due() {
		return
	}
	o.store.background(func(ctx context.Context) {
		// If this does not get through, the servers end it.
		ctx, cancel := context.WithTimeout(ctx, o.lease)
		defer cancel()
		if remove(ctx, o.link, o.store.tree.session(o.id)) == nil {
			o.forget()
			o.link.close()
			return
		}
		o.abandon(backend.ErrExpired)
	})
}

// due reports whether the session is to be ended now. From then on, a renewal that is on its way comes too
// late; one that was answered just before is in time.
func (o *session) due() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dying {
		return false
	}
	if now := o.store.clock.Now(); now < o.until {
		o.arm(now)
		return false
	}
	o.dying = true
	return true
}
