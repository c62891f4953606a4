package scenario_test

import (
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
