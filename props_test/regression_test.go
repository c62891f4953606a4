package props_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// TestRegressions lets the worlds live again in which the simulator has found bugs, in
// their smallest form. A trace is about the choices that package swarm makes: one
// that makes others now is of no use any more, and has to be found anew with the bug
// put back.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var trace struct{ Decisions sim.Decisions }
			if err := json.Unmarshal(data, &trace); err != nil {
				t.Fatal(err)
			}
			r := sim.Record(trace.Decisions.Chooser())
			if err := swarm.New(r).Run(); err != nil {
				t.Error(err)
			}
			for _, d := range trace.Decisions {
				if !slices.Contains(r.Decisions, d) {
					t.Errorf("nobody asked for the decision %+v", d)
				}
			}
		})
	}
}
