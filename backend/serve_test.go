package backend_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
	"github.com/simba-go/simba/backend/memory"
)

var (
	grant    = backend.Grant{Session: "s", Remaining: time.Second}
	renewal  = backend.Renewal{Remaining: time.Second, Revision: 7, Complete: true, Leases: []backend.Lease{{Name: "a", Token: 5}}}
	outcomes = []backend.Outcome{{Name: "a", Won: true, Token: 5}, {Name: "b", Holder: backend.Holder{Name: "b", Held: true}}}
	holders  = []backend.Holder{{Name: "a"}, {Name: "b", Held: true, Token: 9}}
)

// request is one request of each kind, and what becomes of it.
type request struct {
	kind    string
	message func(backend.Call) actor.Message
	args    []any
	result  any // what a sound driver returns
	parts   func(actor.Message) (id uint64, result any, err error)
}

func requests() []request {
	names, leases := []string{"a", "b"}, []backend.Lease{{Name: "a", Token: 5}}
	return []request{{
		kind: "note",
		message: func(c backend.Call) actor.Message {
			return &backend.NoteRequest{Call: c, Session: "s", Lease: leases[0], Note: backend.Note{Version: 3, Text: "new"}}
		},
		args:   []any{"s", leases[0], backend.Note{Version: 3, Text: "new"}},
		result: noted{backend.Note{Version: 4, Text: "kept"}, true},
		parts: func(m actor.Message) (uint64, any, error) {
			a := m.(*backend.NoteAnswer)
			return a.ID, noted{a.Note, a.Held}, a.Err
		},
	}, {
		kind: "open",
		message: func(c backend.Call) actor.Message {
			return &backend.OpenRequest{Call: c, Lease: time.Minute, Label: "me"}
		},
		args:   []any{time.Minute, "me"},
		result: grant,
		parts: func(m actor.Message) (uint64, any, error) {
			a := m.(*backend.OpenAnswer)
			return a.ID, a.Grant, a.Err
		},
	}, {
		kind: "renew",
		message: func(c backend.Call) actor.Message {
			return &backend.RenewRequest{Call: c, Session: "s", Known: 3, Full: true}
		},
		args:   []any{"s", uint64(3), true},
		result: renewal,
		parts: func(m actor.Message) (uint64, any, error) {
			a := m.(*backend.RenewAnswer)
			return a.ID, a.Renewal, a.Err
		},
	}, {
		kind: "acquire",
		message: func(c backend.Call) actor.Message {
			return &backend.AcquireRequest{Call: c, Session: "s", Names: names, All: true}
		},
		args:   []any{"s", names, true},
		result: outcomes,
		parts: func(m actor.Message) (uint64, any, error) {
			a := m.(*backend.AcquireAnswer)
			return a.ID, a.Outcomes, a.Err
		},
	}, {
		kind: "release",
		message: func(c backend.Call) actor.Message {
			return &backend.ReleaseRequest{Call: c, Session: "s", Leases: leases}
		},
		args: []any{"s", leases},
		parts: func(m actor.Message) (uint64, any, error) {
			a := m.(*backend.ReleaseAnswer)
			return a.ID, nil, a.Err
		},
	}, {
		kind:    "close",
		message: func(c backend.Call) actor.Message { return &backend.CloseRequest{Call: c, Session: "s"} },
		args:    []any{"s"},
		parts: func(m actor.Message) (uint64, any, error) {
			a := m.(*backend.CloseAnswer)
			return a.ID, nil, a.Err
		},
	}, {
		kind:    "inspect",
		message: func(c backend.Call) actor.Message { return &backend.InspectRequest{Call: c, Names: names} },
		args:    []any{names},
		result:  holders,
		parts: func(m actor.Message) (uint64, any, error) {
			a := m.(*backend.InspectAnswer)
			return a.ID, a.Holders, a.Err
		},
	}}
}

// ask sends the request to a driver of which every method does the same, and
// returns the parts of the answer.
func (r request) ask(t *testing.T, timeout time.Duration, do func(ctx context.Context, method string, args ...any) (any, error)) (id uint64, result any, err error) {
	t.Helper()
	s := serve(&stub{do: do}, actor.WithClock(actor.NewGoClock()))
	defer s.stop(t)
	box := newInbox()
	s.Tell(r.message(backend.Call{ID: 42, ReplyTo: box, Timeout: timeout}))
	return r.parts(next[actor.Message](t, box))
}

func forEachRequest(t *testing.T, f func(t *testing.T, r request)) {
	for _, r := range requests() {
		t.Run(r.kind, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, r) }) })
	}
}

func TestServePassesOn(t *testing.T) {
	forEachRequest(t, func(t *testing.T, r request) {
		id, result, err := r.ask(t, time.Second, func(_ context.Context, method string, args ...any) (any, error) {
			if method != r.kind || !reflect.DeepEqual(args, r.args) {
				t.Errorf("the driver was called as %s%v, not %s%v", method, args, r.kind, r.args)
			}
			return r.result, nil
		})
		if id != 42 || err != nil || !reflect.DeepEqual(result, r.result) {
			t.Errorf("the answer to 42 is %d: %+v, %v", id, result, err)
		}
	})
}

