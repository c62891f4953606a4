package simba_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// taken makes somebody hold n names for an hour, and returns them.
func taken(tb testing.TB, store *memory.Store, n int) []string {
	tb.Helper()
	ctx := context.Background()
	grant, err := store.Open(ctx, time.Hour, "somebody")
	if err != nil {
		tb.Fatal(err)
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("name-", i)
	}
	for left := names; len(left) > 0; {
		batch := left[:min(len(left), backend.MaxBatch)]
		left = left[len(batch):]
		if _, err := store.Acquire(ctx, grant.Session, batch, false); err != nil {
			tb.Fatal(err)
		}
	}
	return names
}

// Ten thousand candidates cost the store what a handful do: one renewal per
// interval, and one call per thousand names and attempt period.
func TestCallsOfTenThousandCandidates(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		const n, periods = 10_000, 6
		names := taken(t, w.store, n)
		p := w.start(simba.WithRetryJitter(0)) // so that a period is half an interval
		for _, name := range names {
			must(p.Elect(name, simba.Listener{}))
		}
		time.Sleep(interval + time.Second) // between two of whatever is counted
		renewals, attempts := p.way.count(opRenew), p.way.count(opAcquire)
		time.Sleep(periods * interval / 2)
		synctest.Wait()
		if r := p.way.count(opRenew) - renewals; r > periods/2 {
			t.Errorf("%d renewals in %d intervals", r, periods/2)
		}
		if a := p.way.count(opAcquire) - attempts; a > periods*(n/backend.MaxBatch+2) || a < periods*n/backend.MaxBatch {
			t.Errorf("%d calls in %d attempt periods", a, periods)
		}
		if r := p.way.count(opRelease); r != 0 {
			t.Errorf("%d releases", r)
		}
	})
}

func TestReadingATermAllocatesNothing(t *testing.T) {
	p := real(t).start()
	l := must(p.Lock(t.Context(), "n"))
	e := must(p.Elect("e", simba.Listener{}))
	eventually(t, "a leader", func() bool { return e.Term() != nil })
	if n := testing.AllocsPerRun(1000, func() {
		if !l.Valid() || l.Remaining() <= 0 || l.EnsureValid(time.Second) != nil || !e.Term().Valid() || l.Token() == 0 {
			t.Error("the lock is not valid")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// bench opens a client on a store of its own.
func bench(b *testing.B) *simba.Client {
	b.Helper()
	c, err := simba.Open(b.Context(), memory.New(), simba.WithLogger(discard))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func BenchmarkTermValid(b *testing.B) {
	c := bench(b)
	l := must(c.Lock(b.Context(), "n"))
	b.ReportAllocs()
	for b.Loop() {
		if !l.Valid() {
			b.Fatal("not valid")
		}
	}
}

func BenchmarkLockRelease(b *testing.B) {
	c := bench(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		l, err := c.Lock(ctx, "n")
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWithLock(b *testing.B) {
	c := bench(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.WithLock(ctx, "n", noTask); err != nil {
			b.Fatal(err)
		}
	}
}

// inUse is the memory of heap and stacks after a collection, in bytes.
func inUse() float64 {
	var m runtime.MemStats
	for range 3 { // stacks shrink by half each time
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkIdleCandidates starts 100,000 elections whose names somebody else holds,
// in one client, and closes it. It reports what a candidate costs all in.
func BenchmarkIdleCandidates(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		b.StopTimer()
		store := memory.New()
		way := newWay(store)
		c := must(simba.Open(b.Context(), way, simba.WithLogger(discard), simba.WithLease(time.Hour)))
		names := taken(b, store, n)
		before := inUse()
		b.StartTimer()
		begin := time.Now()
		for _, name := range names {
			must(c.Elect(name, simba.Listener{}))
		}
		started := time.Since(begin)
		// All have tried in vain once the store has been asked to watch all names.
		for way.watched() < n {
			time.Sleep(time.Millisecond)
		}
		b.StopTimer()
		size := (inUse() - before) / n
		if size > 6<<10 {
			b.Errorf("a candidate takes %.0f bytes, more than 6 KB", size)
		}
		b.StartTimer()
		begin = time.Now()
		if err := c.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(size, "B/candidate")
		b.ReportMetric(started.Seconds(), "s/start")
		b.ReportMetric(time.Since(begin).Seconds(), "s/close")
		runtime.KeepAlive(names)
	}
}
