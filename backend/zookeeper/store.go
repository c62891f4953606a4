// Package zookeeper is a backend in ZooKeeper.
//
// A session is an ephemeral node, and a lease is good if and only if its session's node exists. See
// docs/backends/zookeeper.md for the nodes, for what the servers' timeouts turn a lease into, for what is
// guaranteed and what is not, and for what to do about which error.
package zookeeper

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Store is a namespace of an ensemble. It is safe for concurrent use, and one is enough for all clients
// of a process. Each session has a connection of its own, and looking has one that all share.
//
// A call ends soon after its context is done. It may still be carried out then.
type Store struct {
	servers []string // host:port
	tree    tree
	acl     acl
	network dialer
	clock   actor.Clock

	life    context.Context // until Close
	end     context.CancelFunc
	running sync.WaitGroup // what clears away

	vacant hints

	mu       sync.Mutex
	closed   bool // no more may begin
	sessions map[string]*session
	looking  *reader // that all share, nil until it is needed
}

var (
	_ backend.Store   = (*Store)(nil)
	_ backend.Driver  = (*Store)(nil)
	_ backend.Watcher = (*Store)(nil)
	_ backend.Noter   = (*Store)(nil)
)

// Options are for [New]. The zero value is ready to use.
type Options struct {
	// Namespace is the path of the node that everything is kept below, "/simba" by default. It is created
	// if there is none. Its elements are names as leases have; all together have 128 bytes at most.
	Namespace string
	// User and Password are for the digest scheme. With a user, only that user may do anything with the
	// nodes; without one, everybody may.
	User, Password string
	// TLS is how to talk to the servers, nil for without. ServerName is that of each server by default.
	TLS *tls.Config
	// Dial makes connections in place of a [net.Dialer]: through a proxy, for example. TLS comes on top.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Open opens a namespace of the ensemble at a URL:
//
//	zookeeper://host1:2181,host2:2181,host3:2181/namespace
//	zookeeper://user:password@host1,host2/apps/billing?tls=true&ca=/etc/ssl/zookeeper.pem
//
// The port is 2181 by default, and the namespace "/simba". User and password are as in [Options], and what
// is special in them is escaped with %. The parameters are tls, and for TLS the files ca, with the
// authorities to trust in place of the system's, and cert and key, to prove who we are.
//
// ctx bounds the opening, as with [New]. Errors never contain the password.
func Open(ctx context.Context, url string) (*Store, error) {
	servers, options, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("simba: zookeeper: %w", err)
	}
	return New(ctx, servers, options)
}

// New opens a namespace of the ensemble that the servers belong to, each a host or a host:port; several
// are there for when one does not answer. It finds out at once whether it can be used; ctx bounds that
// and nothing else. Errors match [ErrURL], [ErrPermission] and the others of this package.
func New(ctx context.Context, servers []string, options Options) (*Store, error) {
	s, err := newStore(servers, options)
	if err != nil {
		return nil, fmt.Errorf("simba: zookeeper: %w", err)
	}
	if err := s.prepare(ctx); err != nil {
		s.Close()
		return nil, s.at(err)
	}
	return s, nil
}

func newStore(servers []string, options Options) (*Store, error) {
	addresses, err := checkServers(servers)
	if err != nil {
		return nil, err
	}
	root, err := checkNamespace(options.Namespace)
	if err != nil {
		return nil, err
	}
	acl, err := newACL(options.User, options.Password)
	if err != nil {
		return nil, err
	}
	s := &Store{
		servers: addresses, tree: tree{root}, acl: acl, network: newDialer(options), clock: actor.SystemClock{},
		sessions: make(map[string]*session),
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Backend returns [backend.Serve] of the store.
func (s *Store) Backend() actor.Behavior { return backend.Serve(s) }

// Close ends the use of the ensemble, and waits until nothing of the store is left. Sessions that are
// still open stay so until the servers let them expire: whoever relies on them may not know yet. Calls
// that wait end with [ErrClosed]. It may be called again, and returns nil.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	sessions, looking := s.sessions, s.looking
	s.sessions, s.looking = nil, nil
	s.mu.Unlock()
	s.end()
	for _, open := range sessions {
		open.abandon(ErrClosed)
	}
	if looking != nil {
		looking.link.close()
	}
	s.running.Wait()
	return nil
}

// background runs what clears away, unless the store is closed; Close waits for it, and ends ctx. It
// returns whether it does.
func (s *Store) background(f func(ctx context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Go(func() { f(s.life) })
	}
	return !s.closed
}

// at says which ensemble an error is about.
func (s *Store) at(err error) error {
	if err == nil || isExpired(err) {
		return err
	}
	return fmt.Errorf("simba: zookeeper: %s%s: %w", strings.Join(s.servers, ","), s.tree.root, explain(err))
}
