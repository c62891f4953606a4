// Package drivertest is what the tests of drivers with a server have in common: calls that must
// succeed, contenders in bad weather, storms of batches, and benchmarks.
package drivertest

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// Bound is for how long a test waits for what must happen.
const Bound = 30 * time.Second

// Parallel lets more tests run in parallel than there are processors: they wait, most of the time.
func Parallel() {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "8")
	}
}

// Within is a context for a test's calls.
func Within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Bound)
	tb.Cleanup(cancel)
	return ctx
}

// Eventually waits for a condition.
func Eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for end := time.Now().Add(Bound); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within %v: %s", Bound, what)
		}
	}
}

// Numbered returns n names.
func Numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("orders:%d", i)
	}
	return names
}

// Won returns the leases of the outcomes that were won.
func Won(outcomes []backend.Outcome) (leases []backend.Lease) {
	for _, o := range outcomes {
		if o.Won {
			leases = append(leases, backend.Lease{Name: o.Name, Token: o.Token})
		}
	}
	return leases
}

// Client makes calls that must succeed, or end the test.
type Client struct {
	// Driver is what is tested.
	Driver backend.Driver
	// TB is the test.
	TB testing.TB
	// Ctx is for all calls.
	Ctx context.Context
}

// NewClient returns one for a test.
func NewClient(tb testing.TB, driver backend.Driver) *Client {
	return &Client{Driver: driver, TB: tb, Ctx: Within(tb)}
}

// Session opens a session.
func (c *Client) Session(lease time.Duration) string {
	c.TB.Helper()
	grant, err := c.Driver.Open(c.Ctx, lease, "label")
	if err != nil {
		c.TB.Fatal(err)
	}
	return grant.Session
}

// Try returns the outcome for one name.
func (c *Client) Try(session, name string) backend.Outcome {
	c.TB.Helper()
	outcomes, err := c.Driver.Acquire(c.Ctx, session, []string{name}, false)
	if err != nil {
		c.TB.Fatal(err)
	}
	return outcomes[0]
}

// Win acquires a name and returns the token.
func (c *Client) Win(session, name string) uint64 {
	c.TB.Helper()
	o := c.Try(session, name)
	if !o.Won {
		c.TB.Fatalf("%q is held: %+v", name, o.Holder)
	}
	return o.Token
}

// Hold acquires n names, in calls of the largest size.
func (c *Client) Hold(session string, n int) {
	c.TB.Helper()
	for batch := range slices.Chunk(Numbered(n), backend.MaxBatch) {
		outcomes, err := c.Driver.Acquire(c.Ctx, session, batch, true)
		if err != nil || len(Won(outcomes)) != len(batch) {
			c.TB.Fatalf("%d of %d names: %v", len(Won(outcomes)), len(batch), err)
		}
	}
}

// List renews the session, and returns its leases.
func (c *Client) List(session string) backend.Renewal {
	c.TB.Helper()
	r, err := c.Driver.Renew(c.Ctx, session, 0, true)
	if err != nil {
		c.TB.Fatal(err)
	}
	return r
}

// Free releases one lease.
func (c *Client) Free(session, name string, token uint64) {
	c.TB.Helper()
	if err := c.Driver.Release(c.Ctx, session, []backend.Lease{{Name: name, Token: token}}); err != nil {
		c.TB.Fatal(err)
	}
}

// Holder returns who owns a name.
func (c *Client) Holder(name string) backend.Holder {
	c.TB.Helper()
	holders, err := c.Driver.Inspect(c.Ctx, []string{name})
	if err != nil {
		c.TB.Fatal(err)
	}
	return holders[0]
}

// Attempt is an acquisition that runs.
type Attempt struct {
	// Outcomes is what it returned.
	Outcomes []backend.Outcome
	// Err is its error.
	Err error
}

// Attempt begins to acquire names.
func (c *Client) Attempt(ctx context.Context, session string, names ...string) <-chan Attempt {
	done := make(chan Attempt, 1)
	go func() {
		outcomes, err := c.Driver.Acquire(ctx, session, names, false)
		done <- Attempt{outcomes, err}
	}()
	return done
}

// Everything makes each call once, and returns the errors by the names of the methods.
func (c *Client) Everything(session string, lease backend.Lease) map[string]error {
	errs := make(map[string]error)
	_, errs["Open"] = c.Driver.Open(c.Ctx, time.Hour, "")
	_, errs["Renew"] = c.Driver.Renew(c.Ctx, session, 0, true)
	_, errs["Acquire"] = c.Driver.Acquire(c.Ctx, session, []string{"other"}, false)
	_, errs["Inspect"] = c.Driver.Inspect(c.Ctx, []string{lease.Name})
	_, _, errs["KeepNote"] = c.Driver.(backend.Noter).KeepNote(c.Ctx, session, lease, backend.Note{Version: 1})
	errs["Release"] = c.Driver.Release(c.Ctx, session, []backend.Lease{lease})
	errs["CloseSession"] = c.Driver.CloseSession(c.Ctx, session)
	return errs
}

// Watching is a Watch that runs.
type Watching struct {
	// Set is the names.
	Set *backend.NameSet
	// Vacated has the names that it tells of.
	Vacated chan string
	// Cancel ends it.
	Cancel context.CancelFunc

	tb    testing.TB
	ended chan error
}

// Lookout begins to watch names, until the test ends.
func (c *Client) Lookout(names ...string) *Watching {
	ctx, cancel := context.WithCancel(c.Ctx)
	w := &Watching{backend.NewNameSet(), make(chan string, 10_000), cancel, c.TB, make(chan error, 1)}
	w.Set.Update(names, nil)
	go func() {
		w.ended <- c.Driver.(backend.Watcher).Watch(ctx, w.Set, func(names ...string) {
			for _, name := range names {
				w.Vacated <- name
			}
		})
	}()
	c.TB.Cleanup(func() {
		cancel()
		<-w.ended
	})
	return w
}

// Hears waits for a notice of the name, which must be the next.
func (w *Watching) Hears(name string) {
	w.tb.Helper()
	select {
	case got := <-w.Vacated:
		if got != name {
			w.tb.Fatalf("heard of %q in place of %q", got, name)
		}
	case <-time.After(Bound):
		w.tb.Fatalf("heard nothing of %q", name)
	}
}

// End waits for the end, and returns with what.
func (w *Watching) End() error {
	w.tb.Helper()
	select {
	case err := <-w.ended:
		w.ended <- nil
		return err
	case <-time.After(Bound):
		w.tb.Fatal("Watch goes on")
		return nil
	}
}
