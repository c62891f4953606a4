package drivertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/ratio"
)

// Bench is a driver with one session, for benchmarks.
type Bench struct {
	// B is the benchmark.
	B *testing.B
	// Driver is what is measured.
	Driver backend.Driver
	// Ctx is for all calls.
	Ctx context.Context
	// ID is the session.
	ID string

	known uint64 // the revision of its leases
}

// NewBench opens a session.
func NewBench(b *testing.B, driver backend.Driver) *Bench {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	b.Cleanup(cancel)
	grant, err := driver.Open(ctx, time.Hour, "bench")
	if err != nil {
		b.Fatal(err)
	}
	return &Bench{B: b, Driver: driver, Ctx: ctx, ID: grant.Session}
}

// Win acquires names, all of which are free.
func (b *Bench) Win(names ...string) []backend.Lease {
	outcomes, err := b.Driver.Acquire(b.Ctx, b.ID, names, true)
	if err != nil {
		b.B.Fatal(err)
	}
	leases := Won(outcomes)
	if len(leases) != len(names) {
		b.B.Fatalf("won %d of %d", len(leases), len(names))
	}
	return leases
}

// Free releases leases.
func (b *Bench) Free(leases ...backend.Lease) {
	if err := b.Driver.Release(b.Ctx, b.ID, leases); err != nil {
		b.B.Fatal(err)
	}
}

// Pairs acquires and releases a name n times.
func (b *Bench) Pairs(n int) {
	for range n {
		b.Free(b.Win("name")...)
	}
}

// Hold acquires n names.
func (b *Bench) Hold(n int) {
	for names := range slices.Chunk(Numbered(n), backend.MaxBatch) {
		b.Win(names...)
	}
}

// Renew renews n times with what the session knows of its leases.
func (b *Bench) Renew(n int) {
	for range n {
		r, err := b.Driver.Renew(b.Ctx, b.ID, b.known, false)
		if err != nil {
			b.B.Fatal(err)
		}
		b.known = r.Revision
	}
}

// RenewMany compares a renewal of 10,000 leases with one of a single lease.
func RenewMany(b *testing.B, fresh func() backend.Driver) {
	many, one := NewBench(b, fresh()), NewBench(b, fresh())
	many.Hold(10_000)
	one.Hold(1)
	ratio.Report(b, 50, many.Renew, one.Renew)
}

// Batch compares 1,000 names in one call with a call for each.
func Batch(b *testing.B, fresh func() backend.Driver) {
	together, each := NewBench(b, fresh()), NewBench(b, fresh())
	names := Numbered(backend.MaxBatch)
	ratio.Report(b, 1,
		func(n int) {
			for range n {
				together.Free(together.Win(names...)...)
			}
		},
		func(n int) {
			for range n {
				for _, name := range names {
					each.Free(each.Win(name)...)
				}
			}
		})
}

// Endurance compares a name that was acquired and released 100,000 times with one of a fresh store. It
// also reports how much longer the last tenth took than the first one, which depends on what else the
// machine did meanwhile. It takes minutes before it begins to measure.
func Endurance(b *testing.B, fresh func() backend.Driver) {
	const pairs = 100_000
	worn := NewBench(b, fresh())
	var tenths [10]time.Duration
	for i := range tenths {
		begun := time.Now()
		worn.Pairs(pairs / len(tenths))
		tenths[i] = time.Since(begun)
	}
	ratio.Report(b, 100, worn.Pairs, NewBench(b, fresh()).Pairs)
	b.ReportMetric(float64(tenths[9])/float64(tenths[0]), "last/first")
}
