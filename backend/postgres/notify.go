package postgres

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// crier tells those who wait which names have become free, in transactions of its own: the server
// commits one at a time of those that notify, so to do it within a release would make releases
// queue. What is to be told while it speaks, it tells together.
type crier struct {
	cry func(ctx context.Context, payloads []string) error

	mu      sync.Mutex
	names   map[string]struct{}
	unknown bool          // any name may be free
	running bool          // a goroutine speaks
	idle    chan struct{} // closed when it has ended
	closed  bool
}

// After each time it rests, for more to come together: for restFactor times as long as that took, so that
// telling costs a twentieth of what else is done at most, but not for longer than maxRest. Whoever
// releases after a pause is not held up by it.
const (
	restFactor = 20
	maxRest    = 20 * time.Millisecond
)

// lastWord is how long telling may take.
const lastWord = time.Second

func newCrier(cry func(ctx context.Context, payloads []string) error) *crier {
	return &crier{cry: cry, names: make(map[string]struct{})}
}

// tell is for names that have become free.
func (c *crier) tell(names []string) {
	if len(names) > 0 {
		c.add(names, false)
	}
}

// all says that it is not known which names are free.
func (c *crier) all() { c.add(nil, true) }

func (c *crier) add(names []string, unknown bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	for _, name := range names {
		c.names[name] = struct{}{}
	}
	c.unknown = c.unknown || unknown
	if !c.running {
		c.running, c.idle = true, make(chan struct{})
		go c.run()
	}
}

func (c *crier) run() {
	defer close(c.idle)
	for {
		payloads, more := c.take()
		if !more {
			return
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), lastWord)
		_ = c.cry(ctx, payloads) // it is a hint, and candidates try anyway
		cancel()
		if !c.leaving() {
			time.Sleep(min(restFactor*time.Since(began), maxRest))
		}
	}
}

func (c *crier) leaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// take returns what is to be told. If that is nothing, the goroutine ends.
func (c *crier) take() (payloads []string, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.unknown:
		payloads = []string{everything}
	case len(c.names) > 0:
		payloads = pack(c.names)
	default:
		c.running = false
		return nil, false
	}
	clear(c.names)
	c.unknown = false
	return payloads, true
}

// close waits until everything has been told.
func (c *crier) close() {
	c.mu.Lock()
	c.closed = true
	running, idle := c.running, c.idle
	c.mu.Unlock()
	if running {
		<-idle
	}
}

// everything is the payload that says that any name may be free. It is no name.
const everything = "*"

// maxPayload is less than the 8,000 bytes that the server takes.
const maxPayload = 7900

// pack puts names into payloads.
func pack(names map[string]struct{}) (payloads []string) {
	var b strings.Builder
	for name := range names {
		if b.Len()+1+len(name) > maxPayload {
			payloads = append(payloads, b.String())
			b.Reset()
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name)
	}
	return append(payloads, b.String())
}

// unpack returns the names of a payload, nil for everything.
func unpack(payload string) []string {
	if payload == everything || payload == "" {
		return nil
	}
	return strings.Split(payload, ",")
}

// cry sends notices.
func (s *Store) cry(ctx context.Context, payloads []string) error {
	return s.calls.query(ctx, func(pgx.Rows) error { return nil },
		"SELECT pg_notify($1, p) FROM pg_catalog.unnest($2::text[]) p", s.options.channel(), payloads)
}

// channel is where notices are sent.
func (o Options) channel() string { return "simba_freed_" + o.schema() }
