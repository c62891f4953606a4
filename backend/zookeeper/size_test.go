package zookeeper

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/servers"
)

// The largest transactions there are, with the longest namespace, user and names, are below what servers
// allow; and servers that have them in their logs start again. Sessions live on meanwhile.
func TestLargestTransactions(t *testing.T) {
	t.Parallel()
	server, err := servers.ZooKeeper("maxSessionTimeout=60000")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	namespace := "/" + strings.Repeat("n", maxNamespace-1)
	s := opened(t, []string{server.Addr}, Options{Namespace: namespace, User: strings.Repeat("u", maxUser), Password: "p"})
	session, other := s.open(time.Minute).Session, s.open(time.Minute).Session
	names := make([]string, backend.MaxBatch)
	for i := range names {
		names[i] = fmt.Sprintf("%0*d", backend.MaxName, i)
	}
	restart := func() {
		t.Helper()
		server.Kill()
		if err := server.Start(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	all := func(session string) (leases []backend.Lease) {
		t.Helper()
		outcomes, err := s.Acquire(s.ctx, session, names, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes {
			if !o.Won {
				t.Fatalf("%q was lost to %+v", o.Name, o.Holder)
			}
			leases = append(leases, backend.Lease{Name: o.Name, Token: o.Token})
		}
		return leases
	}
	leases := all(session)
	restart()
	listed := s.renew(session).Leases
	slices.SortFunc(listed, func(a, b backend.Lease) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(listed, leases) {
		t.Errorf("after a restart, it owns %d of %d", len(listed), len(leases))
	}
	// Taking all of them over from a session that is dead.
	c := s.byHand()
	if err := c.AddAuth("digest", s.acl.auth()); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(s.tree.session(session), -1); err != nil {
		t.Fatal(err)
	}
	leases = all(other)
	restart()
	if err := s.Release(s.ctx, other, leases); err != nil {
		t.Fatal(err)
	}
	if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) != 0 {
		t.Errorf("%d are held: %v", len(held), err)
	}
}
