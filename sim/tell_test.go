package sim_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/sim"
)

var update = flag.Bool("update", false, "write the expected stories anew")

// pauseAndTakeover is a world in which the leader, whose clock is slow, is paused
// until somebody else has taken over.
func pauseAndTakeover(prepare func(c *sim.Cluster)) *sim.Cluster {
	c := sim.NewCluster(sim.Random(1), params)
	prepare(c)
	c.Net.Weather.Delay = sim.Constant(2 * time.Millisecond)
	script := sim.Script{Callback: sim.Quick, Task: sim.Diligent}
	a, b := c.NewClient("a", time.Hour, 0.995), c.NewClient("b", 0, 1)
	a.Elect("job", script)
	c.RunUntil(time.Second, c.LedBy("job", a))
	b.Elect("job", script)
	c.RunFor(12 * time.Second)
	a.Pause()
	c.RunUntil(time.Minute, c.LedBy("job", b))
	c.RunFor(time.Second)
	a.Resume()
	c.RunFor(time.Second)
	b.Elections["job"].Stop()
	c.RunFor(time.Second)
	return c
}

func TestStory(t *testing.T) {
	tell := func() string {
		var entries []sim.Entry
		c := pauseAndTakeover(func(c *sim.Cluster) {
			c.Tell(func(e sim.Entry) {
				if e.Kind != sim.KindMessage { // of which there are many
					entries = append(entries, e)
				}
			})
		})
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(entries, func(a, b sim.Entry) int { return cmp.Compare(a.At, b.At) })
		var lines strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&lines, "%v %s %s %s=%d %s: %s\n", e.At, e.Node, e.Kind, e.Name, e.Token, e.State, e.Text)
		}
		return lines.String()
	}
	got := tell()
	if again := tell(); again != got {
		t.Errorf("the same seed tells two stories:\n%s\n%s", got, again)
	}
	const golden = "testdata/pause_and_takeover.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("line %d is\n%s\nand was\n%s\n(go test ./sim -run TestStory -update writes the story anew)", i+1, gotLines[i], wantLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("the story has %d lines, and had %d", len(gotLines), len(wantLines))
	}
}

// TestStoryTellsTheTrueTime: a term has ended when it was not valid any more, whenever
// its process noticed.
func TestStoryTellsTheTrueTime(t *testing.T) {
	var ended []sim.Entry
	pauseAndTakeover(func(c *sim.Cluster) {
		c.Tell(func(e sim.Entry) {
			if e.Kind == sim.KindTerm && e.State == "ended" && e.Node == "a" {
				ended = append(ended, e)
			}
		})
	})
	if len(ended) != 1 || !strings.Contains(ended[0].Text, "noticed later") {
		t.Fatalf("a's term ends: %+v", ended)
	}
	// The same world, seen from outside just before and just then.
	at := ended[0].At
	var before, then bool
	pauseAndTakeover(func(c *sim.Cluster) {
		leads := func() bool { return c.Clients[0].Elections["job"].Leads() }
		c.At(actor.Instant(at-1), func() { before = leads() })
		c.At(actor.Instant(at), func() { then = leads() })
	})
	if !before || then {
		t.Errorf("a's term ends at %v; a nanosecond before, it leads: %v; and then: %v", at, before, then)
	}
}

// A calm ends all cuts, and that is told in the same order each time.
func TestCalmIsToldInOrder(t *testing.T) {
	for range 5 {
		var healed []string
		c := sim.NewCluster(sim.Calm(), params)
		c.Tell(func(e sim.Entry) {
			if e.State == "healed" {
				healed = append(healed, e.Node+" to "+e.To)
			}
		})
		a, b := c.NewClient("a", 0, 1), c.NewClient("b", 0, 1)
		c.Net.Cut(b.Node, c.Store)
		c.Net.Cut(a.Node, c.Store)
		c.Net.CutOneWay(a.Node, c.Store)
		c.Net.Calm()
		if want := []string{"a to store", "b to store", "store to a", "store to b"}; !slices.Equal(healed, want) {
			t.Fatalf("healed are %q, want %q", healed, want)
		}
	}
}
