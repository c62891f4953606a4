package fencefile

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/fence"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expectFolder says which files there are, and no others.
func expectFolder(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}

// Two writers; the older token writes last.
func TestOlderWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	old, young := New(path), New(path)
	for _, write := range []struct {
		by    *Guard
		token uint64
		text  string
	}{{old, 5, "a"}, {young, 9, "b"}, {young, 9, "c"}} {
		if err := write.by.WriteFile(t.Context(), write.token, []byte(write.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != write.text {
			t.Errorf("the file says %q, want %q", got, write.text)
		}
	}
	err := old.WriteFile(t.Context(), 5, []byte("late"), 0o644)
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Name: path, Token: 5, Highest: 9}) {
		t.Errorf("got %v", err)
	}
	if read(t, path) != "c" || read(t, path+".fence") != "fence 1 9\n" {
		t.Errorf("the file says %q, and beside it %q", read(t, path), read(t, path+".fence"))
	}
	expectFolder(t, filepath.Dir(path), "report", "report.fence", "report.fence.lock")
}

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	g := New(filepath.Join(dir, "f"))
	if err := g.Check(t.Context(), 0); !errors.Is(err, fence.ErrZero) {
		t.Errorf("0: %v", err)
	}
	expectFolder(t, dir)
	if err := g.Check(t.Context(), math.MaxUint64); err != nil {
		t.Errorf("the greatest: %v", err)
	}
	if highest, err := g.Highest(); err != nil || highest != math.MaxUint64 {
		t.Errorf("got %d, %v", highest, err)
	}
	if err := g.Check(t.Context(), math.MaxUint64-1); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v", err)
	}
}

// Bad content is an error, and stays for somebody to look at.
func TestBadContent(t *testing.T) {
	for name, content := range map[string]string{
		"empty":          "",
		"cut":            "fence 1 9",
		"cut earlier":    "fence 1 ",
		"no token":       "fence 1 x\n",
		"zero":           "fence 1 0\n",
		"negative":       "fence 1 -1\n",
		"a zero ahead":   "fence 1 09\n",
		"overflow":       "fence 1 18446744073709551616\n",
		"twice":          "fence 1 9\nfence 1 9\n",
		"newer":          "fence 2 9\n",
		"something else": strings.Repeat("x", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			g := New(filepath.Join(t.TempDir(), "f"))
			if err := os.WriteFile(g.mark(), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := g.WriteFile(t.Context(), 10, []byte("x"), 0o600)
			if !errors.Is(err, ErrContent) || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), g.mark()) {
				t.Errorf("got %v", err)
			}
			if read(t, g.mark()) != content {
				t.Error("it was overwritten")
			}
			if _, err := os.Stat(g.path); !os.IsNotExist(err) {
				t.Errorf("the file was written: %v", err)
			}
		})
	}
}

// What cannot be written leaves everything as it was.
func TestUnwritable(t *testing.T) {
	for name, block := range map[string]string{"the token": ".fence.new", "the file": ".fence.data"} {
		t.Run(name, func(t *testing.T) {
			g := New(filepath.Join(t.TempDir(), "f"))
			if err := g.WriteFile(t.Context(), 5, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(g.path+block, "in the way"), 0o700); err != nil {
				t.Fatal(err)
			}
			err := g.WriteFile(t.Context(), 9, []byte("new"), 0o600)
			if err == nil || errors.Is(err, fence.ErrUnknown) || errors.Is(err, fence.ErrStale) {
				t.Errorf("got %v", err)
			}
			if read(t, g.path) != "old" {
				t.Errorf("the file says %q", read(t, g.path))
			}
			if err := os.RemoveAll(g.path + block); err != nil {
				t.Fatal(err)
			}
			if err := g.WriteFile(t.Context(), 9, []byte("new"), 0o600); err != nil || read(t, g.path) != "new" {
				t.Errorf("once it is possible again: %v", err)
			}
		})
	}
	if err := New(filepath.Join(t.TempDir(), "no", "folder")).Check(t.Context(), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// What a crash left half-written is not in the way.
func TestLeftovers(t *testing.T) {
	g := New(filepath.Join(t.TempDir(), "f"))
	for _, temp := range []string{g.mark() + ".data", g.mark() + ".new"} {
		if err := os.WriteFile(temp, []byte("hal"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.WriteFile(t.Context(), 5, []byte("whole"), 0o600); err != nil || read(t, g.path) != "whole" {
		t.Errorf("got %v", err)
	}
	expectFolder(t, filepath.Dir(g.path), "f", "f.fence", "f.fence.lock")
}

// Files of others beside the guarded one are theirs, whatever they are called.
func TestNeighbours(t *testing.T) {
	g := New(filepath.Join(t.TempDir(), "f"))
	for _, neighbour := range []string{".new", ".tmp", ".lock", "~"} {
		if err := os.WriteFile(g.path+neighbour, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.WriteFile(t.Context(), 5, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	expectFolder(t, filepath.Dir(g.path), "f", "f.fence", "f.fence.lock", "f.lock", "f.new", "f.tmp", "f~")
}

// What fn returns is what Do returns, and the token stays.
func TestDo(t *testing.T) {
	g := New(filepath.Join(t.TempDir(), "f"))
	oops := errors.New("oops")
	if err := g.Do(t.Context(), 5, func(context.Context) error { return oops }); err != oops {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() { recover() }()
		g.Do(t.Context(), 6, func(context.Context) error { panic("oops") })
	}()
	if err := g.Check(t.Context(), 5); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v", err)
	}
	if err := g.Check(t.Context(), 6); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// Whoever waits for another one can give up.
func TestGivesUpWaiting(t *testing.T) {
	g := New(filepath.Join(t.TempDir(), "f"))
	enough := errors.New("enough")
	err := g.Do(t.Context(), 5, func(ctx context.Context) error {
		waiting, cancel := context.WithCancelCause(ctx)
		done := make(chan error)
		go func() { done <- g.Check(waiting, 6) }()
		cancel(enough)
		return <-done
	})
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if highest, err := g.Highest(); highest != 5 || err != nil {
		t.Errorf("got %d, %v", highest, err)
	}
}

// Whatever the order in which writers come, the journal has no token out of order.
func TestConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	var all sync.WaitGroup
	for writer := range uint64(4) {
		all.Go(func() {
			if err := journal(path, writer, 20); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	checkJournal(t, path)
}

// journal appends tokens in an order of the writer's own.
func journal(path string, writer, count uint64) error {
	g := New(path)
	for n := range count {
		token := 1 + (n*7+writer*13)%59
		err := g.Do(context.Background(), token, func(context.Context) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = f.WriteString(strconv.FormatUint(token, 10) + "\n")
			return errors.Join(err, f.Close())
		})
		if err != nil && !errors.Is(err, fence.ErrStale) {
			return err
		}
	}
	return nil
}

func checkJournal(t testing.TB, path string) {
	t.Helper()
	last := uint64(0)
	for _, line := range strings.Fields(read(t, path)) {
		token, err := strconv.ParseUint(line, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if token < last {
			t.Fatalf("token %d was written after %d", token, last)
		}
		last = token
	}
	if highest, err := New(path).Highest(); err != nil || highest != last || last == 0 {
		t.Errorf("the last token is %d, and beside the file is %d, %v", last, highest, err)
	}
}
