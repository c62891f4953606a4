package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend/internal/contest"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

const contenders = 6

// contend lets processes, as far as the server can tell, compete for one lease while something is
// done to the server. No two may believe at once that they own it, tokens rise, and when it is over
// each gets its turn.
func contend(t *testing.T, open func(i int) *store, weather func()) {
	const lease = time.Second
	var record contest.Record
	ctx, end := context.WithCancel(context.Background())
	defer end()
	var running sync.WaitGroup
	for i := range contenders {
		c := &contest.Contender{Driver: open(i), Who: i, Lease: lease, Record: &record}
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "somebody wins", func() bool { return record.Len() > 0 })
	weather()
	calm := record.Len()
	eventually(t, "each wins once more", func() bool { return len(record.Winners(calm)) == contenders })
	end()
	running.Wait()
	t.Logf("%d terms", record.Len())
	if err := record.Check(); err != nil {
		t.Error(err)
	}
}

// The server is killed and started again, with its data.
func TestServerIsKilled(t *testing.T) {
	db, err := servers.Postgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Stop() })
	url, _ := newSchema(t, db)
	contend(t, func(int) *store { return opened(t, url) }, func() {
		for range 3 {
			time.Sleep(rand.N(time.Second)) // at random points
			db.Kill()
			if err := db.Start(within(t)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The networks of some are cut, stalled, and lose answers.
func TestNetworkFails(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	networks := make([]*proxy.Proxy, contenders)
	open := func(i int) *store {
		p, err := proxy.New(db.Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		networks[i] = p
		return opened(t, through(db, p, options))
	}
	_ = url
	contend(t, open, func() {
		const rounds = 12
		for range rounds {
			p := networks[rand.N(contenders)]
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
	const clients, rounds = 16, 25
	db := server.For(t)
	url, _ := newSchema(t, db)
	a := admin(t, db)
	deadlocks := func() int64 {
		return a.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
	}
	before := deadlocks()
	names := make([]string, 40)
	for i := range names {
		names[i] = string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	stores := []*store{opened(t, url), opened(t, url)}
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			s := stores[i%len(stores)]
			for range rounds {
				if err := storm(s, names); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	running.Wait()
	if n := deadlocks() - before; n > 0 {
		t.Errorf("there were %d deadlocks", n)
	}
	for _, s := range stores {
		s.leavesNothing()
	}
}

// storm is a short life of a session.
func storm(s *store, names []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	lease := time.Duration(20+rand.N(200)) * time.Millisecond
	grant, err := s.Open(ctx, lease, "storm")
	if err != nil {
		return err
	}
	for range 4 {
		batch := make([]string, len(names))
		for i, j := range rand.Perm(len(names)) {
			batch[i] = names[j]
		}
		outcomes, err := s.Acquire(ctx, grant.Session, batch[:1+rand.N(len(batch)-1)], rand.N(3) == 0)
		if expired(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Release(ctx, grant.Session, won(outcomes, rand.N(2) == 0)); err != nil {
			return err
		}
		if _, err := s.Renew(ctx, grant.Session, 0, true); err != nil {
			if expired(err) {
				return nil
			}
			return err
		}
	}
	if rand.N(2) == 0 {
		return nil // and let it expire
	}
	return s.CloseSession(ctx, grant.Session)
}

// A pool of the user's that is exhausted holds up what goes through it, and not the renewals.
func TestExhaustedPool(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	config, _, err := ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	p := userPool(t, config)
	opened, err := New(within(t), p, options)
	if err != nil {
		t.Fatal(err)
	}
	s := kept(t, opened)
	session := s.session(time.Second)
	token := s.win(session, "name")
	taken, err := p.Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(2 * time.Second)
	for time.Now().Before(end) {
		if r := s.renew(session); len(r.Leases) != 1 {
			t.Fatalf("%+v", r)
		}
		ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
		_, err := s.Acquire(ctx, session, []string{"other"}, false)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !contains(err, "no connection could be had") {
			t.Fatalf("got %v", err)
		}
	}
	taken.Release()
	if h := s.holder("name"); h.Token != token {
		t.Errorf("%+v", h)
	}
	if h := s.holder("other"); h.Held {
		t.Errorf("a call that had no connection had an effect: %+v", h)
	}
}

// A replica says that it is one, when it is opened, and when the primary has become one.
func TestReplica(t *testing.T) {
	primary, err := servers.Postgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { primary.Stop() })
	url, options := newSchema(t, primary)
	s := opened(t, url)
	session := s.session(time.Hour)
	token := s.win(session, "name")
	replica, err := servers.PostgresReplica(primary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { replica.Stop() })
	_, err = Open(within(t), replica.URL+"&simba_schema="+options.Schema)
	fails(t, err, ErrReadOnly)

	admin(t, primary).do("ALTER SYSTEM SET default_transaction_read_only = on")
	admin(t, primary).do("SELECT pg_reload_conf()")
	eventually(t, "calls are refused", func() bool {
		_, err := s.Renew(s.ctx, session, 0, false)
		return errors.Is(err, ErrReadOnly)
	})
	_, err = s.Acquire(s.ctx, session, []string{"name"}, false)
	if err != nil { // a connection that has it already may still be answered
		fails(t, err, ErrReadOnly)
	}
	// A replica that is promoted goes on where the primary has ended, as far as it has heard of it.
	eventually(t, "the replica has heard of it", func() bool {
		return admin(t, replica).number("SELECT count(*) FROM "+options.Schema+".lease WHERE token = $1", int64(token)) == 1
	})
	primary.Kill()
	admin(t, replica).do("SELECT pg_promote()")
	next := opened(t, replica.URL+"&simba_schema="+options.Schema)
	if h := next.holder("name"); h.Token != token {
		t.Errorf("after the failover: %+v", h)
	}
	next.renew(session)
}

// A store that is closed leaves no connection, whatever it was doing.
func TestCloseLeavesNothing(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	a := admin(t, db)
	s, err := Open(within(t), url+"&application_name=to_be_closed")
	if err != nil {
		t.Fatal(err)
	}
	here := &store{s, t, within(t)}
	session := here.session(time.Hour)
	here.win(session, "name")
	w := here.watch("name", "free")
	w.hears("free")
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("LOCK " + options.Schema + ".session")
	failed := make(chan error, 1)
	go func() {
		_, err := s.Renew(context.Background(), session, 0, false)
		failed <- err
	}()
	connections := "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'to_be_closed'"
	eventually(t, "it waits", func() bool { return a.number(connections+" AND wait_event_type = 'Lock'") == 1 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	fails(t, <-failed, ErrClosed)
	if err := <-w.ended; err != nil {
		t.Errorf("Watch ended with %v", err)
	}
	w.ended <- nil
	lock.do("ROLLBACK")
	eventually(t, "no connection is left", func() bool { return a.number(connections) == 0 })
	for name, err := range here.everything(session, 1) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
