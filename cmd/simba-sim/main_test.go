package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// command is one that has been run.
type command struct {
	out, errs string // what it printed
	err       error
}

func (c command) code() int {
	if c.err == nil {
		return 0
	}
	return exitCode(c.err)
}

// run runs the command line.
func run(args ...string) command { return runWith(context.Background(), args...) }

func runWith(ctx context.Context, args ...string) command {
	var out, errs bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err := cmd.ExecuteContext(ctx)
	return command{out.String(), errs.String(), err}
}

// must runs a command that ends well.
func must(t *testing.T, args ...string) string {
	t.Helper()
	c := run(args...)
	if c.err != nil {
		t.Fatalf("%v: %v\n%s", args, c.err, c.errs)
	}
	return c.out
}

// The same seed is the same world, and another seed another one.
func TestRunIsRepeatable(t *testing.T) {
	first := must(t, "run", "--seed", "42", "--messages")
	if again := must(t, "run", "--seed", "42", "--messages"); again != first {
		t.Error("the same seed is told in two ways")
	}
	if other := must(t, "run", "--seed", "43", "--messages"); other == first {
		t.Error("another seed is told in the same way")
	}
	if !strings.Contains(first, "\nNothing was broken.\n") || !strings.Contains(first, "client-0") || !strings.Contains(first, " -> store, ") {
		t.Errorf("the story of seed 42 is\n%s", first)
	}
	quiet := must(t, "run", "--seed", "42")
	if strings.Contains(quiet, " -> store, ") || len(quiet) > len(first)/2 {
		t.Error("without --messages, it tells of messages")
	}
	for line := range strings.Lines(quiet) {
		if !strings.Contains(first, line) {
			t.Errorf("with --messages, this is left out: %s", line)
		}
	}
}

// What run writes makes the same world happen again, told from its decisions.
func TestRunWritesATrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "world.json")
	told := must(t, "run", "--seed", "7", "--messages", "--out", file)
	if want := "Trace: " + file + "\n"; !strings.HasSuffix(told, want) {
		t.Fatalf("it does not end with %q", want)
	}
	if again := must(t, "replay", "--messages", file); again+"Trace: "+file+"\n" != told {
		t.Error("the trace is told in another way than its seed")
	}
	trace, err := readTrace(file)
	if err != nil || trace.Seed == nil || *trace.Seed != 7 || trace.Invariant != 0 || len(trace.Decisions) == 0 {
		t.Errorf("the trace is of seed %v, invariant %d, with %d decisions: %v", trace.Seed, trace.Invariant, len(trace.Decisions), err)
	}
	if c := run("shrink", file); c.code() != exitUsage || !strings.Contains(c.err.Error(), "breaks no rule") {
		t.Errorf("a world that breaks nothing is shrunk: %v", c.err)
	}
}

// TestRunStories: each story that comes with the program can be told, traced and told
// again from its trace, and shown.
func TestRunStories(t *testing.T) {
	for _, title := range titles() {
		t.Run(title, func(t *testing.T) {
			folder := t.TempDir()
			file, page := filepath.Join(folder, "story.json"), filepath.Join(folder, "story.html")
			told := must(t, "run", title, "--seed", "3", "--messages", "--out", file, "--html", page)
			if again := must(t, "run", title, "--seed", "3", "--messages", "--out", file, "--html", page); again != told {
				t.Error("the same seed is told in two ways")
			}
			if !strings.HasPrefix(told, title+"\n") || !strings.Contains(told, "Timeline: "+page+"\n") {
				t.Errorf("it tells\n%s", told)
			}
			replayed := must(t, "replay", "--messages", file)
			if !strings.Contains(told, replayed) {
				t.Error("its trace is told in another way")
			}
			html, err := os.ReadFile(page)
			if err != nil || !bytes.Contains(html, []byte(title)) {
				t.Errorf("its page has %d bytes: %v", len(html), err)
			}
		})
	}
}

// TestExpectedViolations: a world in which two led at once is not told of as sound.
func TestExpectedViolations(t *testing.T) {
	told := must(t, "run", "the clock that is too slow")
	const want = "\nBroken, as the scenario expects: invariant 1, \"one valid term\", and invariant 2, \"deadline before expiry\".\n"
	if !strings.Contains(told, want) {
		t.Errorf("it does not tell %q:\n%s", want, told)
	}
	if strings.Contains(told, "Nothing was broken") {
		t.Error("it tells that nothing was broken")
	}
}

