// Package proxy puts a network between a test and a server, one that fails on demand: it cuts
// connections, stalls, and loses answers after the server has done what it was asked for.
package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Proxy passes TCP connections on to a server. It is safe for concurrent use. What it is told to
// do holds for all of its connections, also new ones, until it is told something else.
type Proxy struct {
	// Addr is the host and port to connect to in place of the server's.
	Addr string

	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	mode    mode
	left    int // bytes of answers until the mode takes effect
	open    map[*link]bool
	closed  bool
}

// mode is what becomes of what passes through.
type mode int

const (
	pass   mode = iota
	stall       // nothing goes either way
	drop        // answers are lost
	hangUp      // an answer ends its connection
)

// link is a connection of a client, and the one to the server.
type link struct{ client, server net.Conn }

// New returns a proxy in front of the server at target, a host and port.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Addr: listener.Addr().String(), target: target, listener: listener, open: make(map[*link]bool)}
	p.changed = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	return p, nil
}

// Cut resets all connections. New ones are passed on.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.reset()
	}
}

// Pass ends what the other methods have begun. What was held back goes on; what was lost is lost.
func (p *Proxy) Pass() { p.set(pass, 0) }

// Stall holds back everything, in both directions, and keeps the connections open: like a cable
// that was pulled. New connections are accepted and hear nothing.
func (p *Proxy) Stall() { p.set(stall, 0) }

// DropAnswers lets so many more bytes of answers through, over all connections, and loses those
// that follow. Requests reach the server, and the connections stay open.
func (p *Proxy) DropAnswers(after int) { p.set(drop, after) }

// CutAnswers lets so many more bytes of answers through, over all connections, and resets a
// connection on which another one follows. Its request has reached the server.
func (p *Proxy) CutAnswers(after int) { p.set(hangUp, after) }

// Close resets all connections, accepts no more, and waits until nothing of the proxy is left.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.changed.Broadcast()
	p.Cut()
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) set(m mode, after int) {
	p.mu.Lock()
	p.mode, p.left = m, after
	p.mu.Unlock()
	p.changed.Broadcast()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve passes one connection on until either side ends it.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client, server}
	if !p.add(l) {
		l.reset()
		return
	}
	defer p.remove(l)
	var directions sync.WaitGroup
	directions.Go(func() { l.carry(server, client, p.request) })
	directions.Go(func() { l.carry(client, server, p.answer) })
	directions.Wait()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.open[l] = true
	}
	return !p.closed
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, l)
}

// carry passes on what admit lets through, and ends the link when one side has.
func (l *link) carry(to io.Writer, from io.Reader, admit func(n int) (allowed int, goOn bool)) {
	defer l.reset()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		allowed, goOn := admit(n)
		if _, err := to.Write(buffer[:allowed]); err != nil || !goOn {
			return
		}
	}
}

// reset ends both connections without a goodbye, and drops what is under way.
func (l *link) reset() {
	for _, c := range []net.Conn{l.client, l.server} {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

// request waits while everything stalls.
func (p *Proxy) request(n int) (allowed int, goOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return n, p.wait()
}

// answer says how many of n bytes may pass, and whether the connection lives on.
func (p *Proxy) answer(n int) (allowed int, goOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.wait() || p.mode == pass {
		return n, !p.closed
	}
	allowed = min(n, p.left)
	p.left -= allowed
	return allowed, allowed == n || p.mode == drop
}

// wait returns when nothing stalls any more, and whether the proxy still is.
func (p *Proxy) wait() bool {
	for p.mode == stall && !p.closed {
		p.changed.Wait()
	}
	return !p.closed
}
