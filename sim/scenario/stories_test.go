package scenario_test

import (
	"os"
	"strings"
	"testing"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/scenario"
)

// TestStories: each story comes to the end that it tells of, whatever is drawn.
func TestStories(t *testing.T) {
	stories := scenario.Stories()
	if len(stories) != 6 {
		t.Errorf("there are %d stories, want 6", len(stories))
	}
	for _, s := range stories {
		t.Run(s.Title, func(t *testing.T) {
			if s.Story == "" || len(s.Expect.Met) == 0 {
				t.Error("it has no words, or is about no situation")
			}
			if len(s.Expect.Tolerate)+len(s.Expect.Violated) > 0 {
				t.Error("it expects violations; that is for stories outside the assumptions")
			}
			for seed := range uint64(8) {
				if err := s.Run(sim.Random(seed)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// TestDocumented: the page about scenarios has all stories and all that an event can
// do, and its example is what the file says.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	words := scenario.Actions()
	for _, s := range append(scenario.Stories(), scenario.Outside()...) {
		words = append(words, s.Title)
	}
	for _, w := range words {
		if !strings.Contains(page, "`"+w+"`") {
			t.Errorf("%q is not in docs/experiments.md", w)
		}
	}
	file, err := os.ReadFile("stories/long-pause.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, example, _ := strings.Cut(string(file), "\ntitle: "); !strings.Contains(page, "title: "+example) {
		t.Error("the example in docs/experiments.md is not stories/long-pause.yaml")
	}
}
