package mysql

import (
	"context"
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
	db, err := mariaDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Stop() })
	url := newDatabase(t, db)
	contend(t, func(int) string { return url }, func() {
		for range 2 {
			time.Sleep(rand.N(time.Second)) // at random points
			db.Kill()
			if err := db.Start(drivertest.Within(t)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// through is a URL through a proxy.
func through(url string, db *servers.Server, p *proxy.Proxy) string {
	return "mysql://root@" + p.Addr + url[len("mysql://root@"+db.Addr):]
}

func network(t *testing.T, db *servers.Server) *proxy.Proxy {
	t.Helper()
	p, err := proxy.New(db.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// The networks of some are cut, stalled, and lose answers.
func TestNetworkFails(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url := newDatabase(t, db)
	networks := make([]*proxy.Proxy, drivertest.Contenders)
	contend(t, func(i int) string {
		networks[i] = network(t, db)
		return through(url, db, networks[i])
	}, func() {
		const rounds = 12
		for range rounds {
			p := networks[rand.N(len(networks))]
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

// Sessions that want overlapping batches, in different orders, while some of them expire, do not
// block each other: nobody is chosen to end a deadlock, and nobody waits in vain.
func TestStormOfBatches(t *testing.T) {
	url := newDatabase(t, server.For(t))
	one, two := opened(t, url), opened(t, url)
	drivertest.Storm(t, one, two)
	one.leavesNothing()
	two.leavesNothing()
}

// What a network has cut cannot be told that it ends, and is closed all the same.
func TestCloseAfterACut(t *testing.T) {
	db := server.For(t)
	url := newDatabase(t, db)
	for range 10 {
		p := network(t, db)
		s, err := Open(drivertest.Within(t), through(url, db, p))
		if err != nil {
			t.Fatal(err)
		}
		p.Cut()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A store that is closed leaves no connection, whatever it was doing.
func TestCloseLeavesNothing(t *testing.T) {
	s, lock := beside(t)
	a := admin(t, "mysql://root@"+server.For(t).Addr+"/mysql")
	session := s.Session(time.Hour)
	s.Win(session, "name")
	w := s.Lookout("name", "free")
	w.Hears("free")
	lock.do("BEGIN")
	lock.do("SELECT * FROM simba_session FOR UPDATE")
	failed := make(chan error, 1)
	go func() {
		_, err := s.Renew(context.Background(), session, 0, false)
		failed <- err
	}()
	a.waiter()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	fails(t, <-failed, ErrClosed)
	if err := w.End(); err != nil {
		t.Errorf("Watch ended with %v", err)
	}
	lock.do("ROLLBACK")
	database := s.where[len(server.For(t).Addr)+1:]
	drivertest.Eventually(t, "no connection is left", func() bool { // but that of lock
		return a.number("SELECT COUNT(*) FROM information_schema.processlist WHERE db = ?", database) == 1
	})
	for name, err := range s.Everything(session, backend.Lease{Name: "name", Token: 1}) {
		if err == nil {
			t.Errorf("%s after Close succeeds", name)
		}
		fails(t, err, ErrClosed)
	}
}
