package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/ratio"
)

// bench is a store with one session.
type bench struct {
	*testing.B
	*Store
	url     string
	ctx     context.Context
	session string
	known   uint64 // the revision of its leases
}

func newBench(b *testing.B) *bench {
	url, _ := newSchema(b, server.For(b))
	s := opened(b, url)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	b.Cleanup(cancel)
	grant, err := s.Open(ctx, time.Hour, "bench")
	if err != nil {
		b.Fatal(err)
	}
	return &bench{B: b, Store: s.Store, url: url, ctx: ctx, session: grant.Session}
}

func (b *bench) win(names ...string) []backend.Lease {
	outcomes, err := b.Acquire(b.ctx, b.session, names, true)
	if err != nil {
		b.Fatal(err)
	}
	leases := won(outcomes, false)
	if len(leases) != len(names) {
		b.Fatalf("won %d of %d", len(leases), len(names))
	}
	return leases
}

func (b *bench) free(leases ...backend.Lease) {
	if err := b.Release(b.ctx, b.session, leases); err != nil {
		b.Fatal(err)
	}
}

// hold acquires n names.
func (b *bench) hold(n int) {
	for names := range slices.Chunk(numbered(n), backend.MaxBatch) {
		b.win(names...)
	}
}

// renew renews n times with what the session knows of its leases.
func (b *bench) renew(n int) {
	for range n {
		r, err := b.Renew(b.ctx, b.session, b.known, false)
		if err != nil {
			b.Fatal(err)
		}
		b.known = r.Revision
	}
}

// bare is one connection of the driver, with prepared statements and nothing else.
type bare struct {
	*bench
	conn *pgx.Conn
}

func newBare(b *testing.B) *bare {
	s := newBench(b)
	config, _, err := ParseURL(s.url)
	if err != nil {
		b.Fatal(err)
	}
	prepare(config.ConnConfig, settings)
	conn, err := pgx.ConnectConfig(s.ctx, config.ConnConfig)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(context.Background()) })
	return &bare{s, conn}
}

// pair calls the functions of an acquisition and a release.
func (b *bare) pair(name string) {
	schema := "SELECT * FROM " + b.options.quoted()
	rows, err := b.conn.Query(b.ctx, schema+".lease_acquire($1, $2, $3)", b.session, []string{name}, true)
	if err != nil {
		b.Fatal(err)
	}
	var token int64
	for rows.Next() {
		var name, holder, label *string
		var won bool
		var last, remaining int64
		if err := rows.Scan(&name, &won, &last, &holder, &label, &remaining); err != nil {
			b.Fatal(err)
		}
		token = max(token, last)
	}
	var freed []string
	err = b.conn.QueryRow(b.ctx, schema+".lease_release($1, $2, $3)", b.session, []string{name}, []int64{token}).Scan(&freed)
	if err != nil || len(freed) != 1 {
		b.Fatalf("freed %v: %v", freed, err)
	}
}

// What a call costs beyond its function: the ratio is above 1 by that.
func BenchmarkAcquireRelease(b *testing.B) {
	ours, bare := newBench(b), newBare(b)
	ratio.Report(b, 50,
		func(n int) {
			for range n {
				ours.free(ours.win("name")...)
			}
		},
		func(n int) {
			for range n {
				bare.pair("name")
			}
		})
}

// A renewal costs the same for 10,000 leases as for one, thanks to the revision.
func BenchmarkRenewManyLeases(b *testing.B) {
	many, one := newBench(b), newBench(b)
	many.hold(10_000)
	one.hold(1)
	ratio.Report(b, 50, many.renew, one.renew)
}

// 1,000 names in one call, against a call for each.
func BenchmarkBatch(b *testing.B) {
	together, each := newBench(b), newBench(b)
	names := numbered(backend.MaxBatch)
	ratio.Report(b, 1,
		func(n int) {
			for range n {
				together.free(together.win(names...)...)
			}
		},
		func(n int) {
			for range n {
				for _, name := range names {
					each.free(each.win(name)...)
				}
			}
		})
}

// From when a release has returned until another process hears of it, in round trips to the server.
func BenchmarkWake(b *testing.B) {
	owner := newBench(b)
	waiter := opened(b, owner.url)
	w := waiter.watch("name")
	w.hears("name")
	var wakes, trips []time.Duration
	for b.Loop() {
		lease := owner.win("name")
		begun := time.Now()
		if err := owner.calls.Ping(owner.ctx); err != nil {
			b.Fatal(err)
		}
		trips = append(trips, time.Since(begun))
		owner.free(lease...)
		begun = time.Now()
		w.hears("name")
		wakes = append(wakes, time.Since(begun))
		time.Sleep(2 * hush) // a release after a pause, as most are
	}
	slices.Sort(wakes)
	slices.Sort(trips)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(wakes[len(wakes)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(wakes[len(wakes)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(trips[len(trips)/2].Microseconds()), "trip-us")
	b.ReportMetric(float64(wakes[len(wakes)*99/100])/float64(trips[len(trips)/2]), "p99-trips")
}

// 100,000 acquisitions and releases of one name: how much slower is the last tenth than the first?
// One run takes minutes: -bench Endurance -benchtime 1x.
func BenchmarkEndurance(b *testing.B) {
	const pairs = 100_000
	s := newBench(b)
	for b.Loop() {
		var tenths [10]time.Duration
		for i := range tenths {
			begun := time.Now()
			for range pairs / len(tenths) {
				s.free(s.win("name")...)
			}
			tenths[i] = time.Since(begun)
		}
		b.ReportMetric(float64(tenths[9])/float64(tenths[0]), "last/first")
	}
}
