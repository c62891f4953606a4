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
// the leader hears of it. What is certain is this. Something that was sent T/4 earlier over the same
// connection has reached the leader before the write did; and so has the handshake of that connection,
// which the server passes on at once.

// report is how long the leader may take to hear of a request.
func report(timeout time.Duration) time.Duration { return timeout / 4 }

// promise is what a session is granted at most.
func promise(timeout time.Duration) time.Duration { return timeout / 12 * 5 }

// credit is what the requests of one connection prove.
type credit struct {
	conn *conn
	// known are when requests were sent that have been answered, in order. The leader has heard of the
	// first one.
	known []actor.Instant
}

// grant returns for how long the session will live at least, counted from when a write was sent that was
// answered now. Renewals that follow each other as they should get what is promised. After a gap, as when
// the process was stopped, it is less, and it may be nothing.
func (c *credit) grant(conn *conn, sent actor.Instant) time.Duration {
	if c.conn != conn {
		c.conn, c.known = conn, append(c.known[:0], conn.sent)
	}
	heard := sent.Add(-report(conn.timeout))
	for len(c.known) > 1 && !heard.Before(c.known[1]) {
		c.known = c.known[1:]
	}
	left := conn.timeout - sent.Sub(c.known[0])
	// A few of them are enough.
	if last := c.known[len(c.known)-1]; sent.Sub(last) >= conn.timeout/64 {
		c.known = append(c.known, sent)
	}
	return min(left, promise(conn.timeout))
}
