package backendtest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// The comparison with the model fails here on purpose, so it leaves no files
// behind and does not look for the shortest way to fail; and a fault that it finds
// once, it finds always.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s", "rapid.seed": "1"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// recorder is a [testing.TB] that keeps a failure to itself.
type recorder struct {
	scope
	mu     sync.Mutex
	failed bool
	log    []string
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.log = append(r.log, text)
}

func (r *recorder) Helper()                           {}
func (r *recorder) Log(...any)                        {}
func (r *recorder) Logf(string, ...any)               {}
func (r *recorder) Error(args ...any)                 { r.fail(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *recorder) Fail()                             { r.fail("") }
func (r *recorder) FailNow()                          { r.fail(""); runtime.Goexit() }
func (r *recorder) Fatal(args ...any)                 { r.fail(fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}
func (r *recorder) Failed() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.failed }

// fails runs one check on a store, and returns what it complains about: nothing
// if it passes.
func fails(t *testing.T, name string, c Config) (complaint string) {
	r := &recorder{scope: scope{TB: t}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.end()
		if name == modelCheck {
			compareWithModel(r, c)
			return
		}
		i := slices.IndexFunc(checks(), func(c check) bool { return c.name == name })
		if i < 0 {
			t.Errorf("there is no check %q", name)
			return
		}
		checks()[i].run(newSuite(r, c))
	}()
	<-done
	return strings.Join(r.log, "; ")
}

type clock struct{ now atomic.Int64 }

func (c *clock) Now() actor.Instant      { return actor.Instant(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

func wall(now actor.Instant) uint64 { return uint64(1735689600_000_000 + int64(now)/1000) }

// sound opens a store without a fault, on a clock of its own.
func sound(m *memory.Model) (*memory.Store, *clock) {
	clock := &clock{}
	return memory.New(memory.WithModel(m), memory.WithClock(clock)), clock
}

// Every fault is found by each of the checks that are there to find it, every
// check finds a fault, and none complains about a store without one.
func TestEachCheckFindsItsFaults(t *testing.T) {
	found := make(map[string]bool)
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			for _, name := range f.foundBy {
				found[name] = true
				complaint := fails(t, name, f.config())
				if complaint == "" {
					t.Errorf("%s passes", name)
				}
				t.Logf("%s: %.300s", name, complaint)
			}
		})
	}
	for _, name := range append(checkNames(), modelCheck) {
		if !found[name] {
			t.Errorf("nothing shows that %s can fail", name)
		}
		if complaint := fails(t, name, Config{Open: func(testing.TB) Store { return soundStore() }}); complaint != "" {
			t.Errorf("%s fails for a store without a fault: %s", name, complaint)
		}
	}
}

func checkNames() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

func soundStore() Store {
	model := memory.NewModel(memory.Config{Wall: wall})
	store, clock := sound(model)
	reopen := func(testing.TB) backend.Driver {
		return memory.New(memory.WithModel(model), memory.WithClock(clock))
	}
	return Store{Driver: store, Advance: clock.advance, Reopen: reopen, Wipe: func(tb testing.TB) backend.Driver {
		model.Reset()
		return reopen(tb)
	}}
}
