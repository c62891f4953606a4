//go:build unix

package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/simba-go/simba/backend/sqlite"
)

// Scripts that CMD is made of.
const (
	// obedient says when it starts and when it is asked to end, and ends with 3.
	obedient = `trap "echo asked; exit 3" TERM; trap "echo usr1" USR1; echo "begin $SIMBA_TOKEN"; while :; do read line; done`
	// stubborn ignores that.
	stubborn = `trap "" TERM INT HUP; echo "begin $SIMBA_TOKEN"; while :; do read line; done`
	// patient ends when it is told to.
	patient = `trap "echo usr1" USR1; echo "begin $SIMBA_TOKEN"; until read line; do :; done; exit $line`
)

// shortLease is for tests that wait until one has run out. It must be long enough
// for a busy machine to renew it in time.
const shortLease = "6s"

// begins waits until CMD has begun, and returns its token.
func (p *process) begins() uint64 {
	p.t.Helper()
	line := p.line()
	token, err := strconv.ParseUint(strings.TrimPrefix(line, "begin "), 10, 64)
	if err != nil || token == 0 {
		p.t.Fatalf("got %q, want begin and a token", line)
	}
	return token
}

// status is what simba status --json says of one name.
func (w *world) status(name string) holderJSON {
	w.t.Helper()
	var all []holderJSON
	if err := json.Unmarshal([]byte(w.mustRun("status", name, "--json")), &all); err != nil || len(all) != 1 {
		w.t.Fatalf("got %v, %v", all, err)
	}
	return all[0]
}

func (w *world) vacant(name string) bool { return !w.status(name).Held }

// store opens the test's own database, as anybody may who can write to it.
func (w *world) store() *sqlite.Store {
	w.t.Helper()
	s, err := sqlite.Open(w.t.Context(), w.path("leases.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}
