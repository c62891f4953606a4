package term_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/term"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handClock stands still until a test moves it.
type handClock struct{ now atomic.Int64 }

func (c *handClock) Now() actor.Instant { return actor.Instant(c.now.Load()) }

func (c *handClock) advance(d time.Duration) { c.now.Add(int64(d)) }

// newTerm returns a term whose deadline is in 10 seconds.
func newTerm() (*term.Term, *term.Deadline, *handClock) {
	clock := &handClock{}
	d := term.NewDeadline(clock, actor.Instant(10*time.Second))
	return term.New("billing", "session-1", 7, d), d, clock
}
