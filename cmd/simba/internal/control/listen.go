package control

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Listener answers those who ask whether this process leads a name. It is safe for concurrent use.
type Listener struct {
	name   string
	leader Leader
	socket net.Listener
	busy   sync.WaitGroup

	open, waiting      context.Context // done when it closes, and a moment later
	shut, stopsWaiting context.CancelFunc
}

// Listen makes this process one that can be told about the name. The folder is made if it is not there; see [Folder].
func Listen(folder, name string, l Leader) (*Listener, error) {
	if err := prepare(folder); err != nil {
		return nil, err
	}
	sweep(folder)
	path := filepath.Join(folder, prefix(name)+rand.Text()[:12]+ending)
	if len(path) > longest {
		return nil, fmt.Errorf("the path of a socket has at most %d bytes, and %s has %d; choose a shorter folder in %s",
			longest, path, len(path), FolderVar)
	}
	socket, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	s := &Listener{name: name, leader: l, socket: socket}
	s.open, s.shut = context.WithCancel(context.Background())
	s.waiting, s.stopsWaiting = context.WithCancel(context.Background())
	s.busy.Go(s.accept)
	return s, nil
}

// longest is the length of the longest path of a socket, with the zero at its end, on all systems: macOS has the least.
const longest = 103

// Close removes the socket, and returns when everybody has had an answer. The leader should have been stopped before:
// handovers that go on then are waited for just a moment.
func (s *Listener) Close() {
	const moment = time.Second
	s.shut()
	s.socket.Close() // which also removes the file
	timer := time.AfterFunc(moment, s.stopsWaiting)
	s.busy.Wait()
	timer.Stop()
	s.stopsWaiting()
}

func (s *Listener) accept() {
	for {
		c, err := s.socket.Accept()
		switch {
		case err == nil:
			s.busy.Go(func() { s.answer(c) })
		case s.open.Err() != nil:
			return
		default: // out of files, for example
			select {
			case <-s.open.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// answer serves one connection. Whoever hangs up in the middle changes nothing: told is told.
func (s *Listener) answer(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(Patience))
	stop := context.AfterFunc(s.open, func() { c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var r request
	if err := receive(c, &r); err != nil || r.Name != s.name || r.Cooldown < 0 {
		return
	}
	token := s.leader.Leads(r.Session)
	if err := send(c, claim{token}); err != nil || token == 0 {
		return
	}
	var answer result
	if err := s.leader.StepDown(s.waiting, r.Cooldown); err != nil {
		answer.Problem = err.Error()
	}
	c.SetWriteDeadline(time.Now().Add(Patience))
	_ = send(c, answer) // to somebody who may have gone
}

func send(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

func receive(r io.Reader, v any) error {
	line, err := bufio.NewReader(io.LimitReader(r, limit)).ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// sweep removes the sockets of processes that were killed. A young one may be about to be listened to.
func sweep(folder string) {
	const young = time.Minute
	for _, path := range sockets(folder, "") {
		if info, err := os.Lstat(path); err != nil || time.Since(info.ModTime()) < young {
			continue
		}
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
		} else if refused(err) {
			os.Remove(path) // or somebody else has
		}
	}
}

// ours is how the sockets of all names are called. There may be others in the folder.
var ours = regexp.MustCompile(`^[0-9a-f]{16}-.+\` + ending + `$`)

// sockets are the paths of ours that begin with a prefix.
func sockets(folder, prefix string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if name := e.Name(); ours.MatchString(name) && strings.HasPrefix(name, prefix) {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return paths
}
