// Package fencefile guards a file that the processes of one machine write: the highest token
// is in a second file beside it, which is replaced as a whole, under a lock of the system.
//
// It is for a local disk. On a network file system locks may be those of one machine only.
package fencefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/simba-go/simba/fence"
)

// ErrContent says that the file with the token holds something else. It is left as it is, and
// nothing is accepted until somebody has put it right.
var ErrContent = errors.New("the file holds no token")

// Guard guards one file. It has no state but its path, is safe for concurrent use, and needs
// no closing.
//
// Beside a file "f" there are "f.fence" with the highest token, which must not be deleted as
// long as there may be an owner of an old one, and "f.fence.lock", which must not be
// deleted while anybody writes. Only their owner can read and write them, so all writers must
// run as one user, and name the file by the same path: a link is another name, and WriteFile
// replaces the link. "f.fence.new" and "f.fence.data" are there for a moment, before they
// become "f.fence" and "f".
type Guard struct{ path string }

// New returns the guard of the file with the path.
func New(path string) *Guard { return &Guard{path} }

func (g *Guard) mark() string { return g.path + ".fence" }

// Highest returns the highest token that was accepted, 0 if none was.
func (g *Guard) Highest() (uint64, error) {
	f, err := os.Open(g.mark())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, g.wrap(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return 0, g.wrap(err)
	}
	token, ok := parse(string(text))
	if !ok {
		return 0, g.wrap(fmt.Errorf("%s: %w, but %.40q; write \"%s\" followed by a token and a new line, or restore it",
			g.mark(), ErrContent, text, prefix))
	}
	return token, nil
}

// Check returns nil and keeps the token unless a higher one was seen before: then it returns a
// [*fence.StaleError]. Time may pass between a check and what it was for; where that matters,
// use [Guard.Do] or [Guard.WriteFile].
//
// ctx bounds the wait for other processes.
func (g *Guard) Check(ctx context.Context, token uint64) error {
	return g.Do(ctx, token, func(context.Context) error { return nil })
}

// Do checks like [Guard.Check], runs fn if the token is accepted, and returns what fn
// returned. The check and fn are one step: no other process, and nobody else in this one, passes
// any guard of this file meanwhile. A process that is stopped within fn keeps the others waiting
// until it goes on or dies; it can do no harm. fn must not use a guard of this file: it would
// wait for itself.
//
// The token is on the disk before fn runs, and stays if fn fails. If it cannot be written,
// because the disk is full for example, fn does not run and the old one stays.
func (g *Guard) Do(ctx context.Context, token uint64, fn func(ctx context.Context) error) error {
	if err := fence.Compare(g.path, token, 0, math.MaxUint64); err != nil {
		return err
	}
	lock := flock.New(g.mark() + ".lock")
	if err := g.wait(ctx, lock); err != nil {
		return fmt.Errorf("fence: %q was not touched under the token %d: %w", g.path, token, err)
	}
	defer lock.Close()
	if err := g.raise(token); err != nil {
		return err
	}
	return fn(ctx)
}

// WriteFile replaces the file as a whole, as one step with the check. Whoever reads it sees the old
// content or the new one, also after a crash. If it cannot be written the old content stays. An
// error that matches [fence.ErrUnknown] means that the new content is there, but may not
// survive a crash of the machine.
func (g *Guard) WriteFile(ctx context.Context, token uint64, data []byte, perm fs.FileMode) error {
	return g.Do(ctx, token, func(context.Context) error {
		renamed, err := replace(g.path, g.mark()+".data", data, perm)
		switch {
		case err == nil:
			return nil
		case renamed:
			return &fence.UnknownError{Name: g.path, Token: token, Cause: err}
		}
		return fmt.Errorf("fence: %q was not written under the token %d: %w", g.path, token, err)
	})
}

// retry is how often a lock is asked for: the system call cannot wait for a context too.
const retry = 5 * time.Millisecond

func (g *Guard) wait(ctx context.Context, lock *flock.Flock) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	locked, err := lock.TryLockContext(ctx, retry)
	if locked {
		return nil
	}
	lock.Close()
	if ctx.Err() != nil {
		return fmt.Errorf("another writer is at it: %w", context.Cause(ctx))
	}
	return err
}

// raise is for who has the lock. A token that is there already needs no writing.
func (g *Guard) raise(token uint64) error {
	highest, err := g.Highest()
	if err != nil {
		return err
	}
	if err := fence.Compare(g.path, token, highest, math.MaxUint64); err != nil || token == highest {
		return err
	}
	if _, err := replace(g.mark(), g.mark()+".new", format(token), 0o600); err != nil {
		return fmt.Errorf("fence: %q was not touched, since the token %d could not be kept: %w", g.path, token, err)
	}
	return nil
}

func (g *Guard) wrap(err error) error { return fmt.Errorf("fence: %q: %w", g.path, err) }

const (
	prefix = "fence 1 " // 1 is the version of the format
	limit  = 100        // more than any token takes
)

func format(token uint64) []byte { return []byte(prefix + strconv.FormatUint(token, 10) + "\n") }

// parse takes what format makes and nothing else.
func parse(text string) (uint64, bool) {
	digits := strings.TrimSuffix(strings.TrimPrefix(text, prefix), "\n")
	token, err := strconv.ParseUint(digits, 10, 64)
	return token, err == nil && token > 0 && string(format(token)) == text
}
