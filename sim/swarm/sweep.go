package swarm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/sim"
)

// Sweep runs the worlds of many seeds, several at once, and looks for one that does
// not hold. The zero value runs none.
type Sweep struct {
	From  uint64 // the first seed
	Seeds uint64 // how many there are
	// Workers is how many worlds run at once; as many as there are processors for
	// zero.
	Workers int
	// Twice runs each world a second time, and compares what happened.
	Twice bool
}

// Found is what a sweep found.
type Found struct {
	Seeds   uint64        // worlds that lived
	Events  uint64        // messages and timers that actors handled in them
	Virtual time.Duration // that passed in them, in all
	Met     sim.Counts    // situations
	// Failure is the failure with the least seed, nil if there was none. Worlds of
	// greater seeds may not have been run then.
	Failure *Failure
}

// Failure is a world in which something does not hold.
type Failure struct {
	Seed uint64 // of the world
	Err  error  // a [*sim.Violation] or a [*DivergedError]
}

// DivergedError says that a seed took two courses: something in it depends on more
// than the seed.
type DivergedError struct {
	Seed          uint64 // of the world
	First, Second uint64 // the hashes
}

// Error names the seed and both hashes.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("swarm: seed %d takes two courses, with the hashes %x and %x; something in it reads time, randomness or the order of a map",
		e.Seed, e.First, e.Second)
}

// chunk is how many seeds a worker takes at a time.
const chunk = 32

// Run runs the sweep. Progress, which may be nil, is called now and then, and never
// by two goroutines at once. A sweep that ctx ends returns what it has found, and
// the error of ctx.
func (s Sweep) Run(ctx context.Context, progress func(Found)) (Found, error) {
	r := &running{Sweep: s, progress: progress}
	r.end.Store(s.Seeds)
	workers := s.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { r.work(ctx) })
	}
	wg.Wait()
	return r.found, ctx.Err()
}

type running struct {
	Sweep
	progress func(Found)
	next     atomic.Uint64 // the first that nobody has taken
	end      atomic.Uint64 // the first that need not be run any more

	mu    sync.Mutex
	found Found
}

func (r *running) work(ctx context.Context) {
	for ctx.Err() == nil {
		from := r.next.Add(chunk) - chunk
		var part Found
		for i := from; i < min(from+chunk, r.end.Load()) && part.Failure == nil; i++ {
			part.add(r.From+i, r.Twice)
		}
		if part.Seeds == 0 {
			return
		}
		r.add(&part)
	}
}

// add runs one world.
func (f *Found) add(seed uint64, twice bool) {
	w := New(sim.Random(seed))
	err := w.Run()
	if twice {
		again := New(sim.Random(seed))
		if againErr := again.Run(); again.Hash() != w.Hash() || (err == nil) != (againErr == nil) {
			err = errors.Join(&DivergedError{Seed: seed, First: w.Hash(), Second: again.Hash()}, err)
		}
	}
	f.Seeds++
	f.Events += w.Steps()
	f.Virtual += time.Duration(w.Now())
	f.Met.Add(&w.Monitor.Met)
	if err != nil {
		f.Failure = &Failure{seed, err}
	}
}

// add takes a worker's part in.
func (r *running) add(part *Found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &r.found
	f.Seeds += part.Seeds
	f.Events += part.Events
	f.Virtual += part.Virtual
	f.Met.Add(&part.Met)
	if part.Failure != nil && (f.Failure == nil || part.Failure.Seed < f.Failure.Seed) {
		f.Failure = part.Failure
		r.end.Store(part.Failure.Seed - r.From)
	}
	if r.progress != nil {
		r.progress(*f)
	}
}
