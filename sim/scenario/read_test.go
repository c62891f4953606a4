package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/scenario"
)

// right is a scenario with nothing wrong.
const right = `title: t
lasts: 10s
params: {lease: 10s}
clients:
  - name: a
    elections:
      - name: job
        task: {lasts: 5s}
  - name: b
events:
  - {at: 1s, do: pause, on: a, for: 1s}
expect:
  leader: {job: a}
`

func TestParse(t *testing.T) {
	s, err := scenario.Parse("x.yaml", []byte(right))
	if err != nil {
		t.Fatal(err)
	}
	e := s.Events[0]
	if s.Title != "t" || s.Lasts != 10*time.Second || len(s.Clients) != 2 || s.Clients[0].Elections[0].Task.Lasts.Constant != 5*time.Second ||
		e.At != time.Second || e.Do != "pause" || e.On != "a" || e.For.Constant != time.Second || s.Expect.Leader["job"] != "a" {
		t.Errorf("read %+v", s)
	}
	if err := s.Run(sim.Random(1)); err != nil {
		t.Error(err)
	}
}

// TestMistakes: an error names the file, the line, the value, and what would be
// right.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"title: t", "title: ''", `x.yaml:1: title is missing; give the world a name`},
		{"lasts: 10s", "lasts: 10", `x.yaml:2: lasts is "10"; it must be a duration, such as 1.5s or 20ms`},
		{"lasts: 10s", "lasts: -1s", `x.yaml:2: lasts is -1s; it must be above zero, such as 1m`},
		{"lasts: 10s", "last: 10s", `x.yaml:2: last is not known; there are title, story, lasts, params, network, backend, clients, events, expect`},
		{"lasts: 10s", "lasts: [", `x.yaml:2: is no YAML at "[": sequence end token ']' not found`},
		{"lasts: 10s", "lasts:", `x.yaml:2: lasts is "null"; it must have a value, or be left out`},
		{"lasts: 10s", "lasts: 10s\nlasts: 11s", `x.yaml:3: is no YAML at "lasts": mapping key "lasts" already defined at [2:1]`},
		{"{lease: 10s}", "{lease: 0s}", `x.yaml:3: params.lease is 0s; it must be above zero, such as 15s`},
		{"{lease: 10s}", "{lease: 10s, renew: 6s}", `x.yaml:3: params do not fit: the renew interval 6s does not fit twice into the lease 10s; it must be at most 5s`},
		{"{lease: 10s}", "{lease: 10s, drift: x}", `x.yaml:3: params.drift is "x"; it must be a number`},
		{"{lease: 10s}", "10s", `x.yaml:3: params is "10s"; it must have fields: lease, renew, drift, margin, jitter, backoff`},
		{"name: b", "name: a", `x.yaml:9: clients[1].name is "a"; another client has that name already`},
		{"name: b", "name: store", `x.yaml:9: clients[1].name is "store"; it must be another name than those: `},
		{"name: b", "name: b\n    rate: -1", `x.yaml:10: clients[1].rate is -1; seconds of the clock in a true second must be from 1e-9 to 1000`},
		{"name: b", "name: b\n    with: c", `x.yaml:10: clients[1].with is "c"; it must be a client that is listed before, and starts before`},
		{"name: b", "name: b\n    with: a\n    rate: 2", `x.yaml:10: clients[1].with is "a", whose clock this one has; leave offset and rate out`},
		{"name: b", "name: b\n    starts: 2s\n    elections: [{name: x, afterReturn: rest}]", `x.yaml:11: clients[1].elections[0].afterReturn is "rest"; it must be one of: finish, hold, restart, yield`},
		{"name: b", "name: b\n    elections: [{name: x}, {name: x}]", `x.yaml:10: clients[1].elections[1].name is "x"; the client has an election of that name already`},
		{"lasts: 5s", "lasts: {uniform: [5s, 1s]}", `x.yaml:8: clients[0].elections[0].task.lasts.uniform is [5s 1s]; it must be two durations, the shorter one first`},
		{"lasts: 5s", "lasts: {constant: 5s, exponential: 1s}", `x.yaml:8: clients[0].elections[0].task.lasts has constant and exponential; it must have one of them`},
		{"lasts: 5s", "lasts: {pareto: {least: 5s}}", `x.yaml:8: clients[0].elections[0].task.lasts.pareto.shape is 0; it must be above zero`},
		{"lasts: 5s", "lasts: {file: none.txt}", `clients[0].elections[0].task.lasts.file cannot be used: open`},
		{"lasts: 5s", "deaf: maybe", `x.yaml:8: clients[0].elections[0].task.deaf is "maybe"; it must be true or false`},
		{"events:", "network: {late: 3}\nevents:", `x.yaml:10: network.late is 3, and network.stall is missing; say how long late messages take`},
		{"events:", "network: {lose: -3}\nevents:", `x.yaml:10: network.lose is -3; one in so many must be zero, for none, or more`},
		{"events:", "network: {lose: 1%}\nevents:", `x.yaml:10: network.lose is "1%"; it must be a whole number`},
		{"at: 1s", "at: 11s", `x.yaml:11: events[0].at is 11s; it must be from zero to the end of the world, 10s`},
		{"name: b\nevents:\n  - {at: 1s, do: pause, on: a", "name: b\n    starts: 2s\nevents:\n  - {at: 1s, do: pause, on: b", `x.yaml:12: events[0].at is 1s; b starts only at 2s`},
		{"do: pause", "do: paws", `x.yaml:11: events[0].do is "paws"; it must be one of: close, crash, cut, drop, elect, heal, jump, `},
		{"on: a", "on: c", `x.yaml:11: events[0].on is "c"; it must be one of: a, b, leader, store`},
		{"on: a", "on: leader", `x.yaml:11: events[0].name is missing; say the leader of what is meant`},
		{"do: pause, on: a, for: 1s", "do: drop, on: a", `x.yaml:11: events[0].message is missing; "drop" needs it`},
		{"do: pause, on: a, for: 1s", "do: drop, on: a, message: hello", `x.yaml:11: events[0].message is "hello"; it must be one of: acquire, acquire answer, `},
		{"do: pause, on: a, for: 1s", "do: cut, on: a, way: out", `x.yaml:11: events[0].way is "out"; it must be one of: to, from`},
		{"do: pause, on: a, for: 1s", "do: stop, on: a, name: jab", `x.yaml:11: events[0].name is "jab"; it must be one of: job`},
		{"do: pause, on: a, for: 1s", "do: restart, on: store, for: 1s", `x.yaml:11: events[0].for does not go with "restart"; it takes nothing but at, do and on`},
		{"do: pause, on: a, for: 1s", "do: remove lease, on: a, name: job", `x.yaml:11: events[0].on is "a"; "remove lease" is on nobody in particular, leave it out`},
		{"do: pause, on: a, for: 1s", "do: jump, on: store, by: -1s", `x.yaml:11: events[0].by is -1s; it must be zero or more`},
		{"job: a}", "job: c}", `x.yaml:13: expect.leader.job is "c"; it must be one of: a, b, somebody, nobody`},
		{"leader: {job: a}", "met: [joy]", `x.yaml:13: expect.met[0] is "joy"; it must be one of: term begun, `},
		{"leader: {job: a}", "violated: [99]", `x.yaml:13: expect.violated[0] is 99; it must be the number of an invariant: ` + numbers()},
		{"leader: {job: a}", "tolerate: [19]", `x.yaml:13: expect.tolerate[0] is 19; that the resource is safe holds in every world`},
		{right, "", `x.yaml: is empty; it must have at least title, lasts, params and clients`},
		{"title: t", "title: t\n---\ntitle: u", `x.yaml: has 2 YAML documents; it must have one`},
	} {
		text := strings.Replace(right, tt.from, tt.to, 1)
		if text == right {
			t.Fatalf("%q is not there", tt.from)
		}
		_, err := scenario.Parse("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("with %q:\n got %v\nwant %v", tt.to, err, tt.want)
		}
		var e *scenario.Error
		if !errors.As(err, &e) || e.File != "x.yaml" {
			t.Errorf("with %q: the error is a %T: %+v", tt.to, err, e)
		}
	}
}

