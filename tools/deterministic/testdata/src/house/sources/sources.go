// Package sources reads what differs from run to run.
package sources

import (
	"context"
	"crypto/rand" // want `import of "crypto/rand", which is not known to be deterministic`
	"fmt"
	"math/bits"
	old "math/rand" // want `import of "math/rand", which`
	random "math/rand/v2"
	_ "net"     // want `import of "net", which`
	"os"        // want `import of "os", which`
	"runtime"   // want `import of "runtime", which`
	. "strings" // nothing to say
	"sync"      // want `import of "sync", which`
	clock "time"
	_ "unsafe" // want `import of "unsafe", which`
)

func clocks(ctx context.Context) {
	_ = clock.Now()                                // want `time.Now: a behaviour asks its context`
	_ = clock.Since(clock.Time{})                  // want `time.Since` `time.Time`
	_ = clock.Until                                // want `time.Until`
	clock.Sleep(1)                                 // want `time.Sleep`
	clock.AfterFunc(1, func() {})                  // want `time.AfterFunc`
	_, _ = clock.NewTimer(1), clock.NewTicker(1)   // want `time.NewTimer` `time.NewTicker`
	_, _ = clock.Tick(1), clock.After(1)           // want `time.Tick` `time.After`
	_ = clock.Local                                // want `time.Local`
	_, _ = ctx.Deadline()                          // want `context.Context.Deadline: a timer of the context`
	_, _ = context.WithTimeout(ctx, 1)             // want `context.WithTimeout`
	_, _ = context.WithDeadlineCause(ctx, at, nil) // want `context.WithDeadlineCause`
	context.AfterFunc(ctx, func() {})              // want `context.AfterFunc`
}

func randomness() {
	_ = random.Int64N(5)   // want `rand.Int64N: a behaviour asks its context`
	_ = random.Perm(5)     // want `rand.Perm`
	random.Shuffle(5, nil) // want `rand.Shuffle`
	_, _ = rand.Text(), old.Intn(5)
}

func environment() {
	_, _ = os.Getenv("SIMBA"), os.Getpid()
	_ = runtime.NumGoroutine()
	fmt.Scanln() // want `fmt.Scanln`
}

type guarded struct{ sync.Mutex }

var at = unknown()

// What follows depends on its arguments alone.

func seeded(seed uint64) int64 { return random.New(random.NewPCG(seed, 1)).Int64N(5) }

func pure(ctx context.Context, d clock.Duration) string {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, "key", 1))
	defer cancel(context.Cause(ctx))
	half, err := clock.ParseDuration("1s")
	return ToUpper(fmt.Sprint(d.Round(clock.Second)-half, bits.Len64(5), err))
}
