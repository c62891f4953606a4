package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/proxy"
)

// proxied opens a new namespace of the server that stands alone, through a proxy.
func proxied(tb testing.TB) (*store, *proxy.Proxy) {
	tb.Helper()
	p := newProxy(tb, alone.For(tb).Addr)
	return opened(tb, []string{p.Addr}, Options{Namespace: freshNamespace()}), p
}

func newProxy(tb testing.TB, target string) *proxy.Proxy {
	tb.Helper()
	p, err := proxy.New(target)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	return p
}

// within returns a context that ends after d, which is long for a call and short for a test.
func (s *store) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(s.ctx, d)
	s.tb.Cleanup(cancel)
	return ctx
}

// The answer of an acquisition or a release is cut at every point, also in the middle of a packet. What
// became of it the next renewal tells, and what it tells can be released.
func TestAnswersThatAreCut(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	watcher := opened(t, []string{alone.For(t).Addr}, Options{Namespace: s.tree.root})
	session := s.open(time.Minute).Session
	names := []string{"a", "b", "c"}
	lost, adopted := 0, 0
	for after := 0; after <= 400; after += 25 {
		p.CutAnswers(after)
		outcomes, err := s.Acquire(s.within(500*time.Millisecond), session, names, after%2 == 0)
		p.Pass()
		if errors.Is(err, backend.ErrExpired) {
			t.Fatalf("a session that lives has expired: %v", err)
		}
		listed := s.renewSoon(session, 0, true)
		leases := listed.Leases
		switch {
		case err == nil && len(leases) != len(outcomes):
			t.Fatalf("after %d bytes, %d names were won and %v are owned", after, len(outcomes), leases)
		case err != nil:
			lost++
			adopted += len(leases) / len(names)
		}
		for _, l := range leases {
			if h := watcher.holder(l.Name); h.Session != session || h.Token != l.Token {
				t.Fatalf("%+v is listed, and held is %+v", l, h)
			}
		}
		p.CutAnswers(after % 100)
		s.Release(s.within(500*time.Millisecond), session, leases) // whatever comes of it
		p.Pass()
		left := leases // unless it is told otherwise
		if r := s.renewSoon(session, listed.Revision, false); r.Complete {
			left = r.Leases
		}
		for _, name := range names {
			if held := slices.ContainsFunc(left, func(l backend.Lease) bool { return l.Name == name }); watcher.holder(name).Held != held {
				t.Fatalf("after a release that was cut, %q is held by %+v, and listed are %v", name, watcher.holder(name), left)
			}
		}
		if err := s.Release(s.ctx, session, left); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if h := watcher.holder(name); h.Held {
				t.Fatalf("%+v after it was released", h)
			}
		}
	}
	t.Logf("of %d acquisitions without an answer, %d had happened", lost, adopted)
	if lost == 0 || adopted == 0 {
		t.Error("nothing was cut that had happened, so this shows nothing")
	}
}

// A server that accepts connections and is silent holds nobody for longer than their contexts say.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	session := s.open(time.Minute).Session
	token := s.win(session, "a")
	const limit = 300 * time.Millisecond
	calls := map[string]func(ctx context.Context) error{
		"Open":    func(ctx context.Context) error { _, err := s.Open(ctx, time.Minute, ""); return err },
		"Renew":   func(ctx context.Context) error { _, err := s.Renew(ctx, session, 0, true); return err },
		"Acquire": func(ctx context.Context) error { _, err := s.Acquire(ctx, session, []string{"b"}, false); return err },
		"Release": func(ctx context.Context) error {
			return s.Release(ctx, session, []backend.Lease{{Name: "a", Token: token}})
		},
		"Close":   func(ctx context.Context) error { return s.CloseSession(ctx, session) },
		"Inspect": func(ctx context.Context) error { _, err := s.Inspect(ctx, nil); return err },
		"New": func(ctx context.Context) error {
			_, err := New(ctx, []string{p.Addr}, Options{Namespace: s.tree.root})
			return err
		},
	}
	p.Stall()
	for name, call := range calls {
		begin := time.Now()
		err := call(s.within(limit))
		if took := time.Since(begin); took > limit+5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, backend.ErrExpired) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	p.Pass()
	s.CloseSession(s.ctx, session)
}