func TestServeKeepsErrExpired(t *testing.T) {
	for _, expired := range []error{backend.ErrExpired, fmt.Errorf("the row is gone: %w", backend.ErrExpired)} {
		forEachRequest(t, func(t *testing.T, r request) {
			id, _, err := r.ask(t, time.Second, func(context.Context, string, ...any) (any, error) { return r.result, expired })
			if id != 42 || !errors.Is(err, backend.ErrExpired) || err != expired {
				t.Errorf("the answer is %d: %v in place of %v", id, err, expired)
			}
		})
	}
}

func TestServeWrapsErrors(t *testing.T) {
	cause := errors.New("the network is down")
	forEachRequest(t, func(t *testing.T, r request) {
		id, result, err := r.ask(t, time.Second, func(context.Context, string, ...any) (any, error) { return r.result, cause })
		if want := "simba: backend: " + r.kind + ": the network is down"; id != 42 || !errors.Is(err, cause) || err.Error() != want {
			t.Errorf("the answer is %d: %v in place of %s", id, err, want)
		}
		if result != nil && !reflect.ValueOf(result).IsZero() {
			t.Errorf("the outcome is unknown, and the answer says %+v", result)
		}
	})
}

func TestServeAnswersForADriverThatPanics(t *testing.T) {
	forEachRequest(t, func(t *testing.T, r request) {
		id, _, err := r.ask(t, time.Second, func(context.Context, string, ...any) (any, error) { panic("out of cheese") })
		var panicked *actor.PanicError
		if id != 42 || !errors.As(err, &panicked) || panicked.Value != "out of cheese" || len(panicked.Stack) == 0 {
			t.Errorf("the answer is %d: %v", id, err)
		}
		if errors.Is(err, backend.ErrExpired) {
			t.Error("a panic must not end the session")
		}
	})
}

func TestServeGivesUpAfterTheTimeout(t *testing.T) {
	forEachRequest(t, func(t *testing.T, r request) {
		start := time.Now()
		id, _, err := r.ask(t, 3*time.Second, func(ctx context.Context, _ string, _ ...any) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if took := time.Since(start); id != 42 || !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
			t.Errorf("the answer is %d: %v after %v", id, err, took)
		}
	})
}

func TestServeNeedsATimeout(t *testing.T) {
	for _, timeout := range []time.Duration{0, -time.Second} {
		forEachRequest(t, func(t *testing.T, r request) {
			id, _, err := r.ask(t, timeout, func(context.Context, string, ...any) (any, error) {
				t.Error("the driver was called for nobody")
				return nil, nil
			})
			var refused *backend.TimeoutError
			if id != 42 || !errors.As(err, &refused) || refused.Request != r.kind || refused.Timeout != timeout {
				t.Errorf("the answer is %d: %v", id, err)
			}
			if err != nil && !strings.Contains(err.Error(), "must be above zero") {
				t.Errorf("the error does not say what would be right: %v", err)
			}
		})
	}
}

// R11: a call that hangs, even one that does not heed its context, holds up no
// other.
func TestServeRenewsWhileOtherCallsHang(t *testing.T) {
	release := make(chan struct{})
	s := serve(&stub{do: func(_ context.Context, method string, _ ...any) (any, error) {
		if method == "renew" {
			return renewal, nil
		}
		<-release
		return nil, errors.New("hung")
	}})
	hung, renewed := newInbox(), newInbox()
	for i, r := range requests() {
		if r.kind != "renew" {
			s.Tell(r.message(backend.Call{ID: uint64(i), ReplyTo: hung, Timeout: time.Millisecond}))
		}
	}
	for id := range uint64(3) {
		s.Tell(&backend.RenewRequest{Call: backend.Call{ID: id, ReplyTo: renewed, Timeout: time.Minute}})
		if a := next[*backend.RenewAnswer](t, renewed); a.ID != id || a.Err != nil {
			t.Fatalf("the answer is %+v", a)
		}
	}
	hung.empty(t)
	// Such a driver holds up the end, too, and the system says so.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.system.Shutdown(ctx); err == nil {
		t.Error("the system ended while a driver hung")
	}
	close(release)
	s.stop(t)
	for range len(requests()) - 1 {
		next[actor.Message](t, hung)
	}
	hung.empty(t)
}

