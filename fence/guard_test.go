package fence

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		token, highest, limit uint64
		want                  error
	}{
		"first":            {1, 0, 10, nil},
		"equal":            {7, 7, 10, nil},
		"higher":           {8, 7, 10, nil},
		"the limit":        {10, 7, 10, nil},
		"greatest":         {math.MaxUint64, math.MaxUint64, math.MaxUint64, nil},
		"lower":            {6, 7, 10, ErrStale},
		"lower by far":     {1, math.MaxUint64, math.MaxUint64, ErrStale},
		"zero":             {0, 7, 10, ErrZero},
		"zero first":       {0, 0, 10, ErrZero},
		"above the limit":  {11, 7, 10, ErrTooLarge},
		"as negative":      {math.MaxInt64 + 1, 7, math.MaxInt64, ErrTooLarge},
		"as the limit + 1": {math.MaxUint64, 0, math.MaxUint64 - 1, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Compare("x", test.token, test.highest, test.limit); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("connection reset")
	for want, err := range map[string]error{
		`fence: "a" refuses the stale token 3: it has seen 5, so another owner has taken over`: &StaleError{"a", 3, 5},
		`fence: "a" was given the token 0, which no term has: hand on the token of the term`:   &TokenError{"a", 0, 9},
		`fence: "a" was given the token 12, but it can store no more than 9`:                   &TokenError{"a", 12, 9},
		`fence: "a" was not found, so nothing was written under the token 3`:                   &NotFoundError{"a", 3},
		`fence: whether "a" was written under the token 3 is not known: connection reset`:      &UnknownError{"a", 3, cause},
	} {
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
	unknown := error(&UnknownError{"a", 3, cause})
	if !errors.Is(unknown, ErrUnknown) || !errors.Is(unknown, cause) || errors.Is(unknown, ErrStale) {
		t.Error("an unknown outcome matches ErrUnknown and its cause, and nothing else")
	}
	if !errors.Is(&NotFoundError{}, ErrNotFound) {
		t.Error("a NotFoundError must match ErrNotFound")
	}
}

// Two writers; the older token writes last.
func TestGuardRefusesTheOlderWriter(t *testing.T) {
	var g Guard
	var file strings.Builder
	write := func(token uint64, text string) error {
		return g.Do(t.Context(), "file", token, func(context.Context) error {
			file.WriteString(text)
			return nil
		})
	}
	for _, err := range []error{write(5, "a"), write(9, "b"), write(9, "c")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	err := write(5, "late")
	var stale *StaleError
	if !errors.As(err, &stale) || *stale != (StaleError{"file", 5, 9}) {
		t.Errorf("got %v", err)
	}
	if file.String() != "abc" || g.Highest("file") != 9 {
		t.Errorf("the file has %q, and the highest token is %d", file.String(), g.Highest("file"))
	}
	if err := g.Check("another", 5); err != nil {
		t.Errorf("names must be apart: %v", err)
	}
}

// What is refused leaves no trace, so that nobody fills the memory with it.
func TestGuardKeepsNothingOfBadTokens(t *testing.T) {
	var g Guard
	if err := g.Check("x", 0); !errors.Is(err, ErrZero) {
		t.Errorf("got %v", err)
	}
	if len(g.names) != 0 || g.Highest("x") != 0 {
		t.Errorf("it keeps %v", g.names)
	}
}

// A model of what a guard accepts, against any order of tokens.
func TestGuardAcceptsOnlyUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Guard
		highest := map[string]uint64{}
		for range rapid.IntRange(1, 50).Draw(t, "checks") {
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
			token := rapid.Uint64Range(0, 20).Draw(t, "token")
			accepted := g.Check(name, token) == nil
			if want := token > 0 && token >= highest[name]; accepted != want {
				t.Fatalf("%s: token %d after %d: accepted is %v", name, token, highest[name], accepted)
			}
			if accepted {
				highest[name] = token
			}
			if g.Highest(name) != highest[name] {
				t.Fatalf("%s: highest is %d, want %d", name, g.Highest(name), highest[name])
			}
		}
	})
}

// Whatever the order in which writers come, what is written has no token out of order.
func TestGuardConcurrentWriters(t *testing.T) {
	var g Guard
	var mu sync.Mutex // the writes of one owner are concurrent
	var journal []uint64
	var all sync.WaitGroup
	for writer := range uint64(16) {
		all.Go(func() {
			for n := range uint64(50) {
				token := 1 + (n*7+writer*13)%97
				err := g.Do(context.Background(), "journal", token, func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					journal = append(journal, token)
					return nil
				})
				if err != nil && !errors.Is(err, ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range journal[1:] {
		if journal[i+1] < journal[i] {
			t.Fatalf("token %d was written after %d", journal[i+1], journal[i])
		}
	}
	if journal[len(journal)-1] != 97 {
		t.Errorf("the last token is %d, want 97", journal[len(journal)-1])
	}
}

// A higher token waits for the functions under lower ones, and shuts out those that come later.
func TestGuardWaitsForLowerTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		var mu sync.Mutex
		var order []string
		say := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, what)
		}
		leave := make(chan struct{})
		do := func(token uint64, what string, fn func()) {
			if err := g.Do(t.Context(), "x", token, func(context.Context) error {
				fn()
				say(what)
				return nil
			}); err != nil {
				say(what + " refused")
			}
		}
		go do(3, "old", func() { <-leave })
		synctest.Wait()
		go do(5, "middle", func() {})
		synctest.Wait()
		go do(9, "new", func() {})
		synctest.Wait()
		do(3, "late", func() {})
		close(leave)
		synctest.Wait()
		// The middle one was overtaken while it waited.
		if got := strings.Join(order, ", "); got != "late refused, old, middle refused, new" && got != "late refused, old, new, middle refused" {
			t.Errorf("got %s", got)
		}
	})
}

// Functions of one token do not wait for each other.
func TestGuardSharesAToken(t *testing.T) {
	var g Guard
	err := g.Do(t.Context(), "x", 3, func(ctx context.Context) error {
		return g.Do(ctx, "x", 3, func(context.Context) error { return errors.New("inner") })
	})
	if err == nil || err.Error() != "inner" {
		t.Errorf("got %v", err)
	}
}

func TestGuardGivesUpWaiting(t *testing.T) {
	var g Guard
	cause := errors.New("enough")
	err := g.Do(t.Context(), "x", 3, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(cause)
		return g.Do(ctx, "x", 4, func(context.Context) error { t.Error("it ran"); return nil })
	})
	if !errors.Is(err, cause) || errors.Is(err, ErrStale) {
		t.Errorf("got %v", err)
	}
	if err := g.Check("x", 3); !errors.Is(err, ErrStale) {
		t.Errorf("a token that has shown up counts, whether or not it had its turn: %v", err)
	}
}

// A panic passes on and leaves the guard usable.
func TestGuardSurvivesAPanic(t *testing.T) {
	var g Guard
	func() {
		defer func() {
			if recover() != "oops" {
				t.Error("the panic did not pass on")
			}
		}()
		g.Do(t.Context(), "x", 3, func(context.Context) error { panic("oops") })
	}()
	ran := false
	if err := g.Do(t.Context(), "x", 4, func(context.Context) error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("after a panic: %v", err)
	}
}