// A renewal that its server does not answer moves the session to another one.
func TestRenewalMovesToAnotherServer(t *testing.T) {
	t.Parallel()
	p := newProxy(t, alone.For(t).Addr)
	direct := alone.For(t).Addr
	var dials atomic.Int64
	stalled := func(ctx context.Context, network, _ string) (net.Conn, error) {
		address := direct
		if dials.Add(1) <= 2 { // the store's, and the session's first
			address = p.Addr
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	s := opened(t, []string{"one.invalid", "two.invalid"}, Options{Namespace: freshNamespace(), Dial: stalled})
	grant := s.open(5 * time.Second)
	s.win(grant.Session, "a")
	p.Stall()
	if _, err := s.Renew(s.within(grant.Remaining/3), grant.Session, 0, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	// In time, that is, and long before the library would give up the connection.
	r, err := s.Renew(s.within(grant.Remaining/3), grant.Session, 0, true)
	if err != nil || len(r.Leases) != 1 {
		t.Errorf("it owns %v: %v", r.Leases, err)
	}
}

// Somebody removes nodes by hand.
func TestNodesRemovedByHand(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	c := s.byHand()
	remove := func(paths ...string) {
		t.Helper()
		for _, p := range paths {
			if err := c.Delete(p, -1); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
		}
	}
	session, other := s.open(time.Minute).Session, s.open(time.Minute).Session
	a, b := s.win(session, "a"), s.win(session, "b")

	// A lease: its owner hears of it with the next renewal (R24), and does no harm to the next one.
	remove(s.tree.owner("a", session), s.tree.lease("a"))
	theirs := s.win(other, "a")
	s.free(session, "a", a)
	if h := s.holder("a"); h.Session != other || h.Token != theirs || theirs <= a {
		t.Errorf("after the release of who had lost it: %+v", h)
	}
	if r := s.renew(session); len(r.Leases) != 1 || r.Leases[0] != (backend.Lease{Name: "b", Token: b}) {
		t.Errorf("it owns %v", r.Leases)
	}
	// So many are released together, also if some are not there any more.
	remove(s.tree.owner("b", session))
	c2 := s.win(session, "c")
	if err := s.Release(s.ctx, session, []backend.Lease{{Name: "b", Token: b}, {Name: "c", Token: c2}}); err != nil {
		t.Fatal(err)
	}
	if h := s.holder("c"); h.Held {
		t.Errorf("%+v", h)
	}
	// What is left of b is no owner, and only one can become that.
	won := make([]bool, 8)
	if err := parallel(len(won), func(i int) error {
		outcomes, err := s.Acquire(s.ctx, []string{session, other}[i%2], []string{"b"}, false)
		won[i] = err == nil && outcomes[0].Won
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if owners := s.nodes(c, s.tree.lease("b")); len(owners) != 1 {
		t.Errorf("b has the owners %v", owners)
	}
	// A session.
	remove(s.tree.session(session))
	if h := s.holder("b"); h.Held && h.Session != other {
		t.Errorf("%+v", h)
	}
	if _, err := s.Acquire(s.ctx, session, nil, false); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("got %v", err)
	}
	s.expired(session)
	// Everything.
	before := s.win(other, "z")
	for _, name := range s.nodes(c, s.tree.leases()) {
		for _, owner := range s.nodes(c, s.tree.lease(name)) {
			remove(s.tree.owner(name, owner))
		}
		remove(s.tree.lease(name))
	}
	remove(s.tree.leases())
	if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) > 0 {
		t.Errorf("without leases, %v are held, %v", held, err)
	}
	if token := s.win(other, "z"); token <= before {
		t.Errorf("R19: %d came after %d", token, before)
	}
	remove(s.tree.session(other), s.tree.owner("z", other), s.tree.lease("z"), s.tree.leases(), s.tree.sessions(), s.tree.notes(), s.tree.root)
	if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) > 0 || s.holder("z").Held {
		t.Errorf("without a namespace, %v are held, %v", held, err)
	}
	s.expired("nobody")
	s.expired(other)
	if token := s.win(s.open(time.Minute).Session, "z"); token <= before {
		t.Errorf("R19: %d came after %d", token, before)
	}
}

// Another owner that somebody has put there does not keep a lease from being released.
func TestStrayOwner(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	c := s.byHand()
	session := s.open(time.Minute).Session
	token := s.win(session, "a")
	if _, err := c.Create(s.tree.owner("a", "nobody"), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	s.free(session, "a", token)
	if h := s.holder("a"); h.Held {
		t.Errorf("%+v", h)
	}
	if next := s.win(session, "a"); next <= token {
		t.Errorf("R19: %d came after %d", next, token)
	}
	if err := s.CloseSession(s.ctx, session); err != nil {
		t.Fatal(err)
	}
	if names := s.nodes(c, s.tree.leases()); len(names) != 0 {
		t.Errorf("%v are left", names)
	}
}

// What a session leaves when it dies is removed by those that come later.
func TestDeadLeasesAreSwept(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	c := s.byHand()
	session := s.open(time.Minute).Session
	for i := range 5 {
		s.win(session, fmt.Sprint("name-", i))
	}
	kept := s.open(time.Minute).Session
	s.win(kept, "kept")
	if err := c.Delete(s.tree.session(session), -1); err != nil {
		t.Fatal(err)
	}
	s.open(time.Minute)
	eventually(t, "the dead leases are gone", func() bool {
		return slices.Equal(s.nodes(c, s.tree.leases()), []string{"kept"})
	})
	if h := s.holder("kept"); h.Session != kept {
		t.Errorf("%+v", h)
	}
}

// A session that was closed leaves nothing, also if it had more leases than go in one transaction.
func TestClosedSessionsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	c := s.byHand()
	for _, n := range []int{3, few, few + 1} {
		session := s.open(time.Minute).Session
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("name-", i)
		}
		if _, err := s.Acquire(s.ctx, session, names, false); err != nil {
			t.Fatal(err)
		}
		if err := s.CloseSession(s.ctx, session); err != nil {
			t.Fatal(err)
		}
		if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) != 0 {
			t.Errorf("%v are held: %v", held, err)
		}
		eventually(t, "nothing is left", func() bool {
			return len(s.nodes(c, s.tree.leases())) == 0 && len(s.nodes(c, s.tree.sessions())) == 0
		})
	}
}