// Whoever waits when the backend is stopped hears of it.
func TestServeCancelsCallsWhenItStops(t *testing.T) {
	forEachRequest(t, func(t *testing.T, r request) {
		s := serve(&stub{do: func(ctx context.Context, _ string, _ ...any) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		box := newInbox()
		s.Tell(r.message(backend.Call{ID: 42, ReplyTo: box, Timeout: time.Hour}))
		synctest.Wait()
		s.stop(t)
		if id, _, err := r.parts(next[actor.Message](t, box)); id != 42 || !errors.Is(err, context.Canceled) {
			t.Errorf("the answer is %d: %v", id, err)
		}
	})
}

// A result that breaks the contract becomes an error, and not somebody's panic.
func TestServeRefusesBrokenResults(t *testing.T) {
	vacant := func(names ...string) (h []backend.Holder) {
		for _, name := range names {
			h = append(h, backend.Holder{Name: name})
		}
		return h
	}
	for what, broken := range map[string]struct {
		kind   string
		result any
	}{
		"session without an id":            {"open", backend.Grant{Remaining: time.Second}},
		"withheld the list":                {"renew", backend.Renewal{Remaining: time.Second, Revision: 3}},
		"0 outcomes for 2 names":           {"acquire", []backend.Outcome(nil)},
		"3 outcomes for 2 names":           {"acquire", []backend.Outcome{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
		`outcome of "b" in place of "a"`:   {"acquire", []backend.Outcome{{Name: "b"}, {Name: "a"}}},
		`token 0 for "b"`:                  {"acquire", []backend.Outcome{{Name: "a"}, {Name: "b", Won: true}}},
		"1 holders for 2 names":            {"inspect", vacant("a")},
		`holder of "c" in place of "b"`:    {"inspect", vacant("a", "c")},
		"0 holders for 2 names":            {"inspect", nil},
		`the outcome of "x" in place of "`: {"acquire", []backend.Outcome{{Name: "x"}, {Name: "b"}}},
	} {
		for _, r := range requests() {
			if r.kind != broken.kind {
				continue
			}
			id, _, err := r.ask(t, time.Minute, func(context.Context, string, ...any) (any, error) { return broken.result, nil })
			if id != 42 || err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: the answer is %d: %v", what, id, err)
			}
		}
	}
}

// Only who knows the revision may be left without the list.
func TestServeLetsAKnownListStayAway(t *testing.T) {
	for _, c := range []struct {
		known    uint64
		full     bool
		revision uint64
		ok       bool
	}{{3, false, 3, true}, {3, true, 3, false}, {3, false, 4, false}, {0, false, 0, false}} {
		s := serve(&stub{do: func(context.Context, string, ...any) (any, error) {
			return backend.Renewal{Remaining: time.Second, Revision: c.revision}, nil
		}})
		box := newInbox()
		s.Tell(&backend.RenewRequest{Call: backend.Call{ReplyTo: box, Timeout: time.Minute}, Known: c.known, Full: c.full})
		if a := next[*backend.RenewAnswer](t, box); (a.Err == nil) != c.ok {
			t.Errorf("%+v: %v", c, a.Err)
		}
		s.stop(t)
	}
}

// An inspection of everything has no names to be compared with.
func TestServeInspectsEverything(t *testing.T) {
	s := serve(&stub{do: func(context.Context, string, ...any) (any, error) { return holders, nil }})
	defer s.stop(t)
	box := newInbox()
	s.Tell(&backend.InspectRequest{Call: backend.Call{ReplyTo: box, Timeout: time.Minute}})
	if a := next[*backend.InspectAnswer](t, box); a.Err != nil || len(a.Holders) != len(holders) {
		t.Errorf("the answer is %+v", a)
	}
}

func TestServeReportsWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(&stub{})
		s.Tell(backend.RenewRequest{}) // not a pointer
		s.Tell("hello")
		synctest.Wait()
		s.stop(t)
		if got := fmt.Sprint(s.reported()); len(s.reported()) != 2 || !strings.Contains(got, "backend.RenewRequest") || !strings.Contains(got, "string") {
			t.Errorf("reported: %s", got)
		}
	})
}

// Drivers need not keep notes, and say nothing of those of others.
func TestServeWithoutNotes(t *testing.T) {
	ctx, lease := context.Background(), backend.Lease{Name: "a", Token: 5}
	s := &stub{}
	driver := backendtest.FromActor(t, backend.Serve(struct{ backend.Driver }{s})).(backend.Noter)
	if _, _, err := driver.KeepNote(ctx, "s", lease, backend.Note{}); !errors.Is(err, backend.ErrNoNotes) {
		t.Errorf("KeepNote returned %v", err)
	}
	s.do = func(context.Context, string, ...any) (any, error) {
		return noted{backend.Note{Version: 1, Text: "another's"}, false}, nil
	}
	driver = backendtest.FromActor(t, backend.Serve(s)).(backend.Noter)
	if note, held, err := driver.KeepNote(ctx, "s", lease, backend.Note{}); note != (backend.Note{}) || held || err != nil {
		t.Errorf("KeepNote returned %+v, %t, %v", note, held, err)
	}
}

// The client's view of a store is the same through its actor.
func TestServeConforms(t *testing.T) {
	driver := backendtest.FromActor(t, memory.New().Backend())
	if _, ok := driver.(backend.Watcher); !ok {
		t.Error("a served store does not watch")
	}
	got, err := driver.Open(context.Background(), time.Minute, "me")
	if err != nil || got.Remaining != time.Minute {
		t.Errorf("Open returned %+v, %v", got, err)
	}
	if _, err := driver.Renew(context.Background(), "nobody", 0, false); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("Renew returned %v", err)
	}
}
