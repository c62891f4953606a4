package servers

import (
	"sync"
	"testing"
)

// Shared is a server that the tests of a package share: it starts when the first of them
// needs it, and ends after the last one.
type Shared struct {
	start  func(args ...string) (*Server, error)
	args   []string
	once   sync.Once
	server *Server
	err    error
}

// Share shares what start starts with the arguments: Redis, Postgres, MariaDB or ZooKeeper.
func Share(start func(args ...string) (*Server, error), args ...string) *Shared {
	return &Shared{start: start, args: args}
}

// Get returns the server, for code without a test to fail.
func (s *Shared) Get() (*Server, error) {
	s.once.Do(func() { s.server, s.err = s.start(s.args...) })
	return s.server, s.err
}

// For returns the server; without one the test fails.
func (s *Shared) For(tb testing.TB) *Server {
	tb.Helper()
	server, err := s.Get()
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// Runner runs tests, as *testing.M does.
type Runner interface {
	// Run runs the tests and returns the exit code.
	Run() int
}

// During returns a Runner that ends the servers after the tests of m have run, for
// goleak.VerifyTestMain.
func During(m Runner, shared ...*Shared) Runner { return &during{m, shared} }

type during struct {
	Runner
	shared []*Shared
}

// Run runs the tests; that a server could not be cleared away fails them.
func (d *during) Run() int {
	code := d.Runner.Run()
	for _, s := range d.shared {
		if s.server == nil {
			continue
		}
		if err := s.server.Stop(); err != nil {
			println("servers:", err.Error())
			code = max(code, 1)
		}
	}
	return code
}