// After Close there is no connection, and open sessions live on: whoever relies on them may not know yet.
func TestCloseLeavesSessions(t *testing.T) {
	t.Parallel()
	p := newProxy(t, alone.For(t).Addr)
	var open atomic.Int64
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &counted{Conn: conn, open: &open}, nil
	}
	namespace := freshNamespace()
	s := opened(t, []string{p.Addr}, Options{Namespace: namespace, Dial: dial})
	other := opened(t, []string{alone.For(t).Addr}, Options{Namespace: namespace})
	session, closed := s.open(5*time.Second).Session, s.open(5*time.Second).Session
	s.win(session, "a")
	if err := s.CloseSession(s.ctx, closed); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := open.Load(); n != 0 {
		t.Errorf("there are %d connections", n)
	}
	if h := other.holder("a"); h.Session != session {
		t.Errorf("after Close, %+v", h)
	}
	if _, err := s.Renew(s.ctx, session, 0, false); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Open(s.ctx, time.Second, ""); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "it expires", func() bool { return !other.holder("a").Held })
}

// counted is a connection that counts.
type counted struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// A watch that has lost its connection looks at its names anew.
func TestWatchSurvivesACut(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	other := opened(t, []string{alone.For(t).Addr}, Options{Namespace: s.tree.root})
	session := other.open(time.Minute).Session
	tokens := map[string]uint64{"a": other.win(session, "a"), "b": other.win(session, "b")}
	heard := make(chan string, 100)
	set := backend.NewNameSet()
	set.Update([]string{"a", "b", "never held"}, nil)
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Watch(ctx, set, func(names ...string) {
			for _, name := range names {
				heard <- name
			}
		})
	}()
	hears := func(want string) {
		t.Helper()
		for {
			select {
			case name := <-heard:
				if name == want {
					return
				}
			case <-time.After(bound):
				t.Fatalf("nothing was heard of %q", want)
			}
		}
	}
	hears("never held") // so it has looked
	p.Stall()
	other.free(session, "a", tokens["a"]) // unseen
	p.Cut()
	p.Pass()
	hears("a")
	other.free(session, "b", tokens["b"])
	hears("b")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Watch returned %v", err)
	}
}