func TestReport(t *testing.T) {
	folder := t.TempDir()
	file, page := filepath.Join(folder, "world.json"), filepath.Join(folder, "world.html")
	must(t, "run", "--seed", "7", "--out", file)
	for _, args := range [][]string{{"report", file}, {"report", file, "--out", filepath.Join(folder, "other.html")}} {
		told := must(t, args...)
		page := page
		if len(args) > 2 {
			page = args[3]
		}
		html, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(told, page) || !bytes.Contains(html, []byte("The world of seed 7")) || !bytes.Contains(html, []byte("client-2")) {
			t.Errorf("%v tells %q, and writes a page of %d bytes", args, told, len(html))
		}
	}
}

func TestSweep(t *testing.T) {
	told := must(t, "sweep", "--from", "100", "--seeds", "20", "--workers", "2", "--twice")
	if !strings.HasPrefix(told, "20 worlds from seed 100") || !strings.HasSuffix(told, "\nNo rule was broken.\n") {
		t.Errorf("the sweep tells\n%s", told)
	}
	for _, s := range sim.Situations() {
		if !strings.Contains(told, "  "+s.String()+"\n") {
			t.Errorf("it does not tell how often %q was met", s)
		}
	}
	var result struct {
		From, Worlds, Events uint64
		Met                  map[string]uint64
		FailedSeed           *uint64
	}
	if err := json.Unmarshal([]byte(must(t, "sweep", "--from", "100", "--seeds", "20", "--json")), &result); err != nil {
		t.Fatal(err)
	}
	if result.From != 100 || result.Worlds != 20 || result.Events == 0 || len(result.Met) != len(sim.Situations()) || result.FailedSeed != nil {
		t.Errorf("as JSON the result is %+v", result)
	}
}

// A sweep of many worlds must have met all situations.
func TestSweepProvesLittle(t *testing.T) {
	var all sim.Counts
	for i := range all {
		all[i] = 1
	}
	missing := all
	missing[sim.WinAfterStop] = 0
	for _, tt := range []struct {
		seeds uint64
		met   sim.Counts
		want  bool
	}{{enough, all, true}, {enough - 1, missing, true}, {enough, missing, false}} {
		err := result{Found: swarm.Found{Seeds: tt.seeds, Met: tt.met}}.judge(&bytes.Buffer{}, false)
		if (err == nil) != tt.want {
			t.Errorf("after %d seeds: %v", tt.seeds, err)
		}
		if err != nil && (exitCode(err) != exitViolation || !strings.Contains(err.Error(), sim.WinAfterStop.String())) {
			t.Errorf("the error is %v, with the code %d", err, exitCode(err))
		}
	}
}

// A sweep that is interrupted tells what it has found.
func TestSweepInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c := runWith(ctx, "sweep", "--seeds", "1000000")
	if !errors.Is(c.err, context.DeadlineExceeded) || c.code() == 0 || c.code() == exitViolation {
		t.Errorf("it ends with %v, code %d", c.err, c.code())
	}
	if !strings.Contains(c.out, "Situations") || !strings.Contains(c.err.Error(), "of 1000000 worlds") {
		t.Errorf("it ends with %v, and tells\n%s", c.err, c.out)
	}
}

// TestMistakes: whoever makes one is told which, and what would be right.
func TestMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"empty.json":  "",
		"text.json":   "not a trace",
		"list.json":   "[]",
		"other.json":  `{"format": "simba-sim trace 99", "decisions": []}`,
		"none.json":   `{"decisions": []}`,
		"label.json":  `{"format": "simba-sim trace 1", "decisions": [{"label": "", "number": 1, "value": 1}]}`,
		"number.json": `{"format": "simba-sim trace 1", "decisions": [{"label": "a", "number": 1, "value": 1}, {"label": "a", "number": 0, "value": 1}]}`,
		"value.json":  `{"format": "simba-sim trace 1", "decisions": [{"label": "a", "number": 1, "value": 0}]}`,
		"story.json":  `{"format": "simba-sim trace 1", "scenario": "no such story", "decisions": []}`,
		"calm.json":   `{"format": "simba-sim trace 1", "decisions": []}`,
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"sweep":                         "--seeds is 0",
		"sweep --seeds 0":               "it must be above zero",
		"sweep --seeds -1":              `invalid argument "-1" for "--seeds"`,
		"sweep --seeds many":            `invalid argument "many" for "--seeds"`,
		"sweep --seeds 2 --workers -3":  "--workers is -3; it must not be negative",
		"sweep 10":                      `unknown command "10"`,
		"run 42":                        `there is no story "42"; name a file`,
		"run no/such.yaml":              "no/such.yaml",
		"run --html no/such/page.html":  "the page could not be written",
		"run --seed x":                  `invalid argument "x" for "--seed"`,
		"run --out no/such/folder.json": "the trace could not be written",
		"live":                          `unknown command "live"`,
		"run --sed 4":                   "unknown flag: --sed",
		"replay":                        "there are 0 traces; write: simba-sim replay FILE",
		"shrink a.json b.json":          "there are 2 traces; write: simba-sim shrink FILE",
		"shrink --limit 0 calm.json":    "--limit is 0; it must be above zero",
		"shrink --limit -1 calm.json":   "--limit is -1",
		"shrink calm.json":              "breaks no rule",
		"report --out no/such/folder/page.html calm.json": "the page could not be written",
		"sweep --from 18446744073709551615 --seeds 2":     "the last seed below 2^64",
	} {
		mistake(t, want, strings.Fields(line)...)
	}
	for _, command := range []string{"replay", "shrink", "report"} {
		for file, want := range map[string]string{
			"missing.json": "the trace could not be read",
			".":            "the trace could not be read",
			"empty.json":   "empty.json is no trace",
			"text.json":    "`simba-sim sweep` and `simba-sim run --out` write one",
			"list.json":    "list.json is no trace",
			"other.json":   `other.json has the format "simba-sim trace 99"; this program reads "simba-sim trace 1"`,
			"none.json":    `has the format ""`,
			"label.json":   "decision 1 is",
			"number.json":  "decision 2 is",
			"value.json":   "a number and a value above zero",
			"story.json":   `there is no story "no such story"; name a file, or one of these: the `,
		} {
			mistake(t, want, command, file)
		}
	}
}

