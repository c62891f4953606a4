package sqlite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// door makes processes pass one after the other, in the order in which they came.
// It is a lock on a file beside the database, whose waiters the system queues.
// SQLite has no queue: whoever happens to look when its lock is free gets it.
//
// A door is for fairness alone. SQLite's own lock keeps writers apart, and so it
// does no harm to go around a door, or to delete its file.
type door struct {
	file *os.File

	mu      sync.Mutex
	waiting bool      // a goroutine waits for the lock
	since   time.Time // when it began
	granted chan bool // how it tells whoever wants to pass; nil if nobody does
	closed  bool
}

// patience is for how long a door is waited for. One that takes longer belongs to
// a process that was stopped on its threshold, or is broken, so it is left aside.
const patience = time.Second

func openDoor(path string) (*door, error) {
	f, err := os.OpenFile(path, os.O_RDONLY, 0)
	if os.IsNotExist(err) {
		f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o666)
	}
	if err != nil {
		return nil, err
	}
	return &door{file: f}, nil
}

// pass goes through the doors in turn, and returns once the last one is open or
// has taken too long, and whether it had to wait. leave must be called when the
// database is unlocked again.
//
// Ordinary traffic passes two doors and renewals the second one only. Whoever has
// passed the first one keeps it shut until the second one opens, so of all the
// ordinary traffic of all processes at most one call waits at the second door, and
// a renewal has few before it however much traffic there is. (How many exactly is
// up to the system, which gives a lock that has just become free to whoever asks
// first, be it the one whom it has woken for it or one who just came.)
func pass(ctx context.Context, s *Store, doors []*door) (leave func(), waited bool, err error) {
	var held *door
	leave = func() {
		if held != nil {
			held.leave()
		}
	}
	for _, d := range doors {
		open, at := d.enter(ctx, s.life)
		waited = waited || !at
		leave()
		held = nil
		if open {
			held = d
		}
		if err := s.gone(ctx); err != nil {
			leave()
			return nil, false, fmt.Errorf("not done, because other processes were waiting for the file before: %w", err)
		}
	}
	return leave, waited, nil
}

// enter reports whether the door is open and now the caller's, until it leaves, and
// whether that was so at once. It is not open if the wait took too long. Only one
// goroutine at a time may use a door.
func (d *door) enter(ctx, life context.Context) (open, atOnce bool) {
	d.mu.Lock()
	if !d.waiting {
		if tryLock(d.file) {
			d.mu.Unlock()
			return true, true
		}
		d.waiting, d.since = true, time.Now()
		go d.wait()
	}
	granted := make(chan bool, 1)
	d.granted = granted
	left := time.Until(d.since.Add(patience))
	d.mu.Unlock()

	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)/2) // and the rest for going without
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case open := <-granted:
		return open, false
	case <-timer.C:
	case <-ctx.Done():
	case <-life.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.granted = nil
	select {
	case open := <-granted: // at the last moment
		return open, false
	default:
		return false, false
	}
}

// wait waits for the lock. Nothing can call it back, as the system knows no wait
// that ends with a context; if nobody wants to pass any more when the lock is
// there, it gives it back. The next call finds it waiting and need not queue anew.
func (d *door) wait() {
	err := lock(d.file)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = false
	switch {
	case d.closed:
		d.file.Close() // and with it the lock
	case d.granted != nil:
		d.granted <- err == nil
		d.granted = nil
	case err == nil:
		unlock(d.file)
	}
}

func (d *door) leave() { unlock(d.file) }

// close gives the door up. A wait goes on until the lock is there.
func (d *door) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.waiting {
		return nil
	}
	return d.file.Close()
}
