// Package ratio measures how much dearer one way of doing something is than
// another, on machines that are busy with other things as well.
package ratio

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// Report runs ours and bare in turn within one benchmark and reports the median
// of the ratios of neighbouring rounds, which noise that lasts longer than a
// round cancels out of. Each function does its operation n times.
//
// The metrics are the median times of one operation ("ours-ns", "bare-ns"), the
// median ratio ("ratio") and what one operation of ours allocates
// ("ours-allocs").
func Report(b *testing.B, n int, ours, bare func(n int)) {
	b.Helper()
	ours(n) // what grows on first use has grown after this
	bare(n)
	var oursNs, bareNs, ratios []float64
	for i := 0; b.Loop(); i++ {
		var o, t float64
		if i%2 == 0 {
			o, t = nanos(n, ours), nanos(n, bare)
		} else {
			t, o = nanos(n, bare), nanos(n, ours)
		}
		oursNs, bareNs, ratios = append(oursNs, o), append(bareNs, t), append(ratios, o/t)
	}
	b.ReportMetric(0, "ns/op") // of both together: it says nothing
	b.ReportMetric(median(oursNs), "ours-ns")
	b.ReportMetric(median(bareNs), "bare-ns")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(allocs(n, ours), "ours-allocs")
}

// nanos is how long one of n operations takes.
func nanos(n int, f func(n int)) float64 {
	start := time.Now()
	f(n)
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// allocs is how many allocations one of n operations makes.
func allocs(n int, f func(n int)) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
