package sim_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/sim"
)

const ms = time.Millisecond

// distributions are those that there are, with what they are like.
var distributions = []struct {
	name          string
	d             sim.Distribution
	least         time.Duration // the 0-quantile
	mean          time.Duration // 0 for one that hardly converges
	median, at990 time.Duration
}{
	{"constant", sim.Constant(7 * ms), 7 * ms, 7 * ms, 7 * ms, 7 * ms},
	{"uniform", sim.Uniform(10*ms, 30*ms), 10 * ms, 20 * ms, 20 * ms, 29800 * time.Microsecond},
	{"uniform, of one value", sim.Uniform(ms, ms), ms, ms, ms, ms},
	{"exponential", sim.Exponential(30 * ms), 0, 30 * ms, ns(30e6 * math.Ln2), ns(30e6 * math.Log(100))},
	{"pareto", sim.Pareto(5*ms, 2.5), 5 * ms, ns(5e6 * 2.5 / 1.5), ns(5e6 * math.Pow(2, 1/2.5)), ns(5e6 * math.Pow(100, 1/2.5))},
	{"pareto without a variance", sim.Pareto(5*ms, 1.2), 5 * ms, 0, ns(5e6 * math.Pow(2, 1/1.2)), ns(5e6 * math.Pow(100, 1/1.2))},
	{"empirical", sim.Empirical([]time.Duration{3 * ms, ms, 2 * ms, 2 * ms}), ms, 2 * ms, 2 * ms, 3 * ms},
	{"empirical, of one value", sim.Empirical([]time.Duration{ms}), ms, ms, ms, ms},
}

func ns(f float64) time.Duration { return time.Duration(f) }

// near reports whether a duration is what it should be, but for so much of it.
func near(got, want time.Duration, tolerance float64) bool {
	return math.Abs(float64(got-want)) <= tolerance*float64(want)
}

func TestQuantiles(t *testing.T) {
	for _, tt := range distributions {
		for u, want := range map[float64]time.Duration{0: tt.least, 0.5: tt.median, 0.99: tt.at990} {
			if got := tt.d(u); !near(got, want, 1e-6) {
				t.Errorf("%s: the %v-quantile is %v, want %v", tt.name, u, got, want)
			}
		}
		const year = 365 * 24 * time.Hour
		if last := tt.d(math.Nextafter(1, 0)); last < tt.at990 || last > year {
			t.Errorf("%s: the longest that it draws is %v", tt.name, last)
		}
	}
}

// A larger number never draws a shorter time: so whoever shrinks a number shrinks the
// time.
func TestDistributionsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tt := rapid.SampledFrom(distributions).Draw(t, "distribution")
		u := rapid.Float64Range(0, math.Nextafter(1, 0))
		a, b := u.Draw(t, "a"), u.Draw(t, "b")
		if d := tt.d; d(min(a, b)) > d(max(a, b)) {
			t.Fatalf("%s: %v draws %v, and %v draws %v", tt.name, a, d(a), b, d(b))
		}
	})
}

// What a world draws is distributed as the distribution says, and nothing is drawn
// where there is none.
func TestDraw(t *testing.T) {
	const draws = 20_000
	w := sim.NewWorld(sim.Random(1))
	for _, tt := range distributions {
		all := make([]time.Duration, draws)
		var sum time.Duration
		for i := range all {
			all[i] = w.Draw("time", tt.d)
			sum += all[i]
		}
		slices.Sort(all)
		if mean := sum / draws; tt.mean > 0 && !near(mean, tt.mean, 0.05) {
			t.Errorf("%s: the mean is %v, want %v", tt.name, mean, tt.mean)
		}
		if got := all[draws/2]; !near(got, tt.median, 0.05) {
			t.Errorf("%s: the median is %v, want %v", tt.name, got, tt.median)
		}
		if got := all[draws*99/100]; !near(got, tt.at990, 0.15) {
			t.Errorf("%s: one in a hundred takes %v, want %v", tt.name, got, tt.at990)
		}
	}
	calm := sim.NewWorld(sim.Calm())
	if got := calm.Draw("time", sim.Uniform(ms, time.Hour)); got != ms {
		t.Errorf("the calm draw is %v, want the shortest", got)
	}
	none := sim.Record(sim.Random(1))
	if w := sim.NewWorld(none); w.Draw("time", nil) != 0 || none.Choices != 1 {
		t.Errorf("without a distribution it takes %d choices", none.Choices-1)
	}
}

func TestEmpiricalNeedsSamples(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a distribution without samples was accepted")
		}
	}()
	sim.Empirical(nil)
}

// Empirical keeps its own samples, however the caller goes on.
func TestEmpiricalKeepsItsSamples(t *testing.T) {
	samples := []time.Duration{3, 1, 2}
	d := sim.Empirical(samples)
	samples[1] = 100
	if d(0) != 1 || d(0.5) != 2 || d(0.99) != 3 {
		t.Errorf("it draws %v, %v and %v", d(0), d(0.5), d(0.99))
	}
}

func TestReadSamples(t *testing.T) {
	got, err := sim.ReadSamples(strings.NewReader("# measured\n\n3.1ms\n  40us \r\n0s\n1m30s"))
	if want := []time.Duration{3100 * time.Microsecond, 40 * time.Microsecond, 0, 90 * time.Second}; err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"":                 "there are no samples",
		"# none\n\n":       "there are no samples",
		"1ms\n# x\n\n3":    `line 4 is "3"`,
		"-1ms":             `line 1 is "-1ms"`,
		"1ms 2ms":          `line 1 is "1ms 2ms"`,
		"fast":             "such as 3.1ms",
		"9999999h9999999h": "line 1",
	} {
		if got, err := sim.ReadSamples(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%q is read as %v, %v; want an error with %q", text, got, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := sim.ReadSamples(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails yields %v", err)
	}
	if _, err := sim.ReadSamples(strings.NewReader(fmt.Sprintf("%0100000d", 1))); err == nil {
		t.Error("a line without an end is accepted")
	}
}
