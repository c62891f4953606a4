package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is one value of a setup that an experiment can vary.
type kind struct {
	name   string
	says   string // what the value is
	title  string // of the figure
	axis   string // of the figure, with its unit
	values []string
	of     quantity
	set    func(s *Setup, x float64)
	get    func(s *Setup) float64
	panels []panel
	faults []fault                                 // nil for mixed
	log    bool                                    // the axis of the figure
	mark   func(s *Setup) (x float64, what string) // a line in the figure, at a value that means something
}

// quantity is how a value is written.
type quantity struct {
	parse func(string) (float64, error)
	write func(float64) string
	scale float64 // of a figure's axis
	must  string  // what a person must write
}

var (
	seconds = quantity{parseSeconds, func(x float64) string { return text(duration(x)) }, 1, "a duration, such as 1.5s or 20ms"}
	millis  = quantity{parseSeconds, seconds.write, 1000, seconds.must}
	share   = quantity{parseShare, percent, 100, "a share, such as 1% or 0.01"}
	count   = quantity{parseCount, func(x float64) string { return strconv.Itoa(int(x)) }, 1, "a whole number"}
)

// text is a duration as a person writes it: 1m instead of 1m0s.
func text(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
}

func parseSeconds(s string) (float64, error) {
	d, err := time.ParseDuration(s)
	return d.Seconds(), err
}

func parseShare(s string) (float64, error) {
	if number, ok := strings.CutSuffix(s, "%"); ok {
		x, err := strconv.ParseFloat(number, 64)
		return x / 100, err
	}
	return strconv.ParseFloat(s, 64)
}

func parseCount(s string) (float64, error) {
	n, err := strconv.Atoi(s)
	return float64(n), err
}

func percent(x float64) string { return strconv.FormatFloat(x*100, 'g', 6, 64) + "%" }

// kinds are the experiments. The last ones leave the assumptions of leases.
var kinds = []*kind{
	{
		name: "lease", says: "the lease", title: "Longer and shorter leases", axis: "lease [s]",
		values: []string{"1s", "2s", "5s", "10s", "20s", "30s", "60s"}, of: seconds,
		set:    func(s *Setup, x float64) { s.Lease = duration(x) },
		get:    func(s *Setup) float64 { return s.Lease.Seconds() },
		panels: []panel{failover, leaderless, pauses, calls},
	},
	{
		name: "latency", says: "how long messages take on average, one way", title: "A slower network", axis: "mean latency, one way [ms]",
		values: []string{"1ms", "5ms", "20ms", "50ms", "100ms", "200ms", "500ms", "1s", "2s"}, of: millis,
		set:    func(s *Setup, x float64) { s.Latency = duration(x) },
		get:    func(s *Setup) float64 { return s.Latency.Seconds() },
		panels: []panel{failover, leaderless, needless, stale}, log: true,
	},
	{
		name: "loss", says: "share of messages that are lost", title: "A network that loses messages", axis: "messages lost [%]",
		values: []string{"0%", "1%", "2%", "5%", "10%", "20%", "30%", "50%"}, of: share,
		set:    func(s *Setup, x float64) { s.Loss = x },
		get:    func(s *Setup) float64 { return s.Loss },
		panels: []panel{failover, leaderless, needless, calls},
	},
	{
		name: "pause", says: "how long the leader's process stops, once in a while", title: "Longer pauses of the leader", axis: "pause [s]",
		values: []string{"1s", "4s", "6s", "7s", "8s", "9s", "10s", "12s", "15s", "20s"}, of: seconds,
		set:    func(s *Setup, x float64) { s.Pause = duration(x) },
		get:    func(s *Setup) float64 { return s.Pause.Seconds() },
		panels: []panel{pauses, leaderless, needless, stale}, faults: []fault{(*world).pause}, mark: atLease,
	},
	{
		name: "nodes", says: "how many contend", title: "More candidates", axis: "nodes",
		values: []string{"2", "3", "5", "7", "10", "15", "20"}, of: count,
		set:    func(s *Setup, x float64) { s.Nodes = int(x) },
		get:    func(s *Setup) float64 { return float64(s.Nodes) },
		panels: []panel{failover, leaderless, needless, calls},
	},
	{
		name: "drift", says: "by how much clocks are faster or slower than the backend's; the leader is cut off once in a while",
		title: "Clocks that differ by more than they may", axis: "drift of the clocks [%]",
		values: []string{"0%", "0.5%", "1%", "1.5%", "2%", "3%", "5%", "10%", "20%", "30%"}, of: share,
		set:    func(s *Setup, x float64) { s.Drift = x },
		get:    func(s *Setup) float64 { return s.Drift },
		panels: []panel{overlaps, overlap, stale, leaderless}, faults: []fault{(*world).cut}, mark: atBound,
	},
	{
		name: "jump", says: "by how much the backend's clock is set ahead, once in a while",
		title: "A backend whose clock jumps ahead", axis: "jump [s]",
		values: []string{"0s", "1s", "3s", "5s", "6s", "7s", "8s", "9s", "10s", "15s", "30s"}, of: seconds,
		set:    func(s *Setup, x float64) { s.Jump = duration(x) },
		get:    func(s *Setup) float64 { return s.Jump.Seconds() },
		panels: []panel{overlaps, overlap, stale, needless}, faults: []fault{(*world).jump}, mark: atLease,
	},
}

func atLease(s *Setup) (float64, string) { return s.Lease.Seconds(), "the lease" }
func atBound(s *Setup) (float64, string) { return s.Bound, "the bound" }

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func kindOf(name string) (*kind, error) {
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is no experiment; there are %s", name, strings.Join(kindNames(), ", "))
	}
	return kinds[i], nil
}

// value is one value of a sweep.
type value struct {
	text  string
	x     float64
	setup Setup
}

// points are the setups of a sweep.
func (k *kind) points(base Setup, values []string) ([]value, error) {
	var all []value
	for _, text := range values {
		x, err := k.of.parse(text)
		if err != nil {
			return nil, fmt.Errorf("--values has %q; it must have %s", text, k.of.must)
		}
		if k.log && x == 0 {
			return nil, fmt.Errorf("--values has %q; it must be above zero, for its axis is logarithmic", text)
		}
		s := base
		s.sorts = k.faults
		k.set(&s, x)
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", k.name, text, err)
		}
		all = append(all, value{text, x, s})
	}
	slices.SortFunc(all, func(a, b value) int {
		if a.x < b.x {
			return -1
		}
		return 1
	})
	return all, nil
}
