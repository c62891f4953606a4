package zookeeper

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
)

// model is what the leader knows of a session whose client is connected to another server.
type model struct {
	touched actor.Instant // at the server, by the client
	heard   actor.Instant // by the leader, of the client
	next    actor.Instant // when the server reports
}

// report lets the server report until a moment, each time after what draw returns.
func (m *model) report(until actor.Instant, draw func() actor.Instant) {
	for m.next <= until {
		m.heard = max(m.heard, m.touched)
		m.next += 1 + draw()
	}
}

// A session lives for as long as was granted, if from the moment on at which the leader has seen the write
// nothing reaches it any more. Renewals follow each other somehow, as long as each is sent before what the
// last one granted is over; requests and answers take their time; the server reports once in T/4 at least;
// and connections come and go.
func TestGrantsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeout := actor.Instant(rapid.SampledFrom([]int{48, 480, 1000, 4001}).Draw(t, "timeout")) * actor.Instant(time.Millisecond)
		up := func(label string, longest actor.Instant) actor.Instant {
			return actor.Instant(rapid.Int64Range(0, int64(longest)).Draw(t, label))
		}
		pause := func() actor.Instant { return up("report", timeout/4-1) }
		m, c := &model{next: pause()}, &credit{}
		link := &conn{timeout: time.Duration(timeout)}
		for now, end := actor.Instant(0), timeout; now < 5*timeout && now < end; {
			now += up("gap", end-now)
			if rapid.IntRange(0, 7).Draw(t, "reconnect") == 0 {
				link = &conn{timeout: time.Duration(timeout), sent: now}
				m.heard, m.next = now, now+pause()
			}
			sent := now
			now += up("request", timeout/3)
			m.report(now, pause)
			m.touched = now
			heard := m.heard
			now += up("answer", timeout/3)
			m.report(now, pause)
			granted := c.grant(link, request{sent, now})
			if granted > promise(link.timeout) {
				t.Fatalf("%v were granted of a timeout of %v", granted, link.timeout)
			}
			if end = sent.Add(granted); end > heard+timeout {
				t.Fatalf("%v were granted, and the leader ends the session after %v", granted, (heard + timeout).Sub(sent))
			}
		}
	})
}

// Renewals as the session sends them, every third of what was granted or later by as much, get all that is
// ever promised.
func TestGrantIsWhatWasPromised(t *testing.T) {
	link := &conn{timeout: 12 * time.Second}
	c := &credit{}
	now := actor.Instant(0)
	for i := range 100 {
		granted := c.grant(link, request{now, now})
		if granted != 5*time.Second {
			t.Fatalf("renewal %d was granted %v", i, granted)
		}
		now = now.Add(granted / 3)
		if i%7 == 0 {
			now = now.Add(granted / 3)
		}
	}
	if len(c.known) > 64 {
		t.Errorf("it remembers %d requests", len(c.known))
	}
}

// A process that was stopped for almost as long as it was granted gets less. The server has reported just
// before it came back, and may report no more.
func TestGrantAfterAPause(t *testing.T) {
	const second = actor.Instant(time.Second)
	link := &conn{timeout: 12 * time.Second}
	c := &credit{}
	grant := func(at actor.Instant) time.Duration { return c.grant(link, request{at, at}) }
	grant(0)                     // the leader hears of this one
	grant(5*second - 1)          // this was not on its way when the last report was made
	granted := grant(7 * second) // nor was this
	if want := 5 * time.Second; granted != want {
		t.Errorf("granted %v in place of %v", granted, want)
	}
	if granted = grant(8*second - 2); granted > 4*time.Second+2 {
		t.Errorf("granted %v although the leader may have heard of nothing since %v before", granted, 8*time.Second)
	}
	if granted = grant(20 * second); granted > 0 {
		t.Errorf("granted %v after a pause as long as the timeout", granted)
	}
	if granted = grant(24 * second); granted != 5*time.Second {
		t.Errorf("granted %v when the leader has heard of the one before", granted)
	}
}