// numbers are those of all invariants, in a row.
func numbers() string {
	var all []string
	for _, i := range sim.Invariants() {
		all = append(all, fmt.Sprint(i.Number))
	}
	return strings.Join(all, ", ")
}

// TestAllMistakesAtOnce: several values that are wrong are told in one go.
func TestAllMistakesAtOnce(t *testing.T) {
	s := &scenario.Scenario{Lasts: -1}
	err := s.Run(sim.Calm())
	for _, want := range []string{"scenario: title is missing", "scenario: lasts is -1ns", "scenario: params.lease is 0s", "scenario: clients are missing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// TestLoad: samples are sought beside the file.
func TestLoad(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("delays.txt", "# measured\n20ms\n30ms\n")
	path := write("x.yaml", strings.Replace(right, "events:", "network: {delay: {file: delays.txt}}\nevents:", 1))
	s, err := scenario.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Build(sim.Random(1))
	if err != nil {
		t.Fatal(err)
	}
	// Opened and acquired: four messages, of which each took one of the samples.
	if !c.RunUntil(time.Second, c.Led("job")) || c.Now() < 80_000_000 || c.Now() > 120_000_000 {
		t.Errorf("a leads after %v, want 80ms to 120ms", time.Duration(c.Now()))
	}
	write("delays.txt", "20")
	if _, err := scenario.Load(path); err == nil || !strings.Contains(err.Error(), `line 1 is "20"; it must be a duration`) {
		t.Errorf("got %v, want the line of the samples that is wrong", err)
	}
	if _, err := scenario.Load(filepath.Join(folder, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
}
