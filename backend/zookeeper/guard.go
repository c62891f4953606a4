package zookeeper

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// dialer makes a connection.
type dialer func(ctx context.Context, address string) (net.Conn, error)

func newDialer(o Options) dialer {
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dial(ctx, "tcp", address)
		if err != nil || o.TLS == nil {
			return conn, err
		}
		config := o.TLS.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secured, nil
	}
}

// How long a server may take to answer a new connection: a part of the session's timeout, so that there
// is time for another server, within these bounds.
const (
	patiencePart = 8
	minPatience  = 250 * time.Millisecond
	maxPatience  = 5 * time.Second
)

// The pauses between two rounds over all servers of which none would have us.
const (
	minPause = 50 * time.Millisecond
	maxPause = time.Second
)

// guard stands between the library and the network. The library opens a new session by itself when the
// old one has expired, and whatever it is asked for next lands there; it does not say what timeout was
// negotiated; and it waits for a silent server for several of them. All of this is seen in the handshake,
// which is the first packet each way of a connection.
//
// It is the library's [zk.HostProvider] too: that of the library pauses for a second before it returns to
// a server, and asks the DNS once and never again.
type guard struct {
	servers  []string
	network  dialer
	clock    actor.Clock
	once     bool // allow one connection only
	patience time.Duration

	life context.Context // until end
	stop context.CancelFunc

	mu      sync.Mutex
	session bool          // there was a handshake
	conn    *conn         // the one in use, nil if there is none
	young   *conn         // the one whose handshake is not over
	last    *conn         // the one that was made last
	reason  error         // why it has ended
	changed chan struct{} // closed when conn changes
	next    int           // in servers
	failed  int           // attempts in a row
	cause   error         // of the last one that failed
}

func newGuard(servers []string, network dialer, clock actor.Clock, timeout time.Duration, once bool) *guard {
	g := &guard{
		servers: servers, network: network, clock: clock, once: once,
		patience: min(max(timeout/patiencePart, minPatience), maxPatience),
		changed:  make(chan struct{}), next: rand.N(len(servers)),
	}
	g.life, g.stop = context.WithCancel(context.Background())
	return g
}

// Init implements [zk.HostProvider].
func (g *guard) Init([]string) error { return nil }

// Len implements [zk.HostProvider].
func (g *guard) Len() int { return len(g.servers) }

// Next implements [zk.HostProvider]. That a round is over makes the library look whether it was closed,
// and, if not, sleep for a second; so it is told so at the end only.
func (g *guard) Next() (server string, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = (g.next + 1) % len(g.servers)
	return g.servers[g.next], g.reason != nil
}

// Connected implements [zk.HostProvider].
func (g *guard) Connected() {}

// dial implements [zk.Dialer].
func (g *guard) dial(_, address string, _ time.Duration) (net.Conn, error) {
	if err := g.pause(); err != nil {
		return nil, err
	}
	g.hangUp()
	c := &conn{guard: g, until: time.Now().Add(g.patience)}
	ctx, cancel := context.WithDeadline(g.life, c.until)
	defer cancel()
	var err error
	if c.Conn, err = g.network(ctx, address); err != nil {
		g.fail(fmt.Errorf("%s: %w", address, err))
		return nil, err
	}
	c.address = address
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reason != nil {
		return nil, errors.Join(g.reason, c.Conn.Close())
	}
	g.young, g.last = c, c
	return c, nil
}

// hangUp closes the last connection. The library does so as well, and goes on, or says that it has ended,
// a moment before.
func (g *guard) hangUp() {
	g.mu.Lock()
	last := g.last
	g.mu.Unlock()
	if last != nil {
		last.Conn.Close()
	}
}

// pause waits when all servers were tried in vain.
func (g *guard) pause() error {
	g.mu.Lock()
	reason, rounds := g.reason, g.failed/len(g.servers)
	g.mu.Unlock()
	if reason != nil {
		return reason
	}
	if rounds == 0 {
		return nil
	}
	d := min(minPause<<min(rounds-1, 10), maxPause)
	t := time.NewTimer(d/2 + rand.N(d/2))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-g.life.Done():
		return g.over()
	}
}

func (g *guard) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed++
	g.cause = err
}

