package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/simba-go/simba/tools/internal/source"
)

func TestTableHasNoFlaw(t *testing.T) {
	for _, flaw := range flaws(floors) {
		t.Error(flaw)
	}
}

// The core may grow no dependency without this test being changed too.
func TestCoreOfTheTableImportsNoDriver(t *testing.T) {
	light := []string{"github.com/looplab/fsm", "golang.org/x/sys", "github.com/netresearch/go-cron"} // the last reads cron lines, and has no dependencies
	core := map[string]bool{}
	for _, row := range floors {
		if !row.core {
			continue
		}
		core[row.pkg] = true
		for _, outside := range strings.Fields(row.outside) {
			if !slices.Contains(light, outside) {
				t.Errorf("%s is core and may import %s; light enough are only %s", row.pkg, outside, light)
			}
		}
	}
	for _, pkg := range strings.Fields("actor term backend session election lock task schedule sim .") {
		if !core[pkg] {
			t.Errorf("%s is not core in the table", pkg)
		}
	}
}

func TestFlaws(t *testing.T) {
	for name, test := range map[string]struct {
		table []floor
		want  string
	}{
		"none":           {[]floor{{pkg: "a"}, {pkg: "b", project: "a"}}, ""},
		"upward":         {[]floor{{pkg: "a", project: "b"}, {pkg: "b"}}, "table: a may import b, which is not below it"},
		"itself":         {[]floor{{pkg: "a", project: "a"}}, "table: a may import a, which is not below it"},
		"twice":          {[]floor{{pkg: "."}, {pkg: "."}}, "table: simba has two floors: join them"},
		"core to driver": {[]floor{{pkg: "sql"}, {pkg: "a", core: true, project: "sql"}}, "table: a is core and may import sql, which is not"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(flaws(test.table), "\n"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestViolations(t *testing.T) {
	table := []floor{
		{pkg: "actor", core: true, outside: "github.com/looplab/fsm"},
		{pkg: "sqlite", project: "actor", outside: "modernc.org/sqlite"},
		{pkg: "session", core: true, project: "actor"},
		{pkg: ".", core: true, project: "session", tests: "sqlite", drivers: "github.com/jackc/pgx/v5"},
	}
	const own = module + "/"
	for name, test := range map[string]struct{ file, imports, want string }{
		"nothing":             {"actor/a.go", "", ""},
		"standard library":    {"actor/a.go", "time", ""},
		"allowed from below":  {"session/a.go", own + "actor", ""},
		"allowed module":      {"actor/a.go", "github.com/looplab/fsm", ""},
		"below an allowed":    {"sqlite/a.go", "modernc.org/sqlite/lib", ""},
		"heavy off the core":  {"sqlite/a.go", "database/sql", ""},
		"heavy in a test":     {"actor/a_test.go", "os/exec", ""},
		"itself in a test":    {"session/a_test.go", own + "session", ""},
		"sim in a test":       {"actor/a_test.go", own + "sim", ""},
		"goleak in a test":    {"actor/a_test.go", "go.uber.org/goleak", ""},
		"driver in its tests": {"a_test.go", own + "sqlite", ""},
		"module in its tests": {"a_test.go", "github.com/jackc/pgx/v5", ""},

		"upward":                {"actor/a.go", own + "session", "actor/a.go:2:8: actor may not import session, only: nothing"},
		"the root":              {"session/a.go", module, "session/a.go:2:8: session may not import simba, only: actor"},
		"a driver package":      {"session/a.go", own + "sqlite", "session/a.go:2:8: session may not import sqlite, only: actor"},
		"a driver in a test":    {"session/a_test.go", own + "sqlite", "session/a_test.go:2:8: session may not import sqlite, only: actor, session, " + strings.Join(strings.Fields(testProject), ", ")},
		"a driver module":       {"session/a.go", "modernc.org/sqlite", `session/a.go:2:8: session may not import "modernc.org/sqlite", from outside only: nothing`},
		"on another system":     {"session/a_windows.go", "modernc.org/sqlite", `session/a_windows.go:2:8: session may not import "modernc.org/sqlite", from outside only: nothing`},
		"a module named alike":  {"actor/a.go", "github.com/looplab/fsmother", `actor/a.go:2:8: actor may not import "github.com/looplab/fsmother", from outside only: github.com/looplab/fsm`},
		"a project named alike": {"actor/a.go", module + "x/y", `actor/a.go:2:8: actor may not import "` + module + `x/y", from outside only: github.com/looplab/fsm`},
		"only in its tests":     {"a.go", "github.com/jackc/pgx/v5", `a.go:2:8: simba may not import "github.com/jackc/pgx/v5", from outside only: nothing`},
		"heavy":                 {"session/a.go", "net/http", `session/a.go:2:8: session is core and may not import "net/http", which is heavy`},
		"cgo":                   {"session/a.go", "C", `session/a.go:2:8: session is core and may not import "C", which is heavy`},
		"rapid outside a test":  {"session/a.go", "pgregory.net/rapid", `session/a.go:2:8: session may not import "pgregory.net/rapid", from outside only: nothing`},
		"a package of no floor": {"misc/a.go", "time", "misc: this package has no floor: give it a line in tools/floors/table.go"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "package p\n"
			if test.imports != "" {
				text += `import "` + test.imports + `"`
			}
			project, err := source.Read(fstest.MapFS{test.file: {Data: []byte(text)}}, ".")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(violations(project, table), "\n"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
