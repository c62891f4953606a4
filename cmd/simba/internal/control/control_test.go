package control

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is for how long a test waits for what must happen.
const bound = 30 * time.Second

// fake is a leader in one session.
type fake struct {
	session string
	token   uint64
	do      func(ctx context.Context) error

	mu   sync.Mutex
	told []time.Duration
}

func (f *fake) Leads(session string) uint64 {
	if session == f.session {
		return f.token
	}
	return 0
}

func (f *fake) StepDown(ctx context.Context, cooldown time.Duration) error {
	f.mu.Lock()
	f.told = append(f.told, cooldown)
	f.mu.Unlock()
	if f.do == nil {
		return nil
	}
	return f.do(ctx)
}

func (f *fake) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.told)
}

// folder is a new one, with a short path on every system.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

func listen(t *testing.T, folder, name string, f *fake) *Listener {
	t.Helper()
	l, err := Listen(folder, name, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// raw is a socket of the name behind which there is something else.
func raw(t *testing.T, folder, name, label string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, prefix(name)+label+ending), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Of all processes here, that one is told which leads the name in the session.
func TestOnlyTheLeaderIsTold(t *testing.T) {
	dir := folder(t)
	leader := &fake{session: "A", token: 7}
	others := []*fake{{session: "B", token: 8}, {session: "A"}, {session: "A", token: 9}}
	listen(t, dir, "x", leader)
	listen(t, dir, "x", others[0])
	listen(t, dir, "x", others[1]) // does not lead any more
	listen(t, dir, "y", others[2])
	token, err := StepDown(t.Context(), dir, "x", "A", time.Minute)
	if token != 7 || err != nil {
		t.Errorf("got %d, %v", token, err)
	}
	if leader.times() != 1 || leader.told[0] != time.Minute {
		t.Errorf("it was told %v", leader.told)
	}
	for _, o := range others {
		if o.times() > 0 {
			t.Errorf("the one with the token %d was told too", o.token)
		}
	}
}

func TestNobody(t *testing.T) {
	dir := folder(t)
	nobody := func(when string) {
		t.Helper()
		if _, err := StepDown(t.Context(), dir, "x", "A", 0); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: %v", when, err)
		}
	}
	nobody("without a folder")
	if err := prepare(dir); err != nil {
		t.Fatal(err)
	}
	nobody("in an empty folder")
	l := listen(t, dir, "x", &fake{session: "B", token: 1})
	nobody("in another session")
	l.Close()
	if left := sockets(dir, ""); len(left) > 0 {
		t.Errorf("it has left %q", left)
	}
	dead := raw(t, dir, "x", "dead")
	dead.SetUnlinkOnClose(false)
	dead.Close()
	nobody("behind a socket of a process that was killed")
}

// What goes wrong in the leader is what the one who asks hears.
func TestLeaderFails(t *testing.T) {
	dir := folder(t)
	listen(t, dir, "x", &fake{session: "A", token: 7, do: func(context.Context) error { return errors.New("stopped already") }})
	if token, err := StepDown(t.Context(), dir, "x", "A", 0); token != 7 || err == nil || err.Error() != "stopped already" {
		t.Errorf("got %d, %v", token, err)
	}
}

// A process that is frozen takes connections, by its system, and says nothing. It is in nobody's way.
func TestFrozen(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	leader := &fake{session: "A", token: 7}
	listen(t, dir, "x", leader)
	frozen := raw(t, dir, "x", "frozen")
	began := time.Now()
	if token, err := StepDown(t.Context(), dir, "x", "A", 0); token != 7 || err != nil || time.Since(began) >= Patience {
		t.Errorf("got %d, %v after %v", token, err, time.Since(began))
	}
	_, err := StepDown(t.Context(), dir, "x", "B", 0)
	var silent *SilentError
	if !errors.As(err, &silent) || len(silent.Sockets) != 1 || silent.Sockets[0] != frozen.Addr().String() {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, err := StepDown(ctx, dir, "x", "B", 0); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// Whoever stops waiting has told the leader all the same.
func TestAskerGivesUp(t *testing.T) {
	dir := folder(t)
	begun, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	listen(t, dir, "x", &fake{session: "A", token: 7, do: func(ctx context.Context) error {
		defer close(done)
		close(begun)
		<-goOn
		return ctx.Err()
	}})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	go func() { <-begun; cancel(why) }()
	if _, err := StepDown(ctx, dir, "x", "A", 0); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	<-done
}

// A process that dies in the middle has done nobody knows what.
func TestLeaderDies(t *testing.T) {
	dir := folder(t)
	if err := prepare(dir); err != nil {
		t.Fatal(err)
	}
	dying := raw(t, dir, "x", "dying")
	go func() {
		c, err := dying.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := bufio.NewReader(c).ReadBytes('\n'); err == nil {
			send(c, claim{7})
		}
	}()
	_, err := StepDown(t.Context(), dir, "x", "A", 0)
	var lost *LostError
	if !errors.As(err, &lost) || lost.Token != 7 || !strings.Contains(err.Error(), "has gone without an answer") {
		t.Errorf("got %v", err)
	}
}

// Nonsense, and silence, are not taken for anything, and do not hold Close up.
func TestNonsense(t *testing.T) {
	dir := folder(t)
	f := &fake{session: "A", token: 7}
	l := listen(t, dir, "x", f)
	connect := func(say string) net.Conn {
		c, err := net.Dial("unix", l.socket.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte(say)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, say := range []string{
		"step down\n", "{}\n", `{"name":"y","session":"A"}` + "\n", `{"name":"x","session":"A","cooldown_ns":-1}` + "\n",
		`{"name":"` + strings.Repeat("x", limit) + "\n",
	} {
		c := connect(say)
		c.SetReadDeadline(time.Now().Add(bound))
		// Closed with some of what we said unread, which is reset on some systems.
		if n, err := c.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%.40q: %d, %v", say, n, err)
		}
	}
	connect("")
	connect(`{"name":`)
	began := time.Now()
	l.Close()
	if took := time.Since(began); took >= Patience || f.times() > 0 {
		t.Errorf("closing took %v; it was told %d times", took, f.times())
	}
}

// A handover that is over soon is waited for, and one that is not is left alone.
func TestCloseDuringHandover(t *testing.T) {
	for _, quick := range []bool{true, false} {
		dir := folder(t)
		begun, over := make(chan struct{}), make(chan struct{})
		l := listen(t, dir, "x", &fake{session: "A", token: 7, do: func(ctx context.Context) error {
			close(begun)
			select {
			case <-over:
				return nil
			case <-ctx.Done():
				return errors.New("the handover goes on")
			}
		}})
		answer := make(chan error, 1)
		go func() {
			_, err := StepDown(context.Background(), dir, "x", "A", 0)
			answer <- err
		}()
		<-begun
		if quick {
			close(over)
		}
		l.Close()
		if err := <-answer; (err == nil) != quick {
			t.Errorf("quick %v: %v", quick, err)
		}
	}
}

// Sockets of processes that were killed go, and no others.
func TestSweep(t *testing.T) {
	dir := folder(t)
	if err := prepare(dir); err != nil {
		t.Fatal(err)
	}
	age := func(path string) {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	dead := func(label string) string {
		l := raw(t, dir, "x", label)
		l.SetUnlinkOnClose(false)
		l.Close()
		return l.Addr().String()
	}
	old, young := dead("old"), dead("young")
	live := raw(t, dir, "x", "live").Addr().String()
	// The folder may be one for others as well, such as /run/user/1000.
	notes, others := filepath.Join(dir, "notes"), filepath.Join(dir, "database.sock")
	for _, path := range []string{notes, others} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age(path)
	}
	age(old)
	age(live)
	listen(t, dir, "y", &fake{})
	for path, want := range map[string]bool{old: false, young: true, live: true, notes: true, others: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
}

func TestLongFolder(t *testing.T) {
	dir := folder(t) + strings.Repeat("x", longest)
	if _, err := Listen(dir, "x", &fake{}); err == nil || !strings.Contains(err.Error(), "choose a shorter folder in SIMBA_RUNTIME_DIR") {
		t.Errorf("got %v", err)
	}
}

func TestFolder(t *testing.T) {
	t.Setenv(FolderVar, "/somewhere")
	if got := Folder(); got != "/somewhere" {
		t.Errorf("got %s", got)
	}
	t.Setenv(FolderVar, "")
	if got := Folder(); !filepath.IsAbs(got) || len(got) > longest/2 {
		t.Errorf("got %s", got)
	}
}
