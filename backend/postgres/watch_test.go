package postgres

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/proxy"
)

func userPool(tb testing.TB, config *pgxpool.Config) *pgxpool.Pool {
	tb.Helper()
	p, err := pgxpool.NewWithConfig(drivertest.Within(tb), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// The death of an owner is noticed when its session expires.
func TestWatchNoticesExpiry(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	s.Win(s.Session(time.Second), "name")
	w := s.Lookout("name", "free")
	w.Hears("free")
	w.Hears("name")
	if h := s.Holder("name"); h.Held {
		t.Errorf("too early: %+v", h)
	}
}

// The server ends the connection that listens. What was released in the gap is noticed by the next
// watch, which looks at everything.
func TestListenerIsKilled(t *testing.T) {
	db := server.For(t)
	url, _ := newSchema(t, db)
	s := opened(t, url)
	session := s.Session(time.Hour)
	token := s.Win(session, "name")
	w := s.Lookout("name", "free")
	w.Hears("free")
	admin(t, db).do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN \"" + s.options.channel() + "\"'")
	if err := w.End(); err == nil {
		t.Fatal("it ended without an error")
	}
	s.Free(session, "name", token)
	s.Lookout("name").Hears("name")
}

// A connection that goes silent is noticed, because it is asked now and then.
func TestListenerGoesSilent(t *testing.T) {
	db := server.For(t)
	_, options := newSchema(t, db)
	p, err := proxy.New(db.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	s := opened(t, through(db, p, options))
	s.listener.quiet, s.listener.patient = 50*time.Millisecond, 200*time.Millisecond
	session := s.Session(time.Hour)
	token := s.Win(session, "name")
	w := s.Lookout("name", "free")
	w.Hears("free")
	time.Sleep(4 * s.listener.quiet) // it is asked, and answers
	s.Free(session, "name", token)
	w.Hears("name")
	p.Stall()
	if err := w.End(); err == nil {
		t.Fatal("it ended without an error")
	}
	p.Cut()
	p.Pass()
}

// Through a pooler nothing is heard, so it looks, and says so once; with a connection to the server
// itself it hears.
func TestPoolerIsDeaf(t *testing.T) {
	t.Parallel()
	db, bouncer := server.For(t), pooler.For(t)
	_, options := newSchema(t, db)
	config, _, err := ParseURL(bouncer.URL + "&default_query_exec_mode=exec")
	if err != nil {
		t.Fatal(err)
	}
	p := userPool(t, config)
	var log bytes.Buffer
	options.Logger = slog.New(slog.NewTextHandler(&log, nil))
	begin := func(o Options) *store {
		s, err := New(drivertest.Within(t), p, o)
		if err != nil {
			t.Fatal(err)
		}
		return kept(t, s)
	}
	deaf := begin(options)
	for range 2 {
		session := deaf.Session(time.Hour)
		token := deaf.Win(session, "name")
		w := deaf.Lookout("name", "free")
		w.Hears("free")
		deaf.Free(session, "name", token)
		w.Hears("name")
		w.Cancel()
		if err := w.End(); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "nothing can be heard"); n != 1 {
		t.Errorf("it said so %d times: %s", n, log.String())
	}
	log.Reset()
	options.Direct = db.URL
	hearing := begin(options)
	hearing.Lookout("free").Hears("free")
	if log.Len() > 0 || !hearing.listener.deaf.IsZero() {
		t.Errorf("it does not listen: %s", log.String())
	}
}

// Many names that are released together are told of together.
func TestPayloads(t *testing.T) {
	names := make(map[string]struct{})
	for i := range 1000 {
		names[strings.Repeat("x", 100)+string(rune('a'+i%26))+strings.Repeat("y", i/26)] = struct{}{}
	}
	seen := 0
	for _, payload := range pack(names) {
		if len(payload) >= 8000 {
			t.Errorf("a payload has %d bytes", len(payload))
		}
		for _, name := range unpack(payload) {
			if _, ok := names[name]; !ok {
				t.Errorf("%q is none of them", name)
			}
			seen++
		}
	}
	if seen != len(names) {
		t.Errorf("%d names in place of %d", seen, len(names))
	}
	if unpack(everything) != nil {
		t.Error("everything has names")
	}
}

// What is released while a notice is sent is told in one of the next ones, and Close waits for it.
func TestCrier(t *testing.T) {
	var told []string
	speaking, goOn := make(chan struct{}), make(chan struct{})
	c := newCrier(func(_ context.Context, payloads []string) error {
		told = append(told, strings.Join(payloads, "+"))
		if len(told) == 1 {
			close(speaking)
			<-goOn
		}
		return nil
	})
	c.tell([]string{"a"})
	<-speaking
	c.tell([]string{"b"})
	c.tell([]string{"b"})
	close(goOn)
	c.close()
	c.tell([]string{"late"})
	if got := strings.Join(told, " "); got != "a b" {
		t.Errorf("it told %q", got)
	}
}

// A pool may learn only when it connects who it is, for example from passwords that change. So does
// the connection that listens.
func TestBeforeConnect(t *testing.T) {
	t.Parallel()
	url, options := newSchema(t, server.For(t))
	config, _, err := ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	user := config.ConnConfig.User
	config.ConnConfig.User = "nobody_yet"
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.User = user
		return nil
	}
	opened, err := New(drivertest.Within(t), userPool(t, config), options)
	if err != nil {
		t.Fatal(err)
	}
	s := kept(t, opened)
	w := s.Lookout("free")
	w.Hears("free")
	w.Cancel()
	if err := w.End(); err != nil {
		t.Error(err)
	}
}