// admit looks at a request for a session. One for a new session is the first or none.
func (g *guard) admit(packet []byte) error {
	// Length and protocol, last transaction seen, timeout, session.
	const at = 4 + 4 + 8 + 4
	if len(packet) < at+8 {
		return fmt.Errorf("%w: the library's handshake has %d bytes", ErrConnection, len(packet))
	}
	g.mu.Lock()
	again := g.session && binary.BigEndian.Uint64(packet[at:]) == 0
	g.mu.Unlock()
	if again {
		g.end(backend.ErrExpired)
	}
	return g.over()
}

// greeted looks at the server's answer, of which the session's id is zero if it has expired.
func (g *guard) greeted(c *conn, answer []byte) {
	// Length, protocol, timeout, session.
	timeout := time.Duration(int32(binary.BigEndian.Uint32(answer[8:]))) * time.Millisecond
	if binary.BigEndian.Uint64(answer[12:]) == 0 || timeout <= 0 {
		g.end(backend.ErrExpired)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.timeout = timeout
	g.young, g.conn, g.session = nil, c, true
	g.failed, g.cause = 0, nil
	g.signal()
}

// lost says that a connection is gone.
func (g *guard) lost(c *conn) {
	g.mu.Lock()
	switch c {
	case g.young:
		g.young = nil
		g.failed++
		g.cause = fmt.Errorf("%s accepts connections, and does not take part in the ensemble, or is silent", c.address)
		if c.foreign {
			g.cause = fmt.Errorf("%s is no ZooKeeper server, or speaks TLS", c.address)
		}
	case g.conn:
		g.conn = nil
		g.signal()
	}
	once := g.once && g.session
	g.mu.Unlock()
	if once {
		g.end(errLost)
	}
}

func (g *guard) signal() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// end lets nothing pass any more, for a reason of which the first one counts. What is on its way is lost.
func (g *guard) end(reason error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reason != nil {
		return
	}
	g.reason = reason
	if g.young != nil {
		g.young.Conn.Close() // nobody else ends a handshake
	}
	g.stop()
}

// over returns why it has ended, or nil.
func (g *guard) over() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason
}

// ready waits for a connection.
func (g *guard) ready(ctx context.Context) (*conn, error) {
	for {
		g.mu.Lock()
		c, reason, changed := g.conn, g.reason, g.changed
		g.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, g.missing(ctx)
		case reason != nil:
			return nil, reason
		case c != nil:
			return c, nil
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-g.life.Done():
		}
	}
}

// missing says why there was no connection in time.
func (g *guard) missing(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cause == nil {
		return fmt.Errorf("not done: %w", context.Cause(ctx))
	}
	return fmt.Errorf("not done: %w: %w (%w)", ErrConnection, context.Cause(ctx), g.cause)
}

// current reports whether c is the connection in use.
func (g *guard) current(c *conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conn == c
}

// conn is a connection whose handshake the guard looks at. Until that is over, one goroutine of the
// library uses it.
type conn struct {
	net.Conn
	guard   *guard
	address string
	until   time.Time // the handshake's end

	asked   bool
	sent    actor.Instant // when the handshake was
	head    []byte        // of the answer
	greeted bool
	foreign bool          // the answer is none
	timeout time.Duration // negotiated
}

// greeting is how much of the answer says what there is to know.
const greeting = 4 + 4 + 4 + 8

// maxGreeting is more than the length that an answer says it has. The library would make room for what any
// other server's first four bytes happen to mean.
const maxGreeting = 256

func (c *conn) Write(b []byte) (int, error) {
	if !c.asked {
		if err := c.guard.admit(b); err != nil {
			return 0, err
		}
		c.asked, c.sent = true, c.guard.clock.Now()
	} else if reason := c.guard.over(); reason != nil {
		return 0, reason
	}
	return c.Conn.Write(b)
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.greeted {
		c.head = append(c.head, b[:n]...)
		if c.foreign = len(c.head) >= 4 && binary.BigEndian.Uint32(c.head) > maxGreeting; c.foreign {
			return 0, errors.New("no answer of a ZooKeeper server")
		}
		if len(c.head) >= greeting {
			c.greeted = true
			c.guard.greeted(c, c.head)
			c.head = nil
		}
	}
	return n, err
}

// SetReadDeadline does not let the library wait for longer than we would.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !c.greeted && (t.IsZero() || t.After(c.until)) {
		t = c.until
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) Close() error {
	c.guard.lost(c)
	return c.Conn.Close()
}
