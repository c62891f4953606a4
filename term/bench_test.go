package term_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/internal/ratio"
	"github.com/simba-go/simba/term"
)

// BenchmarkValid compares Valid with one read of the clock that it goes by.
func BenchmarkValid(b *testing.B) {
	for name, clock := range map[string]actor.Clock{"system": actor.SystemClock{}, "go": actor.NewGoClock()} {
		b.Run(name, func(b *testing.B) {
			tm := term.New("billing", "session-1", 7, term.NewDeadline(clock, clock.Now().Add(time.Hour)))
			ratio.Report(b, 10_000,
				func(n int) {
					for range n {
						if !tm.Valid() {
							b.Fatal("the term is not valid")
						}
					}
				},
				func(n int) {
					for range n {
						if clock.Now() == 0 {
							b.Fatal("the clock reads 0")
						}
					}
				})
		})
	}
}
