//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
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

func TestLockExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for script, want := range map[string]int{
		"exit 0":        0,
		"exit 7":        7,
		"kill -USR2 $$": 128 + 12,
		"kill -9 $$":    128 + 9,
		"exec /dev/nul": 127, // not simba's business, but the shell's
	} {
		p := w.start("lock", "x", "--", "sh", "-c", script)
		p.exits(want)
	}
	if !w.vacant("x") {
		t.Error("the lock was not released")
	}
}

func TestCommandIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "the.name", "--", "sh", "-c", `echo $SIMBA_NAME; echo $SIMBA_TOKEN; echo $SIMBA_SESSION; read line; cat; echo "$1" >&2`, "sh", "an argument")
		p.expect("the.name")
		token, session := p.line(), p.line()
		h := w.status("the.name")
		if fmt.Sprint(h.Token) != token || h.Session != session || h.Holder == "" {
			t.Errorf("CMD has token %s and session %s, and the status is %+v", token, session, h)
		}
		p.say("")
		p.say("stdin")
		p.in.Close()
		if got := p.rest(); got != "stdin\n" {
			t.Errorf("stdin and stdout: got %q", got)
		}
		p.exits(0)
		if got := p.stderr.String(); got != "an argument" {
			t.Errorf("stderr: got %q", got)
		}
	}
}

func TestLockNotAcquired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.start("lock", "x", "--id", "the holder", "--", "sh", "-c", patient)
	holder.begins()
	for _, timeout := range []string{"0", "300ms"} {
		p := w.start("lock", "x", "--timeout", timeout, "--", "sh", "-c", "echo ran")
		p.exits(75)
		if got := p.rest(); got != "" {
			t.Errorf("CMD has run: %q", got)
		}
		says := p.stderr.String()
		if !strings.HasPrefix(says, "simba: ") || !strings.Contains(says, `held by "the holder"`) || strings.Contains(says, "\n") {
			t.Errorf("--timeout %s: got %q", timeout, says)
		}
	}
	other := w.start("lock", "y", "--timeout", "0", "--", "true")
	other.exits(0)
	holder.say("0")
	holder.exits(0)
}

// A timeout bounds the wait, and not CMD.
func TestLockTimeoutIsOverWhenAcquired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("lock", "x", "--timeout", "30s", "--", "sh", "-c", obedient)
	p.begins()
	p.signal(syscall.SIGTERM)
	p.expect("asked")
	p.exits(3)
}

func TestLockWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("lock", "x", "--", "sh", "-c", patient)
	token := first.begins()
	second := w.start("lock", "x", "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"`)
	first.say("4")
	first.exits(4)
	if next := second.begins(); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	second.exits(0)
}

func TestSignalsAskCommandToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			p := w.start(command, "x", "--", "sh", "-c", obedient)
			p.begins()
			p.signal(sig)
			p.expect("asked")
			p.exits(3)
			if p.rest() != "" || p.stderr.String() != "" {
				t.Errorf("%s, %v: stderr %q", command, sig, p.stderr)
			}
			if !w.vacant("x") {
				t.Errorf("%s, %v: the lease was not released", command, sig)
			}
		}
	}
}

func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.start("lock", "x", "--", "sh", "-c", patient)
	holder.begins()
	for _, command := range []string{"lock", "run"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			p := w.start(command, "x", "--log-level", "debug", "--", "sh", "-c", "echo ran")
			w.until("a session", func() bool { return strings.Contains(p.stderr.String(), "session opened") })
			p.signal(sig)
			p.exits(128 + int(sig))
			if got := p.rest(); got != "" {
				t.Errorf("CMD has run: %q", got)
			}
		}
	}
	holder.say("0")
	holder.exits(0)
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x", "--grace", "1h", "--lease", "1h", "--", "sh", "-c", `trap "echo asked" TERM; echo "begin $SIMBA_TOKEN"; while :; do sleep 0.01; done`)
		p.begins()
		p.signal(syscall.SIGTERM)
		p.expect("asked")
		p.signal(syscall.SIGTERM)
		p.exits(137)
		p.rest()
		if !w.vacant("x") {
			t.Errorf("%s: the lease was not released", command)
		}
	}
}

func TestGraceEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("lock", "x", "--grace", "50ms", "--lease", "1h", "--", "sh", "-c", stubborn)
	p.begins()
	p.signal(syscall.SIGTERM)
	p.exits(137)
	p.rest()
}

// However long the grace, CMD ends before anybody else can have the lease, which is
// renewed meanwhile.
func TestGraceEndsWithTheTerm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x", "--grace", "1h", "--lease", "2s", "--", "sh", "-c", stubborn)
		p.begins()
		p.signal(syscall.SIGTERM)
		p.exits(137)
		p.rest()
	}
}

func TestOtherSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x", "--", "sh", "-c", patient)
		p.begins()
		p.signal(syscall.SIGUSR1)
		p.expect("usr1")
		p.say("0")
		p.exits(0)
	}
}

// Under nohup, and in the background of a shell, some signals are ignored. They
// stay so.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.startCommand(exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" lock x -- sh -c "$1"`, binary, patient))
	p.begins()
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGINT)
	p.signal(syscall.SIGUSR1)
	p.expect("usr1")
	p.say("6")
	p.exits(6)
}

func TestKilledWithCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x"+command, "--", "sh", "-c", stubborn)
		p.begins()
		p.signal(syscall.SIGKILL)
		p.rest() // ends when the last that has our pipe is gone
	}
}

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
				p := w.start(append(args, "x", "--lease", "2s", "--", "sh", "-c", obedient)...)
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
	p := w.start("lock", "x", "--lease", "2s", "--grace", "0s", "--", "sh", "-c", stubborn)
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
	p := w.start("lock", "x", "--lease", "2s", "--", "sh", "-c", obedient)
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
	first := w.start("lock", "x", "--lease", "2s", "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"; `+script)
	token := first.begins()
	first.signal(syscall.SIGSTOP)
	second := w.start("lock", "x", "--lease", "2s", "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"; `+script)
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

// Many processes increment a number in a plain file. Nothing is lost, and everybody
// gets their turn.
func TestLockCounts(t *testing.T) {
	const processes, rounds = 16, 3
	const longest = "4m" // who wins next is left to chance, so a wait may be much longer than a turn
	w := newWorld(t)
	if err := os.WriteFile(w.path("counter"), []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Reading and writing takes several processes, so that an overlap would show.
	const script = `n=$(cat counter); sleep 0.002; echo $((n + 1)) >counter`
	var all sync.WaitGroup
	waits := make([]time.Duration, processes)
	for i := range processes {
		all.Go(func() {
			for range rounds {
				begin := time.Now()
				cmd := exec.Command(binary, "lock", "counter", "--timeout", longest, "--", "sh", "-c", script)
				cmd.Env, cmd.Dir = w.env, w.home
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("process %d: %v: %s", i, err, out)
					return
				}
				waits[i] = max(waits[i], time.Since(begin))
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(filepath.Join(w.home, "counter"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(text)); got != strconv.Itoa(processes*rounds) {
		t.Errorf("the counter is %s, want %d", got, processes*rounds)
	}
	t.Logf("the longest waits: %v", waits)
}

// A stand-by says today that it could not do the work, and not when it is needed.
func TestMissingCommandIsNoticedEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.start("lock", "x", "--", "sh", "-c", patient)
	holder.begins()
	for _, command := range []string{"lock", "run"} {
		standby := w.start(command, "x", "--", "no-such-command")
		standby.exits(127)
	}
	holder.say("0")
	holder.exits(0)
}
