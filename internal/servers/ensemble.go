package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Ensemble is several ZooKeeper servers that belong together.
type Ensemble struct {
	// Servers are its members; the number of the first one is 1.
	Servers []*Server
	peers   []peer
}

// peer is what the members know each other by.
type peer struct{ quorum, election int }

// Route says at which address a member finds another one's port for followers, in place of its own. It
// is for a test that puts a proxy in between.
type Route func(from, to int, address string) string

// NewEnsemble starts n ZooKeeper servers that elect a leader. A nil route changes no address. What settings
// say, as "name=value", comes last in their configurations.
func NewEnsemble(n int, route Route, settings ...string) (*Ensemble, error) {
	e := &Ensemble{peers: make([]peer, n), Servers: make([]*Server, n)}
	for i := range e.peers {
		var err error
		if e.peers[i], err = newPeer(); err != nil {
			return nil, err
		}
	}
	errs := make(chan error, n)
	for i := range n {
		go func() {
			var err error
			e.Servers[i], err = start(e.member(i, route, settings))
			errs <- err
		}()
	}
	var all []error
	for range n {
		all = append(all, <-errs)
	}
	if err := errors.Join(all...); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

func newPeer() (p peer, err error) {
	if p.quorum, err = freePort(); err == nil {
		p.election, err = freePort()
	}
	return p, err
}

func (e *Ensemble) member(i int, route Route, settings []string) kind {
	k := zookeeper(func(s *Server) []string {
		lines := []string{"initLimit=20", "syncLimit=20", "standaloneEnabled=false"}
		for j, p := range e.peers {
			address := fmt.Sprintf("127.0.0.1:%d", p.quorum)
			if route != nil && i != j {
				address = route(i+1, j+1, address)
			}
			lines = append(lines, fmt.Sprintf("server.%d=%s:%d", j+1, address, p.election))
		}
		return append(lines, settings...)
	})
	alone := k.prepare
	k.prepare = func(ctx context.Context, s *Server) error {
		if err := alone(ctx, s); err != nil {
			return err
		}
		data := filepath.Join(s.dir, "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(data, "myid"), fmt.Appendln(nil, i+1), 0o600)
	}
	return k
}

// Leader returns the number of the member that leads, and an error if there is none.
func (e *Ensemble) Leader(ctx context.Context) (int, error) {
	for i, s := range e.Servers {
		if answer, err := s.FourLetters(ctx, "srvr"); err == nil && strings.Contains(answer, "Mode: leader") {
			return i + 1, nil
		}
	}
	return 0, errors.New("servers: nobody leads")
}

// Addrs are where clients find the members.
func (e *Ensemble) Addrs() []string {
	addrs := make([]string, len(e.Servers))
	for i, s := range e.Servers {
		addrs[i] = s.Addr
	}
	return addrs
}

// Stop ends the servers and removes what they have stored. It may be called again.
func (e *Ensemble) Stop() error {
	var errs []error
	for _, s := range e.Servers {
		if s != nil {
			errs = append(errs, s.Stop())
		}
	}
	return errors.Join(errs...)
}
