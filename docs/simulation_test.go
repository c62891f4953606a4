package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/simba-go/simba/sim"
)

// TestInvariantsAreDocumented: the page about the simulator lists what it checks, in
// the words of its checkers.
func TestInvariantsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range sim.Invariants() {
		if row := fmt.Sprintf("| %d | %s | %s |", i.Number, i.Name, i.Says); !strings.Contains(string(page), row) {
			t.Errorf("simulation.md has no row %q", row)
		}
	}
}
