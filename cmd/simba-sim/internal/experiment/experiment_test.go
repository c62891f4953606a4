package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/sim"
)

// TestGauge compares what the gauge computes with what a look every millisecond
// sees, in a world in which two lead at once.
func TestGauge(t *testing.T) {
	s := base()
	s.Lease, s.Drift, s.Faults, s.Every = 2*time.Second, 0.2, 4, 5*time.Second
	s.sorts = []fault{(*world).cut, (*world).crash}
	var leaderless, overlap time.Duration
	look := func(w *world) {
		n := 0
		for _, cl := range w.Clients {
			if e := cl.Elections[job]; e != nil && e.Leads() {
				n++
			}
		}
		if n == 0 {
			leaderless += time.Millisecond
		}
		if n > 1 {
			overlap += time.Millisecond
		}
	}
	looking := false
	watch := func(w *world, _ *sim.Client) {
		if looking {
			return
		}
		looking = true
		// What came before this counts too: a leader was there all the time.
		var tick func()
		tick = func() {
			if w.gauge.began {
				look(w)
				w.In(time.Millisecond, tick)
			}
		}
		tick()
	}
	s.sorts = append([]fault{watch}, s.sorts...)
	m, err := live(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want time.Duration) {
		if got == 0 || (got-want).Abs() > 20*time.Millisecond {
			t.Errorf("%s: the gauge has measured %v, and looking has seen %v; want some, and the same to 20ms", what, got, want)
		}
	}
	near("without a leader", m.Leaderless, leaderless)
	near("with two", m.Overlap, overlap)
	if m.Overlaps == 0 || m.Time < 20*time.Second {
		t.Errorf("measured %+v; want overlaps in more than 20s", m)
	}
}