// A path is watched once, however often somebody looks.
func TestOneWatchForAName(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	session := s.open(time.Minute).Session
	s.win(session, "name")
	set := backend.NewNameSet()
	set.Update([]string{"name"}, nil)
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 3)
	looked := make(chan string, 1000)
	for range cap(ended) {
		go func() { ended <- s.Watch(ctx, set, func(names ...string) { looked <- names[0] }) }()
	}
	for i := range 50 { // a new look at it each time
		mark := fmt.Sprint("mark-", i)
		set.Update([]string{"name", mark}, []string{"name"})
		for range cap(ended) {
			for name := ""; name != mark; {
				select {
				case name = <-looked:
				case <-time.After(bound):
					t.Fatal("nobody looks")
				}
			}
		}
		set.Update(nil, []string{mark})
	}
	s.Store.mu.Lock()
	r := s.looking
	s.Store.mu.Unlock()
	// The library has no way to ask; and nothing happens just now that it would change this for.
	watches := reflect.ValueOf(r.link.zk).Elem().FieldByName("watchers")
	found := 0
	for i := watches.MapRange(); i.Next(); {
		path := i.Key().FieldByName("path").String()
		if n := i.Value().Len(); n != 1 {
			t.Errorf("%s is watched %d times", path, n)
		}
		if path == s.tree.lease("name") || path == s.tree.session(session) {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d watches see to a name that is held, in place of one for it and one for its owner", found)
	}
	cancel()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A lease among many is missed too, and the others are released without it.
func TestOneOfManyRemovedByHand(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	c := s.byHand()
	session := s.open(time.Minute).Session
	names := make([]string, 2*few+100)
	for i := range names {
		names[i] = fmt.Sprint("name-", i)
	}
	outcomes, err := s.Acquire(s.ctx, session, names, false)
	if err != nil {
		t.Fatal(err)
	}
	leases := make([]backend.Lease, len(outcomes))
	for i, o := range outcomes {
		leases[i] = backend.Lease{Name: o.Name, Token: o.Token}
	}
	first := s.renew(session)
	if len(first.Leases) != len(names) {
		t.Errorf("it owns %d of %d", len(first.Leases), len(names))
	}
	const gone = 321
	for _, path := range []string{s.tree.owner(names[gone], session), s.tree.lease(names[gone])} {
		if err := c.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
	}
	second := s.renew(session)
	if len(second.Leases) != len(names)-1 || slices.Contains(second.Leases, leases[gone]) || second.Revision == first.Revision {
		t.Errorf("it owns %d of %d, at revision %d after %d", len(second.Leases), len(names), second.Revision, first.Revision)
	}
	if err := s.Release(s.ctx, session, leases); err != nil {
		t.Fatal(err)
	}
	if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) != 0 {
		t.Errorf("%d are held: %v", len(held), err)
	}
}
