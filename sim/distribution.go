package sim

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Distribution says how long something takes, as the inverse of its cumulative
// distribution function: it returns the u-quantile, for u from 0 to below 1, and
// never less for a larger u. So 0 draws the shortest time that there is.
type Distribution func(u float64) time.Duration

// Constant always takes d.
func Constant(d time.Duration) Distribution { return func(float64) time.Duration { return d } }

// Uniform takes from low to high, each time as likely as the other.
func Uniform(low, high time.Duration) Distribution {
	return func(u float64) time.Duration { return low + time.Duration(u*float64(high-low)) }
}

// Exponential takes mean on average and has no memory: like the time to the next of
// many independent things.
func Exponential(mean time.Duration) Distribution {
	return func(u float64) time.Duration { return ceiling(-math.Log1p(-u) * float64(mean)) }
}

// Pareto takes at least least, and has a heavy tail: one in ten takes least x
// 10^(1/shape). With a shape of 1 or less the mean is infinite, and with one of 2 or
// less the variance.
func Pareto(least time.Duration, shape float64) Distribution {
	return func(u float64) time.Duration { return ceiling(float64(least) * math.Pow(1-u, -1/shape)) }
}

// Empirical takes one of the samples, each as likely as the other. It panics if
// there are none.
func Empirical(samples []time.Duration) Distribution {
	if len(samples) == 0 {
		panic("sim: an empirical distribution needs samples")
	}
	sorted := slices.Sorted(slices.Values(samples))
	return func(u float64) time.Duration { return sorted[int(u*float64(len(sorted)))] }
}

// ReadSamples reads durations, one a line, such as 3.1ms. Empty lines and lines that
// begin with # do not count.
func ReadSamples(r io.Reader) ([]time.Duration, error) {
	var samples []time.Duration
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		d, err := time.ParseDuration(line)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("sim: line %d is %q; it must be a duration of zero or more, such as 3.1ms", n, line)
		}
		samples = append(samples, d)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("sim: samples could not be read: %w", err)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("sim: there are no samples; give one duration a line, such as 3.1ms")
	}
	return samples, nil
}

// ceiling is the duration of so many nanoseconds, and a year at most: longer than
// any world lives.
func ceiling(ns float64) time.Duration { return time.Duration(min(ns, float64(365*24*time.Hour))) }

// Draw draws a duration from a distribution; nil always takes no time.
func (w *World) Draw(label string, d Distribution) time.Duration {
	if d == nil {
		return 0
	}
	const steps = 1 << 53 // a float64 tells as many apart
	return d(float64(w.Choose(label, steps)) / steps)
}
