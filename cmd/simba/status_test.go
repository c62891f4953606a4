//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var jsonFields = []string{"held", "holder", "name", "remaining_ms", "session", "token"}

// checkFields fails unless an object has exactly the fields that are documented,
// with their types.
func checkFields(t *testing.T, object map[string]any) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, jsonFields) {
		t.Errorf("got the fields %q, want %q", got, jsonFields)
	}
	for field, value := range object {
		ok := false
		switch field {
		case "held":
			_, ok = value.(bool)
		case "token", "remaining_ms":
			_, ok = value.(float64)
		default:
			_, ok = value.(string)
		}
		if !ok {
			t.Errorf("%s is %v", field, value)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.mustRun("status"); got != "No lease is held.\n" {
		t.Errorf("nothing held: got %q", got)
	}
	if got := w.mustRun("status", "--json"); got != "[]\n" {
		t.Errorf("nothing held: got %q", got)
	}
	p := w.start("lock", "b", "--id", "the holder", "--lease", "30s", "--", "sh", "-c", patient)
	token := p.begins()
	w.checkStatusJSON(token)
	w.checkStatusTable(token)
	p.say("0")
	p.exits(0)
	if got := w.mustRun("status"); got != "No lease is held.\n" {
		t.Errorf("after the release: got %q", got)
	}
}

func (w *world) checkStatusJSON(token uint64) {
	t := w.t
	t.Helper()
	var objects []map[string]any
	if err := json.Unmarshal([]byte(w.mustRun("status", "c", "b", "--json")), &objects); err != nil || len(objects) != 2 {
		t.Fatalf("got %v, %v", objects, err)
	}
	for _, o := range objects {
		checkFields(t, o)
	}
	vacant, held := w.status("c"), w.status("b")
	if vacant != (holderJSON{Name: "c"}) {
		t.Errorf("vacant: got %+v", vacant)
	}
	session, remaining := held.Session, held.RemainingMS
	if held != (holderJSON{"b", true, "the holder", token, session, remaining}) || session == "" || remaining <= 0 || remaining > 30_000 {
		t.Errorf("held: got %+v", held)
	}
	if all := w.mustRun("status", "--json"); strings.Count(all, `"name"`) != 1 || !strings.Contains(all, session) {
		t.Errorf("everything that is held: got %s", all)
	}
}

func (w *world) checkStatusTable(token uint64) {
	w.t.Helper()
	want := regexp.MustCompile(fmt.Sprintf(`^NAME +HOLDER +TOKEN +SESSION +REMAINING
a +\(vacant\) +- +- +-
b +the holder +%d +\w+ +[\d.]+s
$`, token))
	if got := w.mustRun("status", "a", "b"); !want.MatchString(got) {
		w.t.Errorf("got\n%swant %s", got, want)
	}
}

// Without a backend, all processes of a user share a file.
func TestDefaultBackend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, backendVar) })
	p := w.start("lock", "x", "--", "sh", "-c", patient)
	token := p.begins()
	if h := w.status("x"); h.Token != token {
		t.Errorf("got %+v, want token %d", h, token)
	}
	p.say("0")
	p.exits(0)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asJSON, table := w.start("watch", "x", "--json"), w.start("watch", "x")
	next := func() holderJSON {
		t.Helper()
		line := asJSON.line()
		var object map[string]any
		var h holderJSON
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		checkFields(t, object)
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatal(err)
		}
		return h
	}
	row := func(pattern string) {
		t.Helper()
		if line := table.line(); !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("got the line %q, want %s", line, pattern)
		}
	}

	row(`^TIME +HOLDER +TOKEN +SESSION +REMAINING$`)
	if h := next(); h != (holderJSON{Name: "x"}) {
		t.Errorf("at first: got %+v", h)
	}
	row(`^\d\d:\d\d:\d\d\.\d\d\d +\(vacant\) +- +- +-$`)

	// Nobody contends yet, so the first attempt wins.
	p := w.start("lock", "x", "--timeout", "0", "--id", "the holder", "--", "sh", "-c", patient)
	token := p.begins()
	if h := next(); !h.Held || h.Token != token || h.Holder != "the holder" || h.Session == "" || h.RemainingMS <= 0 {
		t.Errorf("held with token %d: got %+v", token, h)
	}
	row(fmt.Sprintf(`^[\d:.]+ +the holder +%d +\w+ +[\d.]+s$`, token))

	p.say("0")
	p.exits(0)
	if h := next(); h != (holderJSON{Name: "x"}) {
		t.Errorf("after the release: got %+v", h)
	}
	row(`\(vacant\)`)

	asJSON.signal(syscall.SIGTERM)
	asJSON.exits(143)
	table.signal(syscall.SIGINT)
	table.exits(130)
	for _, p := range []*process{asJSON, table} {
		if p.rest() != "" || p.stderr.String() != "" {
			t.Errorf("at the end: stderr %q", p.stderr)
		}
	}
}

func TestPrintable(t *testing.T) {
	for label, want := range map[string]string{
		"web-1:42":    "web-1:42",
		"ä b":         "ä b",
		"\x1b[2Jgone": "�[2Jgone",
		"a\nb\tc":     "a�b�c",
	} {
		if got := printable(label); got != want {
			t.Errorf("%q: got %q, want %q", label, got, want)
		}
	}
}
