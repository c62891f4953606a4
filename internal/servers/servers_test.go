package servers

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each server answers, survives being killed on the same port, and leaves nothing behind.
func TestServers(t *testing.T) {
	for name, start := range map[string]func(...string) (*Server, error){"Redis": Redis, "Postgres": Postgres, "MariaDB": MariaDB, "ZooKeeper": ZooKeeper} {
		t.Run(name, func(t *testing.T) {
			s, err := start()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			if err := s.ask(t.Context()); err != nil {
				t.Fatal(err)
			}
			addr := s.Addr
			s.Kill()
			if err := s.ask(t.Context()); err == nil {
				t.Fatal("it answers although it was killed")
			}
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.ask(t.Context()); err != nil || s.Addr != addr {
				t.Fatalf("after the start at %s, in place of %s: %v", s.Addr, addr, err)
			}
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := s.ask(t.Context()); err == nil {
				t.Error("it answers although it was stopped")
			}
			if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
				t.Errorf("its folder is still there: %v", err)
			}
			if err := s.Stop(); err != nil {
				t.Errorf("a second Stop: %v", err)
			}
		})
	}
}

// A replica has what its primary had, and does not write.
func TestPostgresReplica(t *testing.T) {
	primary, err := Postgres()
	if err != nil {
		t.Fatal(err)
	}
	defer primary.Stop()
	replica, err := PostgresReplica(primary)
	if err != nil {
		t.Fatal(err)
	}
	defer replica.Stop()
	conn, err := pgx.Connect(t.Context(), replica.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE t ()"); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v", err)
	}
}

// A pooler is a server in front of another.
func TestPgBouncer(t *testing.T) {
	server, err := Postgres()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	pooler, err := PgBouncer(server)
	if err != nil {
		t.Fatal(err)
	}
	defer pooler.Stop()
	if err := pooler.ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := pooler.ask(t.Context()); err == nil {
		t.Error("it answers without a server behind it")
	}
}

func TestMissing(t *testing.T) {
	_, err := start(kind{program: "no-such-server", aliases: []string{"/no/such/*"}, pkg: "the-package"})
	if err == nil || !strings.Contains(err.Error(), "apt-get install the-package") {
		t.Fatalf("got %v, want the name of the package", err)
	}
}

// A server that does not come up is an error with its own words, and leaves nothing behind.
func TestRefused(t *testing.T) {
	s, err := Redis("--no-such-option", "1")
	if err == nil {
		s.Stop()
		t.Fatal("started with an option that there is not")
	}
	if !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("the error does not say what the server said: %v", err)
	}
}

func TestSilent(t *testing.T) {
	s, err := Redis()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Kill()
	if err := s.Start(ctx); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
}

// A cluster whose nodes know each other has all slots.
func TestRedisCluster(t *testing.T) {
	nodes, err := RedisCluster()
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		state, err := node.tell(t.Context(), "CLUSTER INFO")
		if err != nil || !strings.Contains(state, "cluster_slots_ok:16384") {
			t.Errorf("%s, %v", state, err)
		}
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestRedisSentinel(t *testing.T) {
	master, err := Redis()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Stop()
	sentinel, err := RedisSentinel(master)
	if err != nil {
		t.Fatal(err)
	}
	defer sentinel.Stop()
	state, err := sentinel.tell(t.Context(), "INFO sentinel")
	if err != nil || !strings.Contains(state, "master0:name=mymaster,status=ok,address="+master.Addr) {
		t.Errorf("%s, %v", state, err)
	}
}
