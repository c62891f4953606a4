// Package docs_test keeps the generated parts of the documentation true.
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/internal/tables"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/schedule"
	"github.com/simba-go/simba/session"
)

var update = flag.Bool("update", false, "write the generated documentation anew")

const preface = `# State machines

Each session, election, lock and schedule steps through a typed table; what is not in the table cannot happen. These diagrams are generated
from the tables themselves: ` + "`go test ./docs -update`" + ` writes this page, and the test fails when it is out of date.
`

// TestStateMachines compares docs/state-machines.md with the tables.
func TestStateMachines(t *testing.T) {
	var b strings.Builder
	b.WriteString(preface)
	section := func(title, text, mermaid string) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```mermaid\n%s```\n", title, text, mermaid)
	}
	section("Session", "One per client. It competes for leases while LIVE or SUSPENDED. When its deadline passes or the backend says that "+
		"it has expired, all its terms end,\nand it opens a new incarnation.", session.Table.Mermaid())
	section("Election", "One per contended name. A term is held in LEADER and STEPPING_DOWN; a voluntary handover waits in "+
		"STEPPING_DOWN for the task.", election.Table.Mermaid())
	section("Lock", "One term of a name, or of several names together. It is OVER for good.", lock.Table.Mermaid())
	section("Schedule", "A function that runs again and again while leading. To its election it is a task, which has exited when the "+
		"schedule is IDLE.", schedule.Table.Mermaid())

	const file = "state-machines.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s differs from the tables; run go test ./docs -update and look at the difference", file)
	}
}

// TestTwins compares the machines with what another library makes of their tables.
func TestTwins(t *testing.T) {
	t.Run("session", func(t *testing.T) { tables.Check(t, session.Table) })
	t.Run("election", func(t *testing.T) { tables.Check(t, election.Table) })
	t.Run("lock", func(t *testing.T) { tables.Check(t, lock.Table) })
	t.Run("schedule", func(t *testing.T) { tables.Check(t, schedule.Table) })
}
