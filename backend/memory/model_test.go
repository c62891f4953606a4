package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

const second = actor.Instant(time.Second)

// world is a model with helpers that fail the test.
type world struct {
	*memory.Model
	t testing.TB
}

func newWorld(t testing.TB, c memory.Config) *world { return &world{memory.NewModel(c), t} }

func (w *world) open(now actor.Instant, id string, lease time.Duration) {
	w.t.Helper()
	if g, err := w.Open(now, id, lease, "label of "+id); err != nil || g.Session != id {
		w.t.Fatalf("Open returned %+v, %v", g, err)
	}
}

func (w *world) win(now actor.Instant, id, name string) uint64 {
	w.t.Helper()
	o, err := w.Acquire(now, id, []string{name}, false)
	if err != nil || !o[0].Won {
		w.t.Fatalf("Acquire returned %+v, %v", o, err)
	}
	return o[0].Token
}

func (w *world) expired(now actor.Instant, id string) {
	w.t.Helper()
	if _, err := w.Renew(now, id, 0, true); !errors.Is(err, backend.ErrExpired) {
		w.t.Fatalf("Renew of %s at %v returned %v", id, time.Duration(now), err)
	}
	if o, err := w.Acquire(now, id, []string{"new"}, false); !errors.Is(err, backend.ErrExpired) || o != nil {
		w.t.Fatalf("Acquire by %s at %v returned %+v, %v", id, time.Duration(now), o, err)
	}
}

func TestGrantIsLimited(t *testing.T) {
	w := newWorld(t, memory.Config{MaxLease: time.Second})
	for asked, want := range map[time.Duration]time.Duration{time.Minute: time.Second, time.Second: time.Second, 1: 1} {
		g, err := w.Open(0, fmt.Sprint(asked), asked, "")
		if err != nil || g.Remaining != want {
			t.Errorf("asked for %v, %v was granted (%v)", asked, g.Remaining, err)
		}
	}
	if r, err := w.Renew(second-1, "1m0s", 0, false); err != nil || r.Remaining != time.Second {
		t.Errorf("a renewal granted %v (%v)", r.Remaining, err)
	}
	w.expired(2*second-1, "1m0s")
}

func TestOpenRefuses(t *testing.T) {
	w := newWorld(t, memory.Config{})
	for _, lease := range []time.Duration{0, -1} {
		if _, err := w.Open(0, "x", lease, ""); err == nil {
			t.Errorf("a lease of %v is accepted", lease)
		}
	}
	w.open(0, "used", time.Second) // R3
	if _, err := w.Open(0, "used", time.Second, ""); err == nil {
		t.Error("a session id is accepted twice")
	}
}

// The first instant at which a session is dead is that at which what it was
// granted is over.
func TestExpiryIsExact(t *testing.T) {
	w := newWorld(t, memory.Config{})
	w.open(5, "a", 10)
	w.open(5, "b", 100)
	token := w.win(5, "a", "x")
	if h := w.Inspect(14, []string{"x"})[0]; !h.Held || h.Remaining != 1 || h.Token != token || h.Label != "label of a" {
		t.Errorf("one nanosecond before the end, the holder is %+v", h)
	}
	if _, err := w.Renew(14, "a", 0, false); err != nil {
		t.Errorf("one nanosecond before the end: %v", err)
	}
	if h := w.Inspect(24, []string{"x"})[0]; h != (backend.Holder{Name: "x"}) {
		t.Errorf("at the end, the holder is %+v", h)
	}
	w.expired(24, "a")
}

// R2: whatever notices an expiry, it is final, even for a clock that goes back.
func TestDeathIsMonotone(t *testing.T) {
	notice := map[string]func(w *world){
		"renew":   func(w *world) { w.expired(10, "a") },
		"acquire": func(w *world) { w.Acquire(10, "a", nil, false) },
		"release": func(w *world) { w.Release(10, "a", nil) },
		"inspect": func(w *world) { w.Inspect(10, []string{"x"}) },
		"all":     func(w *world) { w.Inspect(10, nil) },
		"vacant":  func(w *world) { w.Vacant(10, []string{"x"}) },
		"rival":   func(w *world) { w.win(10, "b", "x") },
		"close":   func(w *world) { w.Close(10, "a") },
	}
	for name, f := range notice {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memory.Config{})
			w.open(0, "a", 10)
			w.open(0, "b", 1000)
			w.win(0, "a", "x")
			f(w)
			w.expired(9, "a")
			w.win(9, "b", "x")
		})
	}
}

