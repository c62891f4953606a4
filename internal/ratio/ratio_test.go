package ratio

import (
	"flag"
	"testing"
)

var sink *int

func TestReport(t *testing.T) {
	if err := flag.Set("test.benchtime", "9x"); err != nil {
		t.Fatal(err)
	}
	const n = 100
	ours, bare := 0, 0
	result := testing.Benchmark(func(b *testing.B) {
		Report(b, n,
			func(n int) {
				for range n {
					ours++
					sink = new(int)
				}
			},
			func(n int) { bare += n })
	})
	// Once before, nine times, and of ours once more to count its allocations.
	if ours != 11*n || bare != 10*n {
		t.Errorf("ours ran %d times and bare %d, want %d and %d", ours, bare, 11*n, 10*n)
	}
	for _, metric := range []string{"ours-ns", "bare-ns", "ratio"} {
		if result.Extra[metric] <= 0 {
			t.Errorf("%s is %v", metric, result.Extra[metric])
		}
	}
	if got := result.Extra["ours-allocs"]; got < 1 || got > 1.5 {
		t.Errorf("ours-allocs is %v, want 1", got)
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{9, 1, 2, 100, 3}); got != 3 {
		t.Errorf("the median is %v, want 3", got)
	}
}