func mistake(t *testing.T, want string, args ...string) {
	t.Helper()
	c := run(args...)
	if c.err == nil || !strings.Contains(c.err.Error(), want) || c.code() != exitUsage {
		t.Errorf("%v ends with %v, code %d; want %q and %d", args, c.err, c.code(), want, exitUsage)
	}
	if strings.Contains(c.out+c.errs, "Usage:") {
		t.Errorf("%v buries its error under the help", args)
	}
}

// A decision that a trace names twice, or that a world never comes to, does no harm.
func TestCalmTraces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calm.json")
	ds := sim.Decisions{{Label: "no such choice", Number: 3, Value: 7}}
	if err := newTrace("", nil, ds, nil).write(file); err != nil {
		t.Fatal(err)
	}
	if told := must(t, "replay", file); !strings.Contains(told, "Nothing was broken.") {
		t.Errorf("it tells\n%s", told)
	}
}

// A trace is read as it was written, whatever is in it.
func TestTraceIsWrittenAndRead(t *testing.T) {
	folder := t.TempDir()
	seed := uint64(1<<64 - 1)
	for _, tt := range []trace{
		newTrace("", nil, nil, nil),
		newTrace("the long pause", &seed, sim.Decisions{{Label: `a "quoted" <label>`, Number: 1, Value: 1<<63 - 1}, {Label: "b", Number: 2, Value: 1}},
			&sim.Violation{Invariant: sim.OneTask, What: "two\nlines []\n}"}),
		newTrace("", nil, sim.Decisions{{Label: "a", Number: 1, Value: 1}}, errors.New("something else")),
	} {
		file := filepath.Join(folder, "trace.json")
		if err := tt.write(file); err != nil {
			t.Fatal(err)
		}
		got, err := readTrace(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Decisions) == 0 && len(tt.Decisions) == 0 {
			got.Decisions, tt.Decisions = nil, nil
		}
		if a, b := asJSON(t, got), asJSON(t, tt); a != b {
			t.Errorf("%s is read as %s", b, a)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 10: "10th", 11: "11th", 12: "12th", 13: "13th",
		21: "21st", 22: "22nd", 101: "101st", 111: "111th", 113: "113th"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestChoiceOf(t *testing.T) {
	for _, tt := range []struct {
		d    sim.Decision
		want string
	}{
		{sim.Decision{Label: "rate", Number: 2}, "rate (the 2nd)"},
		{sim.Decision{Phase: 7, Label: "action", Number: 1}, "action (the 1st in phase 7)"},
		{sim.Decision{Phase: 7, Label: "late", About: "RenewRequest from a to store", Number: 1}, "late of RenewRequest from a to store (the 1st in phase 7)"},
	} {
		if got := choiceOf(tt.d); got != tt.want {
			t.Errorf("%+v is %q, want %q", tt.d, got, tt.want)
		}
	}
}

// TestProgress: it says nothing at first, and then now and then.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.show("%d worlds", 1)
	p.clear()
	if out.Len() > 0 {
		t.Errorf("at once it shows %q", &out)
	}
	p.next = time.Now()
	p.show("%d worlds", 2)
	p.show("%d worlds", 3)
	p.clear()
	if got := out.String(); got != "2 worlds\n" {
		t.Errorf("then it shows %q", got)
	}
	out.Reset()
	p.terminal, p.next = true, time.Now()
	p.show("%d worlds", 4)
	p.clear()
	p.clear()
	if got := out.String(); got != "\r\x1b[K4 worlds\r\x1b[K" {
		t.Errorf("on a terminal it shows %q", got)
	}
}