// R19, and how it is done: the last token is kept with the name, and the wall
// clock is its least value.
func TestTokens(t *testing.T) {
	var wall uint64
	w := newWorld(t, memory.Config{Wall: func(actor.Instant) uint64 { return wall }})
	w.open(0, "a", time.Hour)
	take := func(clock uint64) uint64 {
		wall = clock
		token := w.win(0, "a", "x")
		w.Release(0, "a", []backend.Lease{{Name: "x", Token: token}})
		return token
	}
	for i, c := range []struct{ wall, want uint64 }{
		{1000, 1000}, // the first token is the time
		{1000, 1001}, // but never the same twice,
		{900, 1002},  // nor less when the clock goes back,
		{2000, 2000}, // and the time again when that is ahead
	} {
		if got := take(c.wall); got != c.want {
			t.Errorf("token %d at time %d is %d in place of %d", i, c.wall, got, c.want)
		}
	}
	w.Reset() // which loses the last token
	w.open(0, "a", time.Hour)
	if got := take(2001); got != 2001 {
		t.Errorf("after a loss, the token is %d", got)
	}
	plain := newWorld(t, memory.Config{})
	plain.open(0, "a", time.Hour)
	if got := plain.win(0, "a", "x"); got != 1 {
		t.Errorf("without a wall clock, the first token is %d", got)
	}
}

func TestResetForgetsEverything(t *testing.T) {
	w := newWorld(t, memory.Config{})
	w.open(0, "a", time.Hour)
	w.win(0, "a", "x")
	w.Reset()
	if all := w.Inspect(0, nil); len(all) != 0 {
		t.Errorf("left are %+v", all)
	}
	w.expired(0, "a")
}

func TestReleaseReturnsWhatItFreed(t *testing.T) {
	w := newWorld(t, memory.Config{})
	w.open(0, "a", time.Hour)
	w.open(0, "b", 10)
	x, y, z := w.win(0, "a", "x"), w.win(0, "a", "y"), w.win(0, "b", "z")
	lease := func(name string, token uint64) backend.Lease { return backend.Lease{Name: name, Token: token} }
	freed := w.Release(0, "a", []backend.Lease{
		lease("y", y), lease("x", x+1), lease("z", z), lease("y", y), lease("no", 1), lease("x", x),
	})
	if !slices.Equal(freed, []string{"y", "x"}) {
		t.Errorf("freed were %q", freed)
	}
	if freed := w.Release(10, "b", []backend.Lease{lease("z", z)}); freed != nil {
		t.Errorf("a session that has expired freed %q", freed)
	}
}

func TestCloseReturnsWhatItFreed(t *testing.T) {
	w := newWorld(t, memory.Config{})
	w.open(0, "a", time.Hour)
	for _, name := range []string{"c", "a", "b"} {
		w.win(0, "a", name)
	}
	freed := w.Close(0, "a")
	w.open(0, "b", time.Hour)
	w.win(0, "b", "b") // before anybody has asked what was freed
	if got := slices.Collect(freed); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("freed were %q", got)
	}
	for name := range freed {
		if name != "a" {
			t.Errorf("%q comes first", name)
		}
		break
	}
	if got := slices.Collect(w.Close(0, "a")); got != nil {
		t.Errorf("closed again, it freed %q", got)
	}
	if got := slices.Collect(w.Close(0, "never")); got != nil {
		t.Errorf("a session that never was freed %q", got)
	}
}

func TestVacant(t *testing.T) {
	w := newWorld(t, memory.Config{})
	w.open(0, "a", 20)
	w.open(0, "b", 30)
	w.win(0, "a", "x")
	w.win(0, "b", "y")
	for _, c := range []struct {
		now    actor.Instant
		vacant string
		next   actor.Instant
	}{{0, "[z]", 20}, {19, "[z]", 20}, {20, "[x z]", 30}, {30, "[x y z]", actor.MaxInstant}} {
		vacant, next := w.Vacant(c.now, []string{"x", "y", "z"})
		if fmt.Sprint(vacant) != c.vacant || next != c.next {
			t.Errorf("at %d, vacant are %v until %d", c.now, vacant, next)
		}
	}
}

// A request should name each lease once. If it does not, nothing breaks.
func TestNamesThatRepeatHaveOneToken(t *testing.T) {
	w := newWorld(t, memory.Config{})
	w.open(0, "a", time.Hour)
	got, err := w.Acquire(0, "a", []string{"x", "y", "x"}, true)
	if err != nil || !got[0].Won || !got[2].Won || got[0].Token != got[2].Token {
		t.Errorf("Acquire returned %+v, %v", got, err)
	}
}

// The answer to a renewal does not grow with the leases if the client knows them.
func TestKnownRevisionKeepsTheListAway(t *testing.T) {
	w := newWorld(t, memory.Config{})
	w.open(0, "a", time.Hour)
	w.win(0, "a", "x")
	first, _ := w.Renew(0, "a", 0, false)
	if !first.Complete || len(first.Leases) != 1 {
		t.Fatalf("the first renewal returned %+v", first)
	}
	if again, _ := w.Renew(0, "a", first.Revision, false); again.Complete || again.Leases != nil {
		t.Errorf("a renewal that knows returned %+v", again)
	}
	if again, _ := w.Renew(0, "a", first.Revision, true); !again.Complete || len(again.Leases) != 1 {
		t.Errorf("a renewal that insists returned %+v", again)
	}
}
