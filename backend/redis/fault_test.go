package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

// operations are the calls of a driver by a session that owns "mine" and nothing else.
func operations(s *store, session string, token uint64) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Open":    func(ctx context.Context) error { _, err := s.Open(ctx, bound, ""); return err },
		"Renew":   func(ctx context.Context) error { _, err := s.Renew(ctx, session, 0, true); return err },
		"Acquire": func(ctx context.Context) error { _, err := s.Acquire(ctx, session, []string{"new"}, false); return err },
		"Release": func(ctx context.Context) error {
			return s.Release(ctx, session, []backend.Lease{{Name: "mine", Token: token}})
		},
		"KeepNote": func(ctx context.Context) error {
			_, _, err := s.KeepNote(ctx, session, backend.Lease{Name: "mine", Token: token}, backend.Note{Version: 1, Text: "done"})
			return err
		},
		"Inspect": func(ctx context.Context) error { _, err := s.Inspect(ctx, []string{"mine"}); return err },
		"List":    func(ctx context.Context) error { _, err := s.Inspect(ctx, nil); return err },
		"Close":   func(ctx context.Context) error { return s.CloseSession(ctx, session) },
	}
}

// An answer that is lost, after the server has done what it was asked for, leaves the outcome unknown: it
// is an error, and no word of expiry. Afterwards all agree on what has happened.
func TestLostAnswers(t *testing.T) {
	for _, sc := range []*script{openScript, renewScript, acquireScript, releaseScript, noteScript, closeScript, inspectScript, sessionsScript, listScript} {
		// Otherwise the answer that is lost would be that it is not known.
		if err := raw(t, shared.For(t)).ScriptLoad(t.Context(), sc.source).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for fault, inject := range map[string]func(p *proxy.Proxy, after int){
		"cut":     (*proxy.Proxy).CutAnswers,
		"dropped": (*proxy.Proxy).DropAnswers,
	} {
		for _, after := range []int{0, 1} { // nothing of the answer arrives, or its beginning
			t.Run(fmt.Sprint(fault, " after ", after), func(t *testing.T) {
				for _, name := range []string{"Open", "Renew", "Acquire", "Release", "KeepNote", "Inspect", "List", "Close"} {
					server, ns := shared.For(t), namespace()
					s, p := behind(t, server, ns)
					session := s.session(bound)
					token := s.win(session, "mine")
					s.renew(session) // so both pools have a connection
					before := executed(t, server)
					inject(p, after)
					err := operations(s, session, token)[name](within(t, 100*time.Millisecond))
					if n := executed(t, server) - before; n != 1 {
						t.Errorf("%s sent its script %d times", name, n)
					}
					p.Pass()
					if err == nil || errors.Is(err, backend.ErrExpired) {
						t.Errorf("%s returned %v", name, err)
					}
					agree(t, settled(t, server, ns), name, session, token)
					s.renewOnceAgain(name)
				}
			})
		}
	}
}

// A call whose answer is lost is not made again, although it could be: that is up to the session, which knows for how
// long it makes sense.
func TestNothingIsSentTwice(t *testing.T) {
	server, ns := shared.For(t), namespace()
	s, p := behind(t, server, ns)
	session := s.session(bound)
	token := s.win(session, "mine")
	s.renew(session)
	for _, name := range []string{"Renew", "Acquire"} {
		before := executed(t, server)
		p.CutAnswers(0)
		failed := make(chan error, 1)
		go func() { failed <- operations(s, session, token)[name](s.ctx) }()
		eventually(t, "the request has arrived", func() bool { return executed(t, server) > before })
		p.Pass()
		if err := <-failed; err == nil {
			t.Errorf("%s has got an answer", name)
		}
		if n := executed(t, server) - before; n != 1 {
			t.Errorf("%s was sent %d times", name, n)
		}
	}
}

// executed is how many scripts a server has run.
func executed(t *testing.T, server *servers.Server) int {
	t.Helper()
	info, err := raw(t, server).Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	stats, _, _ := strings.Cut(strings.TrimPrefix(field(info, "cmdstat_evalsha"), "calls="), ",")
	n, err := strconv.Atoi(stats)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// renewOnceAgain sees that the store goes on after a fault.
func (s *store) renewOnceAgain(after string) {
	s.tb.Helper()
	session := s.session(bound)
	s.renew(session)
	if err := s.CloseSession(s.ctx, session); err != nil {
		s.tb.Fatalf("after %s: %v", after, err)
	}
}

// agree checks what a call whose answer was lost has done: everything.
func agree(t *testing.T, s *store, name, session string, token uint64) {
	t.Helper()
	if name == "Close" {
		s.expired(session)
		return
	}
	want := []string{"mine"}
	switch name {
	case "Acquire":
		want = append(want, "new")
	case "Release":
		want = nil
	case "KeepNote":
		kept, held, err := s.KeepNote(s.ctx, session, backend.Lease{Name: "mine", Token: token}, backend.Note{})
		if err != nil || !held || kept != (backend.Note{Version: 1, Text: "done"}) {
			t.Errorf("the note is %+v, held %t, %v", kept, held, err)
		}
	}
	var got []string
	leases := s.renew(session).Leases
	for _, l := range leases {
		got = append(got, l.Name)
		if h := s.holder(l.Name); h.Session != session || h.Token != l.Token {
			t.Errorf("after %s: %+v is held by %+v", name, l, h)
		}
		s.free(session, l.Name, l.Token) // R25
		if h := s.holder(l.Name); h.Held {
			t.Errorf("after %s: %q is still held", name, l.Name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("after %s, the session has %q in place of %q", name, got, want)
	}
}

// A context that is cancelled while the server is silent ends its call with the connection's timeout, and the store's
// end ends it at once.
func TestCancelledWhileWaiting(t *testing.T) {
	server := shared.For(t)
	p, err := proxy.New(server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, c := range []struct {
		timeout string
		end     func(s *store) error
	}{
		{"200ms", func(*store) error { return nil }},
		{"1h", func(s *store) error { return s.Close() }},
	} {
		ns := namespace()
		settle(t, raw(t, server), ns)
		s := opened(t, "redis://"+p.Addr+"?namespace="+ns+"&read_timeout="+c.timeout)
		session := s.session(bound)
		token := s.win(session, "mine")
		s.renew(session)
		p.Stall()
		ctx, cancel := context.WithCancel(context.Background())
		var calls sync.WaitGroup
		for name, call := range operations(s, session, token) {
			calls.Go(func() {
				if err := call(ctx); err == nil || errors.Is(err, backend.ErrExpired) {
					t.Errorf("%s returned %v", name, err)
				}
			})
		}
		eventually(t, "the calls are under way", func() bool { return busy(s.calls)+busy(s.renewals) >= 2 })
		began := time.Now()
		cancel()
		if err := c.end(s); err != nil {
			t.Error(err)
		}
		calls.Wait()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		p.Pass()
		p.Cut()
	}
}

// The store's end is that of its calls.
func TestCloseEndsCalls(t *testing.T) {
	s, p := behind(t, shared.For(t), namespace())
	session := s.session(bound)
	p.Stall()
	defer p.Pass()
	failed := make(chan error, 1)
	go func() {
		_, err := s.Acquire(s.ctx, session, []string{"name"}, false)
		failed <- err
	}()
	eventually(t, "the call is under way", func() bool { return busy(s.calls) == 1 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	for name, call := range operations(s, session, 1) {
		if err := call(s.ctx); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close returned %v", name, err)
		}
	}
}

// busy is how many connections of a client are in use.
func busy(c goredis.UniversalClient) int {
	stats := c.PoolStats()
	return int(stats.TotalConns) - int(stats.IdleConns)
}

// While all other connections are taken, by a user's own traffic and by calls that hang, renewals go on.
func TestPoolExhausted(t *testing.T) {
	server, ns := shared.For(t), namespace()
	settle(t, raw(t, server), ns)
	user := goredis.NewClient(&goredis.Options{Addr: server.Addr, PoolSize: 1, PoolTimeout: time.Hour, ContextTimeoutEnabled: true})
	defer user.Close()
	opened, err := New(t.Context(), user, Options{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	s := wrap(t, opened)
	hang := func(c goredis.UniversalClient) (end func() error) {
		conn := c.(*goredis.Client).Conn() // which keeps what it gets until it is closed
		if err := conn.Ping(s.ctx).Err(); err != nil {
			t.Fatal(err)
		}
		return conn.Close
	}
	session := s.session(bound)
	defer hang(user)()
	token := s.win(session, "name") // not by a connection of the user's
	defer hang(s.calls)()
	if _, err := s.Inspect(within(t, 50*time.Millisecond), []string{"name"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a call got a connection, so this test shows nothing: %v", err)
	}
	for range 20 {
		r, err := s.Renew(within(t, time.Second), session, 0, true)
		if err != nil || len(r.Leases) != 1 || r.Leases[0].Token != token {
			t.Fatalf("renewed %+v, %v", r, err)
		}
	}
}

// Scripts that are forgotten by the server are sent again, at any moment.
func TestScriptFlush(t *testing.T) {
	s := fresh(t)
	c := raw(t, shared.For(t))
	stop := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := c.ScriptFlush(s.ctx).Err(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	defer flushing.Wait()
	defer close(stop)
	for i := range 50 {
		session := s.session(bound)
		name := fmt.Sprint("name-", i)
		token := s.win(session, name)
		s.renew(session)
		if all, err := s.Inspect(s.ctx, nil); err != nil || len(all) != 1 {
			t.Fatalf("all leases are %+v, %v", all, err)
		}
		s.free(session, name, token)
		if h := s.holder(name); h.Held {
			t.Fatalf("still held: %+v", h)
		}
		if err := s.CloseSession(s.ctx, session); err != nil {
			t.Fatal(err)
		}
	}
}

// What a server answers that is none is an error, and no panic.
func TestAnswersOfNoServer(t *testing.T) {
	for _, answer := range []any{nil, int64(1), "x", []any{}, []any{nil, nil, nil}, []any{"x", "x", "x"}, []any{[]any{"x"}}} {
		var r reader
		r.fields(answer, 1)
		r.number(answer)
		r.text(answer)
		r.leases(answer)
		r.holder("name", answer)
		r.gather(map[string]backend.Holder{}, answer)
		if r.err == nil {
			t.Errorf("%v is taken for everything at once", answer)
		} else if !strings.Contains(r.err.Error(), "the server answers") {
			t.Error(r.err)
		}
	}
}
