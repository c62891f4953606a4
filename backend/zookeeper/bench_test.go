package zookeeper

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/ratio"
	"github.com/simba-go/simba/internal/servers"
)

// durable is a server that waits for the disk, as all do outside of tests.
var durable = servers.Share(servers.ZooKeeper, "forceSync=yes")

// freshDurable opens a new namespace of it.
func freshDurable(b *testing.B) *store {
	return opened(b, []string{durable.For(b).Addr}, Options{Namespace: freshNamespace()})
}

// bare is the library and a session's node, and nothing else.
type bare struct {
	*store
	conn *zk.Conn
	node string
}

func newBare(b *testing.B, s *store) *bare {
	d := &bare{store: s, conn: s.byHand(), node: s.tree.session("bare")}
	if _, err := d.conn.Create(d.node, nil, zk.FlagEphemeral, s.acl.list); err != nil {
		b.Fatal(err)
	}
	return d
}

func (d *bare) multi(operations ...any) {
	if _, err := d.conn.Multi(operations...); err != nil {
		d.tb.Fatal(err)
	}
}

// pair takes a name and gives it back, by the same transactions.
func (d *bare) pair(name string) {
	d.multi(append([]any{&zk.SetDataRequest{Path: d.node, Version: -1}}, d.occupy(view{name: name}, "bare")...)...)
	d.multi(d.vacate(name, "bare")...)
}

// An acquisition and a release against the same transactions on the bare library. The throughput is at
// least 0.9 of that if the ratio is at most 1.11.
func BenchmarkAcquireRelease(b *testing.B) {
	s := freshDurable(b)
	session := s.open(time.Minute).Session
	s.alive(session)
	d := newBare(b, s)
	ratio.Report(b, 10, func(n int) {
		for range n {
			s.free(session, "name", s.win(session, "name"))
		}
	}, func(n int) {
		for range n {
			d.pair("name")
		}
	})
}

// alive renews sessions now and then, until the benchmark is over.
func (s *store) alive(sessions ...string) {
	stop := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			for _, session := range sessions {
				s.renew(session)
			}
		}
	})
	s.tb.Cleanup(func() {
		close(stop)
		renewing.Wait()
	})
}

// A renewal of a session with leases, with and without their list, against a write.
func BenchmarkRenew(b *testing.B) {
	for _, leases := range []int{1, 1000} {
		for _, full := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/full=%t", leases, full), func(b *testing.B) {
				s := freshDurable(b)
				session := s.open(time.Minute).Session
				names := make([]string, leases)
				for i := range names {
					names[i] = fmt.Sprint("name-", i)
				}
				if _, err := s.Acquire(s.ctx, session, names, false); err != nil {
					b.Fatal(err)
				}
				known := s.renew(session).Revision
				d := newBare(b, s)
				ratio.Report(b, 20, func(n int) {
					for range n {
						if _, err := s.Renew(s.ctx, session, known, full); err != nil {
							b.Fatal(err)
						}
					}
				}, func(n int) {
					for range n {
						if _, err := d.conn.Set(d.node, nil, -1); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
	}
}

// A thousand names in one call, against one by one.
func BenchmarkBatch(b *testing.B) {
	s := freshDurable(b)
	session := s.open(time.Minute).Session
	s.alive(session)
	names := make([]string, backend.MaxBatch)
	for i := range names {
		names[i] = fmt.Sprint("name-", i)
	}
	take := func(names []string) {
		outcomes, err := s.Acquire(s.ctx, session, names, false)
		if err != nil {
			b.Fatal(err)
		}
		leases := make([]backend.Lease, len(outcomes))
		for i, o := range outcomes {
			leases[i] = backend.Lease{Name: o.Name, Token: o.Token}
		}
		if err := s.Release(s.ctx, session, leases); err != nil {
			b.Fatal(err)
		}
	}
	ratio.Report(b, 1, func(int) { take(names) }, func(int) {
		for i := range names {
			take(names[i : i+1])
		}
	})
}

// From a release to the next owner's answer, in round trips: writes of the bare library, at the same
// percentile, for now and then a disk is slow for everybody.
func BenchmarkTakeover(b *testing.B) {
	s := freshDurable(b)
	other := opened(b, s.servers, Options{Namespace: s.tree.root})
	owner, waiter := s.open(time.Minute).Session, other.open(time.Minute).Session
	s.alive(owner)
	other.alive(waiter)
	d := newBare(b, s)
	vacated := make(chan struct{}, 1)
	set := backend.NewNameSet()
	set.Update([]string{"name"}, nil)
	go other.Watch(other.life, set, func(...string) {
		select {
		case vacated <- struct{}{}:
		default:
		}
	})
	token := s.win(owner, "name")
	takeover := func() time.Duration {
		for len(vacated) > 0 {
			<-vacated
		}
		begin := time.Now()
		go s.Release(s.ctx, owner, []backend.Lease{{Name: "name", Token: token}})
		for {
			select {
			case <-vacated:
			case <-time.After(bound):
				b.Fatal("nothing was heard of the release")
			}
			outcomes, err := other.Acquire(other.ctx, waiter, []string{"name"}, false)
			if err != nil {
				b.Fatal(err)
			}
			if outcomes[0].Won {
				took := time.Since(begin)
				other.free(waiter, "name", outcomes[0].Token)
				token = s.win(owner, "name")
				return took
			}
		}
	}
	var trips, takeovers []time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := d.conn.Set(d.node, nil, -1); err != nil {
			b.Fatal(err)
		}
		trips = append(trips, time.Since(begin))
		takeovers = append(takeovers, takeover())
	}
	slices.Sort(trips)
	slices.Sort(takeovers)
	b.ReportMetric(0, "ns/op")
	for _, p := range []int{50, 99} {
		trip, took := trips[len(trips)*p/100], takeovers[len(takeovers)*p/100]
		b.ReportMetric(float64(trip), fmt.Sprintf("trip-p%d-ns", p))
		b.ReportMetric(float64(took)/float64(trip), fmt.Sprintf("takeover-p%d-trips", p))
	}
}
