package experiment

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Result is what one experiment has found.
type Result struct {
	Kind   string  `json:"kind"`   // of the experiment
	Seed   uint64  `json:"seed"`   // of the first world of each value
	Points []Point `json:"points"` // by their values

	kind *kind
	base Setup
}

// Failure is a world in which something does not hold although it must.
type Failure struct {
	Kind, Value string // of the experiment
	Seed        uint64 // of the world
	Err         error  // a [*sim.Violation]
}

// Error names the experiment, the value and the seed.
func (e *Failure) Error() string {
	return fmt.Sprintf("experiment %s, value %s, seed %d: %v", e.Kind, e.Value, e.Seed, e.Err)
}

// Unwrap returns what does not hold.
func (e *Failure) Unwrap() error { return e.Err }

// sweep is an experiment.
type sweep struct {
	kind     *kind
	base     Setup
	values   []value
	worlds   int
	seed     uint64
	progress func(done, all int)
}

// lived is a world that has been run.
type lived struct {
	measure measure
	err     error
}

// run lets all worlds live, several at once. What it finds depends on the seed and
// not on that: worlds are added up in the order of their seeds.
func (s *sweep) run(ctx context.Context) (*Result, error) {
	worlds := make([]lived, len(s.values)*s.worlds)
	if err := s.liveAll(ctx, worlds); err != nil {
		return nil, err
	}
	r := &Result{Kind: s.kind.name, Seed: s.seed, kind: s.kind, base: s.base}
	for i, v := range s.values {
		var all measure
		for j := range s.worlds {
			w := &worlds[i*s.worlds+j]
			if w.err != nil {
				return nil, &Failure{s.kind.name, v.text, s.seed + uint64(j), w.err}
			}
			all.add(&w.measure)
		}
		p := all.point()
		p.Value, p.X, p.Outside = v.text, v.x, v.setup.Outside()
		r.Points = append(r.Points, p)
	}
	return r, nil
}

func (s *sweep) liveAll(ctx context.Context, worlds []lived) error {
	var (
		next atomic.Int64
		mu   sync.Mutex // of done
		done int
		wg   sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(worlds) {
					return
				}
				w := &worlds[i]
				w.measure, w.err = live(s.values[i/s.worlds].setup, s.seed+uint64(i%s.worlds))
				mu.Lock()
				done++
				s.progress(done, len(worlds))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}
