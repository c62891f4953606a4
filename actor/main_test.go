package actor_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// observed is a system and what it tells its hooks. Most tests run in a bubble of
// testing/synctest: time is virtual there, and whoever hangs fails the test at
// once.
type observed struct {
	*actor.System
	t *testing.T

	mu      sync.Mutex
	letters []actor.Message
	errs    []error
}

// newSystem returns a system that is shut down when the test ends, which must
// then have looked at all of its errors.
func newSystem(t *testing.T, options ...actor.Option) *observed {
	t.Helper()
	o := &observed{t: t}
	o.System = actor.NewSystem(append([]actor.Option{
		actor.WithClock(actor.NewGoClock()),
		actor.WithDeadLetters(func(_ actor.Ref, msg actor.Message) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.letters = append(o.letters, msg)
		}),
		actor.WithErrors(func(err error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.errs = append(o.errs, err)
		}),
	}, options...)...)
	t.Cleanup(func() {
		o.shutdown()
		if errs := o.errors(); len(errs) > 0 {
			t.Errorf("unexpected errors: %v", errs)
		}
	})
	return o
}

// shutdown ends the system, and so makes everything that it did visible.
func (o *observed) shutdown() {
	o.t.Helper()
	if err := o.Shutdown(context.Background()); err != nil {
		o.t.Fatal(err)
	}
}

// deadLetters returns what was sent to actors that had ended.
func (o *observed) deadLetters() []actor.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.DeadLetters(); n != uint64(len(o.letters)) {
		o.t.Errorf("%d dead letters counted, %d reported", n, len(o.letters))
	}
	return slices.Clone(o.letters)
}

// errors returns and forgets what was reported.
func (o *observed) errors() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	errs := o.errs
	o.errs = nil
	return errs
}

// onePanic returns the panic that was reported, and forgets it.
func (o *observed) onePanic() *actor.PanicError {
	o.t.Helper()
	errs := o.errors()
	var p *actor.PanicError
	if len(errs) != 1 || !errors.As(errs[0], &p) {
		o.t.Fatalf("reported: %v; want one *PanicError", errs)
	}
	return p
}

// journal is a behaviour that writes down what it receives, and then does do with
// it. It is read after its actor has ended or while the bubble is idle.
type journal struct {
	seen []actor.Message
	do   func(ctx actor.Context, msg actor.Message)
}

func (j *journal) Receive(ctx actor.Context, msg actor.Message) {
	j.seen = append(j.seen, msg)
	if j.do != nil {
		j.do(ctx, msg)
	}
}

func equal(t *testing.T, what string, got, want []actor.Message) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func messages(msgs ...actor.Message) []actor.Message { return msgs }

// gate is a message that keeps an actor busy until the channel is closed.
type gate chan struct{}

// waitAtGates is what a journal does to let tests fill its mailbox.
func waitAtGates(_ actor.Context, msg actor.Message) {
	if g, ok := msg.(gate); ok {
		<-g
	}
}

// sleep lets d of virtual time pass and what is due then happen, and makes that
// visible to the test.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
