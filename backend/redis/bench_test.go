package redis

import (
	"context"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/ratio"
)

// bench is a store with one session on a server of its own.
type bench struct {
	*store
	b     *testing.B
	admin *goredis.Client
	id    string // of its session
	known uint64 // the revision of its leases
}

func newBench(b *testing.B) *bench {
	server, ns := shared.For(b), namespace()
	admin := goredis.NewClient(&goredis.Options{Addr: server.Addr, MaxRetries: -1})
	b.Cleanup(func() { admin.Close() })
	settle(b, admin, ns)
	s := opened(b, at(server, ns))
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	b.Cleanup(cancel)
	s.ctx = ctx
	return &bench{store: s, b: b, admin: admin, id: s.session(time.Hour)}
}

func (b *bench) free(leases ...backend.Lease) {
	if err := b.Release(b.ctx, b.id, leases); err != nil {
		b.b.Fatal(err)
	}
}

// renew renews n times with what the session knows of its leases.
func (b *bench) renew(n int, full bool) {
	for range n {
		r, err := b.Renew(b.ctx, b.id, b.known, full)
		if err != nil {
			b.b.Fatal(err)
		}
		b.known = r.Revision
	}
}

// bare does what the store does for an acquisition and a release, with go-redis alone.
func (b *bench) bare(n int) {
	keys := append(b.keys[:len(b.keys):len(b.keys)], b.held(b.id))
	for range n {
		answer, err := b.admin.EvalSha(b.ctx, acquireScript.hash, keys, b.id, false, "bare").Slice()
		if err == nil {
			err = b.admin.EvalSha(b.ctx, releaseScript.hash, keys, b.id, b.channels(), "bare", answer[0]).Err()
		}
		if err != nil {
			b.b.Fatal(err)
		}
	}
}

// What a call costs beyond its script: the ratio is above 1 by that.
func BenchmarkAcquireRelease(b *testing.B) {
	ours := newBench(b)
	ratio.Report(b, 200,
		func(n int) {
			for range n {
				ours.free(ours.take(ours.id, "ours")...)
			}
		},
		ours.bare)
}

// A renewal costs the same for 10,000 leases as for one, thanks to the revision.
func BenchmarkRenewManyLeases(b *testing.B) {
	many, one := newBench(b), newBench(b)
	many.take(many.id, numbered(10_000)...)
	one.take(one.id, "name")
	ratio.Report(b, 100, func(n int) { many.renew(n, false) }, func(n int) { one.renew(n, false) })
}

// The complete list of 10,000 leases, against the revision.
func BenchmarkRenewWithList(b *testing.B) {
	many := newBench(b)
	many.take(many.id, numbered(10_000)...)
	ratio.Report(b, 5, func(n int) { many.renew(n, true) }, func(n int) { many.renew(n, false) })
}

// 1,000 names in one call, against a call for each.
func BenchmarkBatch(b *testing.B) {
	together, each := newBench(b), newBench(b)
	names := numbered(backend.MaxBatch)
	ratio.Report(b, 1,
		func(n int) {
			for range n {
				together.free(together.take(together.id, names...)...)
			}
		},
		func(n int) {
			for range n {
				for _, name := range names {
					each.free(each.take(each.id, name)...)
				}
			}
		})
}

// percentile of what was measured.
func percentile(measured []time.Duration, p int) float64 {
	slices.Sort(measured)
	return float64(measured[(len(measured)-1)*p/100].Nanoseconds())
}

// From a release to the next owner's win, in round trips of the same run: a call that asks who holds the name.
func BenchmarkWake(b *testing.B) {
	owner := newBench(b)
	other := opened(b, at(shared.For(b), owner.namespace))
	other.ctx = owner.ctx
	session := other.session(time.Hour)
	w := other.watch("name", "free")
	w.hears("free")
	var wakes, trips []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := owner.Inspect(owner.ctx, []string{"name"}); err != nil {
			b.Fatal(err)
		}
		trips = append(trips, time.Since(began))
		lease := owner.take(owner.id, "name")[0]
		for len(w.vacated) > 0 {
			<-w.vacated
		}
		began = time.Now()
		owner.free(lease)
		w.hears("name")
		token := other.win(session, "name")
		wakes = append(wakes, time.Since(began))
		other.free(session, "name", token)
		w.hears("name")
	}
	b.ReportMetric(percentile(trips, 50), "trip-p50-ns")
	b.ReportMetric(percentile(trips, 99), "trip-p99-ns")
	b.ReportMetric(percentile(wakes, 50), "wake-p50-ns")
	b.ReportMetric(percentile(wakes, 99), "wake-p99-ns")
	b.ReportMetric(percentile(wakes, 50)/percentile(trips, 50), "p50-trips")
	b.ReportMetric(percentile(wakes, 99)/percentile(trips, 99), "p99-trips")
}

// For how long the server does nothing else while a session with 10,000 leases is closed: its longest command.
func BenchmarkCloseManyLeases(b *testing.B) {
	s := newBench(b)
	names := numbered(10_000)
	do := func(args ...any) {
		if err := s.admin.Do(s.ctx, args...).Err(); err != nil {
			b.Fatal(err)
		}
	}
	do("CONFIG", "SET", "slowlog-log-slower-than", 0)
	do("CONFIG", "SET", "slowlog-max-len", 10_000)
	defer do("CONFIG", "SET", "slowlog-log-slower-than", 10_000)
	var longest []time.Duration
	for b.Loop() {
		session := s.session(time.Hour)
		s.take(session, names...)
		do("SLOWLOG", "RESET")
		if err := s.CloseSession(s.ctx, session); err != nil {
			b.Fatal(err)
		}
		log, err := s.admin.SlowLogGet(s.ctx, 10_000).Result()
		if err != nil {
			b.Fatal(err)
		}
		longest = append(longest, slices.MaxFunc(log, func(a, b goredis.SlowLog) int { return int(a.Duration - b.Duration) }).Duration)
	}
	b.ReportMetric(percentile(longest, 50)/1e6, "longest-p50-ms")
	b.ReportMetric(percentile(longest, 100)/1e6, "longest-max-ms")
}
