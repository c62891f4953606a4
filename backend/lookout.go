package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
)

// The pause between a Watch that failed and the next one.
const (
	minWatchPause = 100 * time.Millisecond
	maxWatchPause = 10 * time.Second
)

// lookout is the part of [server] that keeps a driver's Watch going. Watch runs
// only while somebody wants to hear of a name: most clients hold what they want
// most of the time, and should then cost the store no poll and no subscription.
type lookout struct {
	watcher  Watcher // nil if the driver cannot tell
	audience Audience
	set      *NameSet // the audience's names, for the driver to read

	watching context.Context    // of the Watch that runs, nil if none does
	cancel   context.CancelFunc // ends it
	since    actor.Instant      // when it began
	pause    time.Duration      // before the next one, if that one fails
	pausing  bool
}

// What Watch's goroutine and timer tell the actor.
type (
	// sighting says that these names may be vacant.
	sighting struct{ names []string }
	// watchEnded says that Watch has returned.
	watchEnded struct{ err error }
	// watchAgain says that the pause is over.
	watchAgain struct{}
)

func newLookout(w Watcher) *lookout {
	return &lookout{watcher: w, set: NewNameSet(), pause: minWatchPause}
}

func (l *lookout) update(ctx actor.Context, m *WatchRequest) {
	if l.watcher == nil {
		return
	}
	if joined, left := l.audience.Update(m); len(joined)+len(left) > 0 {
		l.set.Update(joined, left)
	}
	l.adjust(ctx)
}

// adjust starts or ends Watch as the set wants it.
func (l *lookout) adjust(ctx actor.Context) {
	wanted := l.set.Len() > 0
	switch {
	case wanted && l.watching == nil && !l.pausing:
		l.start(ctx)
	case !wanted && l.watching != nil:
		l.cancel()
	}
}

func (l *lookout) start(ctx actor.Context) {
	watching, cancel := context.WithCancel(context.Background())
	l.watching, l.cancel, l.since = watching, cancel, ctx.Now()
	self := ctx.Self()
	seen := func(names ...string) {
		if watching.Err() == nil { // a driver may be late
			self.Tell(&sighting{names: slices.Clone(names)})
		}
	}
	ctx.Go(func(life context.Context) actor.Message {
		defer context.AfterFunc(life, cancel)()
		_, err := contain(watching, "watch", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, l.watcher.Watch(ctx, l.set, seen)
		})
		if life.Err() != nil {
			return nil // the actor has ended
		}
		return &watchEnded{err: err}
	})
}

func (l *lookout) notify(ctx actor.Context, m *sighting) { l.audience.Notify(ctx, m.names...) }

func (l *lookout) ended(ctx actor.Context, m *watchEnded) {
	cancelled := l.watching.Err() != nil
	l.cancel()
	l.watching = nil
	if cancelled {
		l.adjust(ctx) // somebody may want it again since
		return
	}
	if m.err == nil {
		m.err = errors.New("the driver stopped watching without a reason")
	}
	if ctx.Now().Sub(l.since) > maxWatchPause {
		l.pause = minWatchPause // it did work for a while
	}
	// Jitter keeps clients apart that lost the same store at the same moment.
	pause := l.pause + time.Duration(ctx.Random(int64(l.pause/2)))
	l.pause = min(2*l.pause, maxWatchPause)
	l.pausing = true
	ctx.After(pause, watchAgain{})
	ctx.Report(fmt.Errorf("simba: backend: watching for vacant names, again in %v: %w", pause, m.err))
}

func (l *lookout) again(ctx actor.Context) {
	l.pausing = false
	l.adjust(ctx)
}