// run runs a small sweep.
func run(t *testing.T, name string, worlds int, values ...string) *Result {
	t.Helper()
	k, err := kindOf(name)
	if err != nil {
		t.Fatal(err)
	}
	b := base()
	b.Every = 20 * time.Second
	points, err := k.points(b, values)
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{kind: k, base: b, values: points, worlds: worlds, seed: 1, progress: func(int, int) {}}
	r, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFailover: after a crash somebody leads within a lease and two messages.
func TestFailover(t *testing.T) {
	r := run(t, "lease", 5, "10s", "2s")
	for i, lease := range []float64{2, 10} {
		p := r.Points[i]
		if p.X != lease || p.Failovers != 20 {
			t.Fatalf("point %d has the value %v and %d failovers, want %v and 20", i, p.X, p.Failovers, lease)
		}
		if p.FailoverP50 < lease/2 || p.FailoverMax > lease+0.1 || p.FailoverP50 > p.FailoverP99 || p.FailoverP99 > p.FailoverMax {
			t.Errorf("with a lease of %vs, failovers take %v, %v and %v", lease, p.FailoverP50, p.FailoverP99, p.FailoverMax)
		}
		if p.Leaderless <= 0 || p.Leaderless > 0.3 || p.CallsPerSecond <= 0 || p.Overlaps > 0 || p.Outside {
			t.Errorf("with a lease of %vs: %+v", lease, p)
		}
	}
	if r.Points[0].CallsPerSecond < 3*r.Points[1].CallsPerSecond {
		t.Errorf("a fifth of the lease takes %v calls a second, and the whole one %v", r.Points[0].CallsPerSecond, r.Points[1].CallsPerSecond)
	}
}

// TestDrift: within the bound there is one leader at once. Beyond it there are two
// for about as long as the arithmetic of the deadline says.
func TestDrift(t *testing.T) {
	r := run(t, "drift", 4, "0%", "1%", "20%")
	for _, p := range r.Points[:2] {
		if p.Overlaps > 0 || p.Overlap > 0 || p.Outside {
			t.Errorf("with a drift of %s within the bound: %+v", p.Value, p)
		}
	}
	p := r.Points[2]
	local := base().Lease.Seconds()*(1-0.01) - 0.05
	if want := local/(1-0.2) - base().Lease.Seconds(); p.Overlap < want-0.1 || p.Overlap > want+0.1 {
		t.Errorf("two lead for %vs at once, want about %vs", p.Overlap, want)
	}
	if !p.Outside || p.Overlaps == 0 || p.OverlapWorlds == 0 || p.StaleAccepted == 0 || p.StaleRefused == 0 {
		t.Errorf("with a drift of 20%%: %+v; want overlaps and stale writes", p)
	}
}

// TestJump: a jump of the backend's clock that ends a lease makes two lead at once.
func TestJump(t *testing.T) {
	r := run(t, "jump", 4, "0s", "1s", "20s")
	for _, p := range r.Points[:2] {
		if p.Overlaps > 0 || p.Needless > 0 {
			t.Errorf("with a jump of %s, which no lease notices: %+v", p.Value, p)
		}
	}
	if p := r.Points[2]; p.Overlaps == 0 || p.Needless == 0 || p.StaleAccepted == 0 || p.StaleRefused == 0 {
		t.Errorf("with a jump of 20s: %+v; want overlaps, terms lost and stale writes", p)
	}
}

// TestOvertaking: in this world the clock jumps just after a lease was given to a
// session that it leaves a few milliseconds. The next one's answer overtakes that, so
// that the smaller token begins its term last. No resource that checks is fooled.
func TestOvertaking(t *testing.T) {
	k, err := kindOf("jump")
	if err != nil {
		t.Fatal(err)
	}
	points, err := k.points(base(), []string{"9s"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := live(points[0].setup, 43); err != nil || m.Overlaps == 0 {
		t.Errorf("%d overlaps, %v; want some, and nothing that is not tolerated", m.Overlaps, err)
	}
}

// TestTokensOfTheBackend: that they grow is tolerated nowhere.
func TestTokensOfTheBackend(t *testing.T) {
	s := base()
	s.Jump = time.Second
	w := &world{Cluster: s.cluster(sim.Random(1)), setup: s}
	w.granted([]backend.Outcome{{Won: true, Token: 2}, {Token: 1}, {Won: true, Token: 2}})
	if err := w.Err(); err != nil {
		t.Errorf("a token that is given twice to whoever asks twice: %v", err)
	}
	w.granted([]backend.Outcome{{Won: true, Token: 1}})
	var v *sim.Violation
	if !errors.As(w.Err(), &v) || v.Invariant != sim.TokensGrow {
		t.Errorf("a token that falls: %v, want a violation", w.Err())
	}
}

// TestPauses: a pause that is shorter than what a lease has left at least costs
// nothing, and one that is longer than a lease costs the term.
func TestPauses(t *testing.T) {
	r := run(t, "pause", 4, "3s", "11s")
	if short, long := r.Points[0], r.Points[1]; short.PausesLost != 0 || long.PausesLost != 1 || short.Pauses != 48 || short.Failovers > 0 {
		t.Errorf("got %+v and %+v, want that all of the long pauses cost the term and none of the short ones", short, long)
	}
}

// TestLoss: what is lost costs terms and time.
func TestLoss(t *testing.T) {
	r := run(t, "loss", 4, "0", "30%")
	if none, some := r.Points[0], r.Points[1]; none.Needless > 0 || some.Needless == 0 || some.Leaderless <= none.Leaderless {
		t.Errorf("got %+v and %+v, want terms that are lost, and more time without a leader", none, some)
	}
}

// TestFailureIsTold: a rule that is broken ends an experiment, which says how to find
// it again.
func TestFailureIsTold(t *testing.T) {
	k := *kinds[0]
	k.faults = []fault{func(w *world, _ *sim.Client) { w.Violate(sim.OneValidTerm, "for a test") }}
	points, err := k.points(base(), []string{"10s"})
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{kind: &k, base: base(), values: points, worlds: 2, seed: 7, progress: func(int, int) {}}
	_, err = s.run(t.Context())
	var f *Failure
	var v *sim.Violation
	if !errors.As(err, &f) || !errors.As(err, &v) || f.Seed != 7 || !strings.HasPrefix(err.Error(), "experiment lease, value 10s, seed 7: ") {
		t.Errorf("got %v, want a failure with its seed and violation", err)
	}
}

// call calls the command.
func call(ctx context.Context, args ...string) (out, progress string, err error) {
	var o, p bytes.Buffer
	cmd := Command()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&o)
	cmd.SetErr(&p)
	err = cmd.ExecuteContext(ctx)
	return o.String(), p.String(), err
}

// TestCommand: the same seed finds the same, as a table, as JSON, in CSV files and
// figures.
func TestCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	args := []string{"drift", "--values", "20%,0%", "--worlds", "3", "--every", "20s", "--seed", "5"}
	table, _, err := call(t.Context(), append(args, "--out", folder)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 worlds for each value", "* 20%", "* outside the assumptions", "no leader", "stale refused", "figures are in " + folder} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is missing in\n%s", want, table)
		}
	}
	if strings.Contains(table, "failover") {
		t.Errorf("there was no crash, and yet there is a column of failovers:\n%s", table)
	}
	text, _, err := call(t.Context(), append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := call(t.Context(), append(args, "--json")...)
	if err != nil || again != text {
		t.Errorf("the same seed finds something else (%v):\n%s\n%s", err, text, again)
	}
	var results []Result
	if err := json.Unmarshal([]byte(text), &results); err != nil || len(results) != 1 || len(results[0].Points) != 2 || results[0].Seed != 5 {
		t.Fatalf("the JSON is %v: %s", err, text)
	}
	checkCSV(t, filepath.Join(folder, "drift.csv"), results[0].Points)
	checkFigures(t, filepath.Join(folder, "drift"))
}

