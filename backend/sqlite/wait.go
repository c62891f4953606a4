package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// The pauses between two looks at a lock of SQLite that is taken. At most two
// processes look at a time (see door), so they can afford to look often.
const (
	minBusyPause = 100 * time.Microsecond
	maxBusyPause = 5 * time.Millisecond
)

// gone returns an error if the caller has gone or the store is closed.
func (s *Store) gone(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.life.Err() != nil {
		return ErrClosed
	}
	return nil
}

// pause waits for about d.
func (s *Store) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.life.Done():
	}
	return s.gone(ctx)
}

// retry calls f until it finds the database unlocked.
func (s *Store) retry(ctx context.Context, f func() error) error {
	for pause := minBusyPause; ; pause = min(pause+pause/8, maxBusyPause) {
		err := f()
		if !busy(err) {
			return err
		}
		if ended := s.pause(ctx, pause); ended != nil {
			return fmt.Errorf("not done, because another process kept the file locked; if that one is stopped or hangs, all wait for it: %w (%w)", ended, err)
		}
	}
}
