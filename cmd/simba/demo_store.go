package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba"
)

// lookout asks the store who holds the lease.
type lookout struct {
	client *connection
	name   string
	latest atomic.Pointer[sight]
}

// sight is what the store said at a moment.
type sight struct {
	holder simba.Holder
	at     time.Time
}

func (l *lookout) look(ctx context.Context) (simba.Holder, error) {
	holders, err := look(ctx, l.client, []string{l.name})
	if err != nil {
		return simba.Holder{}, err
	}
	l.latest.Store(&sight{holders[0], time.Now()})
	return holders[0], nil
}

// goOn looks again and again, for people to watch, until stop is called.
func (l *lookout) goOn(ctx context.Context) (stop func()) {
	const pause = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for ctx.Err() == nil {
			_, _ = l.look(ctx) // an error shows as a lease that is not renewed
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}

// seen returns the holder as seen last, and what remains of its lease by now.
func (l *lookout) seen() (simba.Holder, time.Duration) {
	s := l.latest.Load()
	if s == nil {
		return simba.Holder{}, 0
	}
	return s.holder, max(0, s.holder.Remaining-time.Since(s.at))
}
