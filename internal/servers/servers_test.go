package servers

import (
	"context"
	"os"
	"strings"
	"testing"

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
