package zookeeper

import (
	"time"

	"github.com/simba-go/simba/actor"
)

// What the servers' timeout T becomes; ADR 20 has the proof.
//
// The leader lets a session expire T after it last heard of it. It hears of a client of another server when
// that server answers a ping, which the leader sends twice a tick; T has two ticks at least, so that is
// every T/4. A write that was answered proves that the session was alive then, and no more: it is not how
// the leader hears of it. What is certain is this. A request over the same connection that was answered T/4
// before the write was sent has reached the leader before the write did; and so has the handshake of that
// connection, which the server passes on at once.

// report is how long the leader may take to hear of a request.
func report(timeout time.Duration) time.Duration { return timeout / 4 }

// promise is what a session is granted at most.
func promise(timeout time.Duration) time.Duration { return timeout / 12 * 5 }

// credit is what the requests of one connection prove.
type credit struct {
	conn  *conn
	known []request // answered ones, in order. The leader has heard of the first.
}

// request is one that was answered.
type request struct{ sent, answered actor.Instant }

// grant returns for how long the session lives at least, counted from when a write was sent that was
// answered now. Renewals that follow each other as they should get what is promised. After a gap, as when
// the process was stopped, it is less, and it may be nothing.
func (c *credit) grant(conn *conn, write request) time.Duration {
	if c.conn != conn {
		c.conn, c.known = conn, append(c.known[:0], request{sent: conn.sent, answered: conn.sent})
	}
	heard := write.sent.Add(-report(conn.timeout))
	for len(c.known) > 1 && !heard.Before(c.known[1].answered) {
		c.known = c.known[1:]
	}
	left := conn.timeout - write.sent.Sub(c.known[0].sent)
	// A few of them are enough.
	if last := c.known[len(c.known)-1]; write.sent.Sub(last.sent) >= conn.timeout/64 {
		c.known = append(c.known, write)
	}
	return min(left, promise(conn.timeout))
}
