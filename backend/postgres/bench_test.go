package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/ratio"
)

// bench is a store in a new schema, with one session.
type bench struct {
	*drivertest.Bench
	*store
	url string
}

func newBench(b *testing.B) *bench {
	url, _ := newSchema(b, server.For(b))
	s := opened(b, url)
	return &bench{drivertest.NewBench(b, s), s, url}
}

func factory(b *testing.B) func() backend.Driver { return func() backend.Driver { return fresh(b) } }

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
	conn, err := pgx.ConnectConfig(s.Bench.Ctx, config.ConnConfig)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(context.Background()) })
	return &bare{s, conn}
}

// pair calls the functions of an acquisition and a release.
func (b *bare) pair(name string) {
	schema := "SELECT * FROM " + b.options.quoted()
	rows, err := b.conn.Query(b.Bench.Ctx, schema+".lease_acquire($1, $2, $3)", b.ID, []string{name}, true)
	if err != nil {
		b.B.Fatal(err)
	}
	var token int64
	for rows.Next() {
		var name, holder, label *string
		var won bool
		var last, remaining int64
		if err := rows.Scan(&name, &won, &last, &holder, &label, &remaining); err != nil {
			b.B.Fatal(err)
		}
		token = max(token, last)
	}
	var freed []string
	err = b.conn.QueryRow(b.Bench.Ctx, schema+".lease_release($1, $2, $3)", b.ID, []string{name}, []int64{token}).Scan(&freed)
	if err != nil || len(freed) != 1 {
		b.B.Fatalf("freed %v: %v", freed, err)
	}
}

// What a call costs beyond its function: the ratio is above 1 by that.
func BenchmarkAcquireRelease(b *testing.B) {
	ours, bare := newBench(b), newBare(b)
	ratio.Report(b, 50, ours.Pairs, func(n int) {
		for range n {
			bare.pair("name")
		}
	})
}

// A renewal costs the same for 10,000 leases as for one, thanks to the revision.
func BenchmarkRenewManyLeases(b *testing.B) { drivertest.RenewMany(b, factory(b)) }

// 1,000 names in one call, against a call for each.
func BenchmarkBatch(b *testing.B) { drivertest.Batch(b, factory(b)) }

// 100,000 pairs: -bench Endurance -benchtime 50x.
func BenchmarkEndurance(b *testing.B) { drivertest.Endurance(b, factory(b)) }

// From when a release has returned until another process hears of it, in round trips to the server.
func BenchmarkWake(b *testing.B) {
	owner := newBench(b)
	w := opened(b, owner.url).Lookout("name")
	w.Hears("name")
	var wakes, trips []time.Duration
	for b.Loop() {
		lease := owner.Bench.Win("name")
		begun := time.Now()
		if err := owner.calls.Ping(owner.Bench.Ctx); err != nil {
			b.Fatal(err)
		}
		trips = append(trips, time.Since(begun))
		owner.Bench.Free(lease...)
		begun = time.Now()
		w.Hears("name")
		wakes = append(wakes, time.Since(begun))
		time.Sleep(maxRest + 5*time.Millisecond) // a release after a pause, as most are
	}
	slices.Sort(wakes)
	slices.Sort(trips)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(wakes[len(wakes)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(wakes[len(wakes)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(trips[len(trips)/2].Microseconds()), "trip-us")
	b.ReportMetric(float64(wakes[len(wakes)/2])/float64(trips[len(trips)/2]), "p50-ratio")
	b.ReportMetric(float64(wakes[len(wakes)*99/100])/float64(trips[len(trips)*99/100]), "p99-ratio")
}
