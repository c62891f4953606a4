// Package servers starts the servers that tests need: each on a free port of the
// loopback interface, in a temporary folder, as a process of the test's own, which
// may kill it. Nothing else on the machine is touched.
//
// A server whose program is missing is an error that names the Debian package: a test
// that cannot run is a test that fails.
package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// bound is how long a server may take to answer, and to end.
const bound = time.Minute

// Server is a server that runs for a test.
type Server struct {
	// Addr is its host and port.
	Addr string
	// URL is what its driver connects with, to an empty database.
	URL string

	kind   kind
	binary string
	dir    string
	port   int
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
	reason error         // how it ended; read it after ended
}

// kind is what there is to know about a sort of server.
type kind struct {
	program string
	aliases []string // where else the program may be: names and patterns of paths
	pkg     string   // of Debian
	user    bool     // refuses to run as root
	prepare func(ctx context.Context, s *Server) error
	config  func(s *Server) (name, text string) // a file in its folder, once it has a port
	args    func(s *Server) []string
	url     func(s *Server) string
	answers func(ctx context.Context, s *Server) error
	ending  os.Signal
}

// attempts is how often a port is chosen: another process may take it first.
const attempts = 3

func start(k kind) (*Server, error) {
	s := &Server{kind: k}
	err := s.first()
	if err != nil {
		err = errors.Join(fmt.Errorf("servers: %s: %w", k.program, err), s.Stop())
		return nil, err
	}
	return s, nil
}

func (s *Server) first() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if s.binary, err = s.kind.find(); err != nil {
		return err
	}
	if s.dir, err = folder(s.kind.user); err != nil {
		return err
	}
	if s.kind.prepare != nil {
		if err := s.kind.prepare(ctx, s); err != nil {
			return err
		}
	}
	for range attempts {
		if s.port, err = freePort(); err != nil {
			return err
		}
		s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
		s.URL = s.kind.url(s)
		if err := s.configure(); err != nil {
			return err
		}
		if err = s.Start(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (s *Server) configure() error {
	if s.kind.config == nil {
		return nil
	}
	name, text := s.kind.config(s)
	return os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644) // its user must read it
}

// Start starts the server, after Kill on the same port and with the same data, and
// waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd, err := s.command(s.binary, s.kind.args(s)...)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	// Through a pipe, Wait waits for the server's own processes too: PostgreSQL does not start
	// again before the last of them is gone.
	out := struct{ io.Writer }{log}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	ended := make(chan struct{})
	s.cmd, s.ended = cmd, ended
	go func() {
		s.reason = errors.Join(cmd.Wait(), log.Close())
		close(ended)
	}()
	return s.await(ctx)
}

// await asks again and again, with a pause in between.
func (s *Server) await(ctx context.Context) error {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		err := s.ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("it has ended: %w; its log ends with:\n%s", s.reason, s.log())
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("it does not answer: %w (%w); its log ends with:\n%s", ctx.Err(), err, s.log())
		case <-pause.C:
		}
	}
}

func (s *Server) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return s.kind.answers(ctx, s)
}

// Kill ends the server as a crash does, and waits until it is gone.
func (s *Server) Kill() { s.end(os.Kill) }

// Stop ends the server and removes what it has stored. It may be called again.
func (s *Server) Stop() error {
	s.end(s.kind.ending)
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

func (s *Server) end(by os.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(by) // fails when it has ended by itself
	select {
	case <-s.ended:
	case <-time.After(bound):
		s.cmd.Process.Kill()
		<-s.ended
	}
}

// command is a program in the server's folder, and as its user.
func (s *Server) command(program string, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return cmd, confine(cmd, s.kind.user)
}

// run runs a program that prepares the server.
func (s *Server) run(ctx context.Context, in io.Reader, program string, args ...string) error {
	cmd, err := s.command(program, args...)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, out.Bytes()[max(0, out.Len()-2000):])
	}
	return nil
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "log") }

// log is the end of what the server has logged.
func (s *Server) log() string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// find returns the path of the program.
func (k kind) find() (string, error) {
	for _, name := range append([]string{k.program}, k.aliases...) {
		if !filepath.IsAbs(name) {
			if path, err := exec.LookPath(name); err == nil {
				return path, nil
			}
			continue
		}
		if paths, _ := filepath.Glob(name); len(paths) > 0 {
			return slices.Max(paths), nil
		}
	}
	return "", fmt.Errorf("it is not installed; on Debian: apt-get install %s", k.pkg)
}

// folder makes a temporary folder, which the user of the server owns.
func folder(user bool) (string, error) {
	dir, err := os.MkdirTemp("", "simba-server-")
	if err != nil {
		return "", err
	}
	if err := give(dir, user); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
