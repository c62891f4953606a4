package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

// contend opens a store for each contender.
func contend(t *testing.T, url func(i int) string, weather func()) {
	drivertest.Contend(t, func(i int) backend.Driver { return opened(t, url(i)) }, weather)
}

// The server is killed and started again, with its data.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	db, err := servers.Postgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Stop() })
	url, _ := newSchema(t, db)
	contend(t, func(int) string { return url }, func() {
		for range 3 {
			time.Sleep(rand.N(time.Second)) // at random points
			db.Kill()
			if err := db.Start(drivertest.Within(t)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The networks of some are cut, stalled, and lose answers.
func TestNetworkFails(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	_, options := newSchema(t, db)
	networks := make([]*proxy.Proxy, drivertest.Contenders)
	url := func(i int) string {
		p, err := proxy.New(db.Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		networks[i] = p
		return through(db, p, options)
	}
	contend(t, url, func() {
		const rounds = 12
		for range rounds {
			p := networks[rand.N(drivertest.Contenders)]
			switch rand.N(4) {
			case 0:
				p.Cut()
			case 1:
				p.Stall()
			case 2:
				p.DropAnswers(rand.N(500))
			case 3:
				p.CutAnswers(rand.N(500))
			}
			time.Sleep(rand.N(500 * time.Millisecond))
			p.Pass()
		}
		for _, p := range networks {
			p.Cut() // what lost something in the middle is of no use any more
		}
	})
}

// through is the URL of a schema through a proxy.
func through(db *servers.Server, p *proxy.Proxy, options Options) string {
	return "postgres://postgres@" + p.Addr + "/postgres?sslmode=disable&simba_schema=" + options.Schema
}

// Sessions that want overlapping batches, in different orders, while some of them expire, do not
// block each other: the server finds no deadlock, and nobody waits in vain.
func TestStormOfBatches(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	a := admin(t, db)
	deadlocks := func() int64 {
		return a.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
	}
	before := deadlocks()
	one, two := opened(t, url), opened(t, url)
	drivertest.Storm(t, one, two)
	for _, s := range []*store{one, two} {
		s.leavesNothing()
		s.Close() // the server counts when a connection ends
	}
	drivertest.Eventually(t, "the connections have ended", func() bool {
		return a.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", options.Schema) == 0
	})
	if n := deadlocks() - before; n > 0 {
		t.Errorf("there were %d deadlocks", n)
	}
}

// A pool of the user's that is exhausted holds up what goes through it, and not the renewals.
func TestExhaustedPool(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url, options := newSchema(t, db)
	config, _, err := ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	p := userPool(t, config)
	opened, err := New(drivertest.Within(t), p, options)
	if err != nil {
		t.Fatal(err)
	}
	s := kept(t, opened)
	session := s.Session(time.Second)
	token := s.Win(session, "name")
	taken, err := p.Acquire(drivertest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(2 * time.Second)
	for time.Now().Before(end) {
		if r := s.List(session); len(r.Leases) != 1 {
			t.Fatalf("%+v", r)
		}
		ctx, cancel := context.WithTimeout(s.Ctx, 100*time.Millisecond)
		_, err := s.Acquire(ctx, session, []string{"other"}, false)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !contains(err, "no connection could be had") {
			t.Fatalf("got %v", err)
		}
	}
	taken.Release()
	if h := s.Holder("name"); h.Token != token {
		t.Errorf("%+v", h)
	}
	if h := s.Holder("other"); h.Held {
		t.Errorf("a call that had no connection had an effect: %+v", h)
	}
}

// A replica says that it is one, when it is opened, and when the primary has become one.
func TestReplica(t *testing.T) {
	t.Parallel()
	primary, err := servers.Postgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { primary.Stop() })
	url, options := newSchema(t, primary)
	s := opened(t, url)
	session := s.Session(time.Hour)
	token := s.Win(session, "name")
	replica, err := servers.PostgresReplica(primary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { replica.Stop() })
	_, err = Open(drivertest.Within(t), replica.URL+"&simba_schema="+options.Schema)
	fails(t, err, ErrReadOnly)

	admin(t, primary).do("ALTER SYSTEM SET default_transaction_read_only = on")
	admin(t, primary).do("SELECT pg_reload_conf()")
	drivertest.Eventually(t, "calls are refused", func() bool {
		_, err := s.Renew(s.Ctx, session, 0, false)
		return errors.Is(err, ErrReadOnly)
	})
	_, err = s.Acquire(s.Ctx, session, []string{"name"}, false)
	if err != nil { // a connection that has it already may still be answered
		fails(t, err, ErrReadOnly)
	}
	// A replica that is promoted goes on where the primary has ended, as far as it has heard of it.
	drivertest.Eventually(t, "the replica has heard of it", func() bool {
		return admin(t, replica).number("SELECT count(*) FROM "+options.Schema+".lease WHERE token = $1", int64(token)) == 1
	})
	primary.Kill()
	admin(t, replica).do("SELECT pg_promote()")
	next := opened(t, replica.URL+"&simba_schema="+options.Schema)
	if h := next.Holder("name"); h.Token != token {
		t.Errorf("after the failover: %+v", h)
	}
	next.List(session)
}

// A store that is closed leaves no connection, whatever it was doing.
func TestCloseLeavesNothing(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	a := admin(t, db)
	s, err := Open(drivertest.Within(t), url)
	if err != nil {
		t.Fatal(err)
	}
	here := &store{s, drivertest.NewClient(t, s)}
	session := here.Session(time.Hour)
	here.Win(session, "name")
	w := here.Lookout("name", "free")
	w.Hears("free")
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("LOCK " + options.Schema + ".session")
	failed := make(chan error, 1)
	go func() {
		_, err := s.Renew(context.Background(), session, 0, false)
		failed <- err
	}()
	connections := "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + options.Schema + "'"
	drivertest.Eventually(t, "it waits", func() bool { return a.number(connections+" AND wait_event_type = 'Lock'") == 1 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	fails(t, <-failed, ErrClosed)
	if err := w.End(); err != nil {
		t.Errorf("Watch ended with %v", err)
	}
	lock.do("ROLLBACK")
	drivertest.Eventually(t, "no connection is left", func() bool { return a.number(connections) == 0 })
	for name, err := range here.Everything(session, backend.Lease{Name: "name", Token: 1}) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
