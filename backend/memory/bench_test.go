package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("name-%05d", i)
	}
	return names
}

// One renewal keeps any number of leases: its price does not depend on them as
// long as the client knows the list.
func BenchmarkRenew(b *testing.B) {
	for _, leases := range []int{1, 10, 100, 1_000, 10_000} {
		for _, full := range []bool{false, true} {
			b.Run(fmt.Sprintf("full=%t/leases=%d", full, leases), func(b *testing.B) {
				store := memory.New()
				grant, err := store.Open(ctx, time.Hour, "")
				if err != nil {
					b.Fatal(err)
				}
				for names := range slices.Chunk(numbered(leases), backend.MaxBatch) {
					if _, err := store.Acquire(ctx, grant.Session, names, true); err != nil {
						b.Fatal(err)
					}
				}
				known, err := store.Renew(ctx, grant.Session, 0, true)
				if err != nil || len(known.Leases) != leases {
					b.Fatalf("%d leases, %v", len(known.Leases), err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := store.Renew(ctx, grant.Session, known.Revision, full); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A thousand names acquired and released one by one, and in one call.
func BenchmarkThousandNames(b *testing.B) {
	names := numbered(backend.MaxBatch)
	for _, size := range []int{1, len(names)} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			store := memory.New()
			grant, err := store.Open(ctx, time.Hour, "")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				for batch := range slices.Chunk(names, size) {
					outcomes, err := store.Acquire(ctx, grant.Session, batch, false)
					if err != nil {
						b.Fatal(err)
					}
					leases := make([]backend.Lease, len(outcomes))
					for i, o := range outcomes {
						leases[i] = backend.Lease{Name: o.Name, Token: o.Token}
					}
					if err := store.Release(ctx, grant.Session, leases); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
