package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/servers"
)

// bound is how long something may take that a healthy machine does in a small part of it.
const bound = time.Minute

// alone is a server that stands alone, and another is one that has nothing to do with it.
var alone, another = servers.Share(servers.ZooKeeper), servers.Share(servers.ZooKeeper)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.During(m, alone, another, durable)) }

// namespaces counts, so that each test has its own.
var namespaces atomic.Int64

func freshNamespace() string { return fmt.Sprintf("/simba-%d", namespaces.Add(1)) }

// store is a store for a test, which fails it if a call does.
type store struct {
	*Store
	tb  testing.TB
	ctx context.Context
}

// opened opens a namespace of the servers, and closes it after the test.
func opened(tb testing.TB, addresses []string, options Options) *store {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	tb.Cleanup(cancel)
	s, err := New(ctx, addresses, options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return &store{s, tb, ctx}
}

// fresh opens a new namespace of the server that stands alone.
func fresh(tb testing.TB) *store {
	return opened(tb, []string{alone.For(tb).Addr}, Options{Namespace: freshNamespace()})
}

func (s *store) open(lease time.Duration) backend.Grant {
	s.tb.Helper()
	grant, err := s.Open(s.ctx, lease, "tester")
	if err != nil {
		s.tb.Fatal(err)
	}
	return grant
}

func (s *store) win(session, name string) uint64 {
	s.tb.Helper()
	outcomes, err := s.Acquire(s.ctx, session, []string{name}, false)
	if err != nil {
		s.tb.Fatal(err)
	}
	if !outcomes[0].Won {
		s.tb.Fatalf("%q was lost to %+v", name, outcomes[0].Holder)
	}
	return outcomes[0].Token
}

func (s *store) renew(session string) backend.Renewal {
	s.tb.Helper()
	r, err := s.Renew(s.ctx, session, 0, true)
	if err != nil {
		s.tb.Fatal(err)
	}
	return r
}

// renewSoon is for connections that are being cut: it takes the first renewal that is not lost with one.
func (s *store) renewSoon(session string, known uint64, full bool) backend.Renewal {
	s.tb.Helper()
	for {
		r, err := s.Renew(s.ctx, session, known, full)
		if err == nil {
			return r
		}
		if s.ctx.Err() != nil || !errors.Is(err, ErrConnection) {
			s.tb.Fatal(err)
		}
	}
}

func (s *store) free(session, name string, token uint64) {
	s.tb.Helper()
	if err := s.Release(s.ctx, session, []backend.Lease{{Name: name, Token: token}}); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *store) holder(name string) backend.Holder {
	s.tb.Helper()
	holders, err := s.Inspect(s.ctx, []string{name})
	if err != nil {
		s.tb.Fatal(err)
	}
	return holders[0]
}

// expired checks that a session is dead.
func (s *store) expired(session string) {
	s.tb.Helper()
	if _, err := s.Renew(s.ctx, session, 0, true); !errors.Is(err, backend.ErrExpired) {
		s.tb.Errorf("the renewal returned %v", err)
	}
}

// by hand is what an operator does.
func (s *store) byHand() *zk.Conn {
	s.tb.Helper()
	c, _, err := zk.Connect(s.servers, 10*time.Second, zk.WithLogger(silence{}))
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(c.Close)
	return c
}

// nodes returns the children of a node, in order.
func (s *store) nodes(c *zk.Conn, path string) []string {
	s.tb.Helper()
	names, _, err := c.Children(path)
	if err != nil {
		s.tb.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, met func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(bound); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within %v", what, bound)
		}
	}
}
