package simba_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/memory"
)

// book collects what a client logs.
type book struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *book) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "session", "token", "stack", "remaining", "retry":
			return slog.Attr{}
		}
		return a
	}}))
}

// One line for each thing that an operator wants to know, and none for what
// happens all the time.
func TestLog(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var b book
		p := w.start(simba.WithLogger(b.logger(slog.LevelInfo)))
		e := must(p.Run("led", func(ctx context.Context, _ *simba.Term) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			panic("oh")
		}))
		for range 100 {
			must(p.Lock(t.Context(), "locked")).Release(t.Context())
		}
		must(p.Lock(t.Context(), "lost"))
		time.Sleep(time.Hour)
		p.way.set(cut, opRenew, opOpen)
		time.Sleep(lease)
		p.way.heal()
		time.Sleep(lease)
		e.Stop(t.Context())
		p.Close(t.Context())
		want := `level=INFO msg="simba: elected" name=led
level=WARN msg="simba: a renewal failed" err="simba: backend: renew: the way to the store is cut"
level=WARN msg="simba: session ended" reason=DEADLINE_PASSED
level=WARN msg="simba: unlocked" name=lost reason=DEADLINE_PASSED
level=WARN msg="simba: revoked" name=led reason=DEADLINE_PASSED
level=WARN msg="simba: a task still runs although its term has ended" name=led
level=ERROR msg="simba: a task panicked" name=led err="simba: task of \"led\" panicked: oh"
level=WARN msg="simba: no session could be opened" err="simba: backend: open: the way to the store is cut"
level=INFO msg="simba: elected" name=led
level=ERROR msg="simba: a task panicked" name=led err="simba: task of \"led\" panicked: oh"
level=INFO msg="simba: revoked" name=led reason=STOPPED`
		lines := make(map[string]bool)
		for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
			lines[line] = true
			if !strings.Contains(want, line) {
				t.Errorf("logged %s", line)
			}
		}
		for _, line := range strings.Split(want, "\n") {
			if !lines[line] {
				t.Errorf("not logged: %s", line)
			}
		}
	})
}

// Nothing that a user does in a logger or event function harms the engine.
func TestLoggerAndEventsThatPanic(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var b book
		p := w.start(
			simba.WithLogger(slog.New(panicking{b.logger(slog.LevelError).Handler()})),
			simba.WithEvents(func(simba.Event) { panic("in events") }),
		)
		e := must(p.Elect("n", simba.Listener{}))
		l := must(p.Lock(t.Context(), "l"))
		time.Sleep(time.Hour)
		if !l.Valid() || e.Term() == nil || !e.Term().Valid() {
			t.Error("the terms are gone")
		}
		if s := b.String(); !strings.Contains(s, `msg="simba: the function for events panicked"`) || !strings.Contains(s, `panic="in events"`) {
			t.Errorf("logged %s", s)
		}
	})
}

// panicking is a log handler that panics below the level of errors.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool { return true }

func (h panicking) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		panic("in the logger")
	}
	return h.Handler.Handle(ctx, r)
}

// What a lease that is shorter than asked for means is said once.
// typed is an error that is often returned as a nil pointer by mistake.
type typed struct{ err error }

func (e *typed) Error() string { return e.err.Error() }
func (e *typed) Unwrap() error { return e.err }

// What a task returned is logged, whatever becomes of those who ask it what it is.
func TestErrorThatPanicsIsLogged(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var b book
		p := w.start(simba.WithLogger(b.logger(slog.LevelDebug)))
		fn := func(context.Context, *simba.Term) error { return (*typed)(nil) }
		must(p.Run("led", fn))
		must(p.Schedule("often", simba.Every(time.Minute), fn))
		time.Sleep(time.Second)
		p.Close(t.Context())
		for _, want := range []string{"simba: a task returned", "simba: a run of a schedule failed"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is not in\n%s", want, &b)
			}
		}
	})
}

func TestShortenedLeaseIsLoggedOnce(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.store = memory.New(memory.WithClock(w.clock), memory.WithModel(memory.NewModel(memory.Config{MaxLease: 6 * time.Second})))
		var b book
		p := w.start(simba.WithLogger(b.logger(slog.LevelInfo)))
		time.Sleep(time.Minute)
		const want = `level=WARN msg="simba: the store grants less of a lease than was asked for, and renewals come more often" asked=15s granted=6s interval=1.963333333s`
		if s := strings.TrimSpace(b.String()); s != want {
			t.Errorf("logged %s", s)
		}
		if s := p.Snapshot(); s.State != simba.StateLive {
			t.Errorf("%+v", s)
		}
	})
}

func TestErrorsSayWhatAndWhy(t *testing.T) {
	why := errors.New("simba: the reason")
	for want, err := range map[string]error{
		`simba: lock "a", "b" was not acquired: the reason`:                           &simba.NotAcquiredError{Names: []string{"a", "b"}, Cause: why},
		`simba: lock "a" was not acquired: context canceled (the reason)`:             &simba.NotAcquiredError{Names: []string{"a"}, Cause: context.Canceled, Last: why},
		`simba: no session could be opened: context canceled`:                         &simba.OpenError{Cause: context.Canceled},
		`simba: no session could be opened: context canceled (the reason)`:            &simba.OpenError{Cause: context.Canceled, Last: why},
		`simba: the election "a" is stopped; start a new one`:                         &simba.StoppedError{Name: "a"},
		`simba: the term of "a" with token 7 has ended: STOPPED`:                      &simba.EndedError{Name: "a", Token: 7, Reason: simba.Stopped},
		`simba: the term of "a" with token 7 has 1s left, and more than 2s is needed`: &simba.ShortError{Name: "a", Token: 7, Remaining: time.Second, Least: 2 * time.Second},
	} {
		if err.Error() != want {
			t.Errorf("%T says %q, want %q", err, err, want)
		}
		if last := (*simba.OpenError)(nil); errors.As(err, &last) && (last.Last != nil) != errors.Is(err, why) {
			t.Errorf("%v matches its reason: %v", err, errors.Is(err, why))
		}
	}
}
