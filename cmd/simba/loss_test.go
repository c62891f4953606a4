//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/sqlite"
)

// The store says that the lease is not ours any more.
func TestLost(t *testing.T) {
	for what, lose := range map[string]func(*sqlite.Store, holderJSON) error{
		"TAKEN_OVER": func(s *sqlite.Store, h holderJSON) error {
			return s.Release(t.Context(), h.Session, []backend.Lease{{Name: h.Name, Token: h.Token}})
		},
		"SESSION_EXPIRED": func(s *sqlite.Store, h holderJSON) error {
			return s.CloseSession(t.Context(), h.Session)
		},
	} {
		for _, args := range [][]string{{"lock"}, {"run", "--once"}} {
			t.Run(what+" "+args[0], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				p := w.start(append(args, "x", "--renew-interval", "1s", "--", "sh", "-c", obedient)...)
				p.begins()
				if err := lose(w.store(), w.status("x")); err != nil {
					t.Fatal(err)
				}
				p.expect("asked")
				p.exits(76)
				if says := p.stderr.String(); !strings.Contains(says, `simba: the term of "x" with token`) || !strings.Contains(says, what) {
					t.Errorf("got %q", says)
				}
			})
		}
	}
}

// A CMD that does not care about the loss has the grace, and no more.
func TestLostAndStubborn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("lock", "x", "--renew-interval", "1s", "--grace", "0s", "--", "sh", "-c", stubborn)
	p.begins()
	if err := w.store().CloseSession(t.Context(), w.status("x").Session); err != nil {
		t.Fatal(err)
	}
	p.exits(76)
	p.rest()
}

// Nothing renews the lease any more. CMD is asked to end while nobody else can have
// it.
func TestNotRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("lock", "x", "--lease", shortLease, "--", "sh", "-c", obedient)
	p.begins()
	for _, ending := range []string{"", "-wal", "-shm", "-queue", "-next"} {
		if err := os.Rename(w.path("leases.db"+ending), w.path("gone"+ending)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	p.expect("asked")
	p.exits(76)
	if says := p.stderr.String(); !strings.Contains(says, "could not be renewed in time") {
		t.Errorf("got %q", says)
	}
}

// A simba that does not run cannot ask its CMD to end, and yet CMD has ended when
// another one begins. When it runs again, it knows what has happened.
func TestFrozen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// All write to one file, so that the order of what they write needs no clock.
	const script = `while echo "work $SIMBA_TOKEN" >>journal; do sleep 0.01; done`
	first := w.start("lock", "x", "--lease", shortLease, "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"; `+script)
	token := first.begins()
	first.signal(syscall.SIGSTOP)
	second := w.start("lock", "x", "--lease", shortLease, "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"; `+script)
	next := second.begins()
	if next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	w.untilJournal(next, 10)
	first.signal(syscall.SIGCONT)
	first.exits(76)
	first.rest()
	w.untilJournal(next, 20)
	second.signal(syscall.SIGTERM)
	second.wait()
	w.checkJournal()
}

func (w *world) journal() []uint64 {
	w.t.Helper()
	text, err := os.ReadFile(w.path("journal"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	var tokens []uint64
	for line := range strings.Lines(string(text)) {
		token, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(line, "work ")), 10, 64)
		if err != nil {
			w.t.Fatalf("the journal has the line %q", line)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// untilJournal waits until there are some entries under a token.
func (w *world) untilJournal(token uint64, count int) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d entries under the token %d", count, token), func() bool {
		n := 0
		for _, t := range w.journal() {
			if t == token {
				n++
			}
		}
		return n >= count
	})
}

// checkJournal fails if two CMDs have run at once.
func (w *world) checkJournal() {
	w.t.Helper()
	var last uint64
	for i, token := range w.journal() {
		if token < last {
			w.t.Fatalf("entry %d is under the token %d, after one under %d", i, token, last)
		}
		last = token
	}
}
