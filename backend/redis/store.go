// Package redis is a backend in Redis or Valkey: alone, behind Sentinel, or as a cluster.
//
// Every operation is one script, which the server carries out in one step and by its own clock. See
// docs/backends/redis.md for what is stored, what is guaranteed and what is not, the permissions
// that are needed, and what to do about which error.
package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Store is a namespace on a server. It is safe for concurrent use, and one is enough for all
// clients of a process.
//
// A call ends with the deadline of its context. If that is cancelled before, it ends with the timeout of the connection
// at the latest (read_timeout, 5 s by default). It may still be carried out then.
type Store struct {
	where     string // for errors
	namespace string
	keys      []string // that all scripts have in common
	replicas  int
	heartbeat time.Duration // of watches

	calls    goredis.UniversalClient
	renewals goredis.UniversalClient // with connections of their own, so that nothing is in the way

	life context.Context // until Close
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool           // no more may begin
	running sync.WaitGroup // calls, watches, and what clears away

	closing sync.Once
	failed  error // what Close returns
}

var (
	_ backend.Store   = (*Store)(nil)
	_ backend.Driver  = (*Store)(nil)
	_ backend.Watcher = (*Store)(nil)
	_ backend.Noter   = (*Store)(nil)
)

// Options are for [New]. The zero value is ready to use.
type Options struct {
	// Namespace keeps users of one server apart: all keys begin with it, in braces. It is a name as
	// leases have, "simba" by default.
	Namespace string
	// Replicas is how many replicas must have confirmed an acquisition or a renewal, by WAIT, before
	// it counts. One that they do not confirm within a second has an unknown outcome, like one whose
	// answer is lost. It makes it less likely that a failover loses something; it is not consensus.
	// Zero, the default, means not to ask.
	Replicas int
}

// Open opens a namespace of the server at a URL, in the notation of go-redis:
//
//	redis://user:password@host:6379/0?namespace=orders
//	rediss://host:6380                                            with TLS
//	redis://host:26379/0?master_name=mymaster&addr=host2:26379    behind Sentinel
//	redis://host:7000?addr=host2:7000&addr=host3:7000             a cluster
//
// Besides the parameters of go-redis there are namespace and replicas, as in [Options]. The parameters
// addr, for a cluster, may be missing: a server says what it is part of.
//
// The server is asked at once whether it can be used. ctx bounds that and nothing else. Errors match
// [ErrURL], [ErrEviction], [ErrPermission] and the others of this package, and never contain the
// password.
func Open(ctx context.Context, url string) (*Store, error) {
	a, err := parseURL(url, false)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, a)
	if errors.Is(err, ErrCluster) {
		if a, err = parseURL(url, true); err != nil {
			return nil, err
		}
		return open(ctx, a)
	}
	return s, err
}

// New opens a namespace of the server that a client is connected to. It takes the client's options, and
// opens connections of its own: what is right for other traffic, like sending a command again, or
// waiting for a free connection, is not for leases. Hooks of the client do not see its calls. The
// client must stay open until the store is closed, and may be used for anything meanwhile. It is a
// [*goredis.Client], also one for Sentinel, or a [*goredis.ClusterClient].
func New(ctx context.Context, client goredis.UniversalClient, options Options) (*Store, error) {
	a, err := addressOf(client)
	if err != nil {
		return nil, err
	}
	a.options = options
	s, err := open(ctx, a)
	if errors.Is(err, ErrCluster) {
		return nil, fmt.Errorf("%w; use a redis.ClusterClient", err)
	}
	return s, err
}

func open(ctx context.Context, a address) (*Store, error) {
	namespace := a.options.Namespace
	if namespace == "" {
		namespace = DefaultNamespace
	}
	if name := (*backend.NameError)(nil); errors.As(backend.CheckName(namespace), &name) {
		return nil, fmt.Errorf("simba: redis: %w; it is %q: %s", ErrNamespace, name.Name, name.Why)
	}
	if a.options.Replicas < 0 {
		return nil, fmt.Errorf("simba: redis: %d replicas cannot be waited for; it must be 0 for none, or more", a.options.Replicas)
	}
	s := &Store{
		where: a.where, namespace: namespace, replicas: a.options.Replicas, heartbeat: heartbeat,
		calls: a.dial(0), renewals: a.dial(renewalConns),
	}
	for _, key := range []string{"sessions", "about", "revisions", "names", "dead", "meta", "notes"} {
		s.keys = append(s.keys, s.key(key))
	}
	s.life, s.end = context.WithCancel(context.Background())
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// DefaultNamespace is the namespace if nobody says otherwise.
const DefaultNamespace = "simba"

// key returns a key of the namespace. The braces make a hash tag: all of its keys are in one slot of a
// cluster, so that one script may use them.
func (s *Store) key(name string) string { return "{" + s.namespace + "}:" + name }

// held is the key of what a session holds.
func (s *Store) held(session string) string { return s.key("held:" + session) }

// channels is what the names of the channels begin with, on which the release of a lease is told.
func (s *Store) channels() string { return s.key("freed:") }

// Backend returns [backend.Serve] of the store.
func (s *Store) Backend() actor.Behavior { return backend.Serve(s) }

// Close closes all connections and waits until nothing is left; calls that are under way end with
// [ErrClosed]. Sessions that are still open stay so until they expire. A second Close returns what
// the first one did.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.end()
		s.failed = s.at(errors.Join(s.calls.Close(), s.renewals.Close()))
		s.running.Wait()
	})
	return s.failed
}

// begin keeps Close waiting until done is called, unless the store is closed.
func (s *Store) begin() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.running.Add(1)
	return s.running.Done, nil
}