func checkCSV(t *testing.T, path string, points []Point) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 1+len(points) {
		t.Fatalf("%d rows, %v; want a head and %d", len(rows), err, len(points))
	}
	if head := strings.Join(rows[0], ","); !strings.HasPrefix(head, "value,x,outside,worlds,hours,failovers,failover_p50,") {
		t.Errorf("the head is %s", head)
	}
	for i, p := range points {
		if rows[i+1][0] != p.Value {
			t.Errorf("row %d has the value %q, want %q", i, rows[i+1][0], p.Value)
		}
	}
}

func checkFigures(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path + ".png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if image, err := png.Decode(f); err != nil || image.Bounds().Dx() < 800 || image.Bounds().Dy() < 600 {
		t.Errorf("the PNG is no image of some size: %v", err)
	}
	text, err := os.ReadFile(path + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
	}
	for _, want := range []string{"Clocks that differ", "drift of the clocks [%]", "mean time [s]", "the bound", "by the one that checks tokens"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%q is missing in the SVG", want)
		}
	}
}

// TestEveryKind runs each experiment, small, and draws it: as SVG only, for pixels
// take their time.
func TestEveryKind(t *testing.T) {
	o := &options{base: base(), worlds: 1}
	o.base.Lease, o.base.Faults, o.base.Every = 2*time.Second, 3, 10*time.Second
	sweeps, err := o.sweeps(nil, io.Discard)
	if err != nil || len(sweeps) != len(kinds) {
		t.Fatalf("%d experiments, %v; want %d", len(sweeps), err, len(kinds))
	}
	for i, s := range sweeps {
		r, err := s.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := vgsvg.New(width, height)
		if err := r.draw(draw.New(c)); err != nil {
			t.Fatal(err)
		}
		var table, figure bytes.Buffer
		r.print(&table)
		if _, err := c.WriteTo(&figure); err != nil {
			t.Fatal(err)
		}
		k := kinds[i]
		if !strings.HasPrefix(table.String(), k.name+": "+k.says) || !strings.Contains(table.String(), k.values[0]) {
			t.Errorf("the table of %s is:\n%s", k.name, &table)
		}
		for _, want := range []string{k.title, k.axis, k.panels[0].title, k.panels[3].axis} {
			if !bytes.Contains(figure.Bytes(), []byte(want)) {
				t.Errorf("%q is missing in the figure of %s", want, k.name)
			}
		}
	}
}

// TestDocumented: the page about experiments has all of them.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kindNames() {
		if !bytes.Contains(page, []byte("| `"+name+"` |")) {
			t.Errorf("%q has no row in docs/experiments.md", name)
		}
	}
}

// TestMistakes: an error names the value, and what would be right.
func TestMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // so that what is no mistake ends at once too
	for _, tt := range []struct {
		args string
		want string
	}{
		{"leas", `"leas" is no experiment; there are lease, latency, loss, pause, nodes, drift, jump`},
		{"--lease 10", `"10" for "--lease" flag: it must be a duration, such as 1.5s or 20ms`},
		{"--lease 1ms", `--lease is 1ms; it must be from 100ms to 24h`},
		{"--lease 100ms --bound 20%", `a lease of 100ms with drift 0.2 and margin 50ms can be relied on for `},
		{"--drift x", `"x" for "--drift" flag: it must be a share, such as 1% or 0.01`},
		{"--drift 95%", `--drift is 95%; it must be from 0% to 90%`},
		{"--bound 50%", `--bound is 50%; it must be from 0% to below 50%`},
		{"--loss 1", `--loss is 100%; it must be from 0% to 90%`},
		{"--latency -1s", `--latency is -1s; it must be from 0s to 1m`},
		{"--pause 25h", `--pause is 25h; it must be from 0s to 24h`},
		{"--nodes 1", `--nodes is 1; it must be from 2 to 50: one must be there to take over`},
		{"--nodes 1.5", `"1.5" for "--nodes" flag: it must be a whole number`},
		{"--every 0s", `--every is 0s; it must be above 0s, and at most 24h`},
		{"--faults 0", `--faults is 0; it must be from 1 to 1000`},
		{"--worlds 0", `--worlds is 0; it must be 1 or more`},
		{"--values 1s", `--values is for one kind of experiment, and there are 0; name one of lease, `},
		{"lease nodes --values 1s", `--values is for one kind of experiment, and there are 2; name one of lease, `},
		{"lease --values 1s,x", `--values has "x"; it must have a duration, such as 1.5s or 20ms`},
		{"latency --values 0s", `--values has "0s"; it must be above zero, for its axis is logarithmic`},
		{"nodes --values 99", `nodes=99: --nodes is 99; it must be from 2 to 50`},
		{"lease --out " + file, `--out: mkdir `},
	} {
		out, _, err := call(ended, strings.Fields(tt.args)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || out != "" {
			t.Errorf("%s: got %v and %q on stdout, want %s", tt.args, err, out, tt.want)
		}
	}
}

// TestInterrupt: an experiment ends with its context.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := call(ctx, "lease"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
