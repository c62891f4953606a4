package sqlite

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
)

// worker is a goroutine that owns a connection. Callers hand it jobs and wait for
// the answer or for their context, whichever comes first, so that a disk or a lock
// that hangs does not hang them.
type worker struct {
	store *Store
	jobs  chan *job
	doors []*door // to pass before a write, in order
	conn  *conn   // nil until it is needed, and after it failed
}

// job is a call on its way.
type job struct {
	ctx   context.Context
	life  context.Context // of the store
	stage atomic.Uint32
	run   func()
}

// stage is how far a job has come. Its text says what the caller knows who gives
// up there.
type stage uint32

const (
	queued stage = iota
	locking
	running
	abandoned
)

func (s stage) String() string {
	switch s {
	case queued:
		return "not done: earlier calls of this process still wait for the file"
	case locking:
		return "not done: another process kept the file locked; if that one is stopped or hangs, all wait for it"
	case running:
		return "outcome unknown: the disk took too long"
	}
	return "not done: given up"
}

// reach reports whether the job may go on to the next stage: not if its caller has
// left. What a caller was told was not done is never done later.
func (j *job) reach(next stage) bool {
	for {
		now := stage(j.stage.Load())
		if now == abandoned {
			return false
		}
		if j.stage.CompareAndSwap(uint32(now), uint32(next)) {
			return true
		}
	}
}

// abandon gives the job up and returns the stage at which that happened. A job
// that is running cannot be given up.
func (j *job) abandon() stage {
	for {
		now := stage(j.stage.Load())
		if now == running || j.stage.CompareAndSwap(uint32(now), uint32(abandoned)) {
			return now
		}
	}
}

// done returns an error if the job's caller has left or the store is closed.
func (j *job) done() error {
	if j.ctx.Err() != nil {
		return gaveUp(j.ctx, stage(j.stage.Load()))
	}
	if j.life.Err() != nil {
		return ErrClosed
	}
	return nil
}

// pause waits for about d. It returns an error if the job should not go on.
func (j *job) pause(d time.Duration) error {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
	case <-j.ctx.Done():
	case <-j.life.Done():
	}
	return j.done()
}

// The pauses between two looks at a lock of SQLite that is taken. They are rare
// (see door), so they need not be fair, but they must be short.
const (
	minBusyPause = 200 * time.Microsecond
	maxBusyPause = 5 * time.Millisecond
)

// retry calls f until it finds the database unlocked.
func (j *job) retry(f func() error) error {
	for pause := minBusyPause; ; pause = min(2*pause, maxBusyPause) {
		err := f()
		if !busy(err) {
			return err
		}
		if gone := j.pause(pause); gone != nil {
			return because(gone, err)
		}
	}
}

// loop carries out jobs until the store is closed.
func (w *worker) loop() {
	for {
		select {
		case j := <-w.jobs:
			j.run()
		case <-w.store.life.Done():
			return
		}
	}
}

// drop ends the connection. It is made anew when it is needed.
func (w *worker) drop() error {
	if w.conn == nil {
		return nil
	}
	c := w.conn
	w.conn = nil
	return c.close()
}

// call has the worker run f. It returns soon after ctx is done, also if f does
// not.
func call[T any](ctx context.Context, w *worker, f func(j *job) (T, error)) (value T, err error) {
	type result struct {
		value T
		err   error
	}
	answer := make(chan result, 1) // has room: the caller may have left
	j := &job{ctx: ctx, life: w.store.life}
	j.run = func() {
		var r result
		if r.err = j.done(); r.err == nil {
			r.value, r.err = contain(w, j, f)
		}
		answer <- r
	}
	if err := j.done(); err != nil {
		return value, w.store.at(err)
	}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return value, w.store.at(j.done())
	case <-j.life.Done():
		return value, w.store.at(ErrClosed)
	}
	var r result
	select {
	case r = <-answer:
	case <-ctx.Done():
		select {
		case r = <-answer:
		default:
			return value, w.store.at(gaveUp(ctx, j.abandon()))
		}
	}
	return r.value, w.store.at(r.err)
}

// contain turns a panic of f into an error, because nobody else could: it would
// end the program. A damaged file may cause one.
func contain[T any](w *worker, j *job, f func(*job) (T, error)) (value T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &actor.PanicError{Where: "the store " + w.store.path, Value: v, Stack: debug.Stack()}
			err = errors.Join(err, w.drop())
		}
	}()
	return f(j)
}
