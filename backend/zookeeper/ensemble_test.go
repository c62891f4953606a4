package zookeeper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

// tick is that of the ensemble. Timeouts must be so long that the leader's JVM, on a machine that does
// other things as well, pings its followers roughly when it should.
const tick = 500 * time.Millisecond

// quorum is an ensemble of three, whose followers may reach their leader through proxies.
type quorum struct {
	*servers.Ensemble
	mu      sync.Mutex
	proxies map[[2]int]*proxy.Proxy // from a member, to another
}

// start starts the servers, and ends them after the test.
func (q *quorum) start(tb testing.TB, route servers.Route) {
	tb.Helper()
	tb.Cleanup(func() {
		if q.Ensemble != nil {
			if err := q.Stop(); err != nil {
				tb.Error(err)
			}
		}
		for _, p := range q.proxies {
			p.Close()
		}
	})
	var err error
	q.Ensemble, err = servers.NewEnsemble(3, route, fmt.Sprintf("tickTime=%d", tick.Milliseconds()), "maxSessionTimeout=60000")
	if err != nil {
		tb.Fatal(err)
	}
}

func (q *quorum) route(from, to int, address string) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.proxies[[2]int{from, to}]
	if p == nil {
		var err error
		if p, err = proxy.New(address); err != nil {
			return address // which the test notices when it cuts
		}
		q.proxies[[2]int{from, to}] = p
	}
	return p.Addr
}

// roles waits until there is a leader that all follow, and returns the numbers of the three.
func (q *quorum) roles(tb testing.TB) (leader, follower, other int) {
	tb.Helper()
	eventually(tb, "there is a leader, and two follow", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		var err error
		if leader, err = q.Leader(ctx); err != nil {
			return false
		}
		for _, s := range q.Servers {
			if _, err := s.FourLetters(ctx, "srvr"); err != nil {
				return false
			}
		}
		return true
	})
	return leader, leader%3 + 1, (leader+1)%3 + 1
}

func (q *quorum) addr(member int) string { return q.Servers[member-1].Addr }

// cut cuts a follower off from its leader. Neither of them notices before syncLimit.
func (q *quorum) cut(follower, leader int) { q.proxies[[2]int{follower, leader}].Stall() }

// heal mends it. What was on its way is lost.
func (q *quorum) heal(follower, leader int) {
	p := q.proxies[[2]int{follower, leader}]
	p.Cut()
	p.Pass()
}

// subject is a session that is renewed until it is cut off, and believes what it was granted.
type subject struct {
	id      string
	timeout time.Duration
	sent    actor.Instant // the last write that was answered
	granted time.Duration
}

func (s *subject) deadline() actor.Instant { return s.sent.Add(s.granted) }

// crowd is a number of sessions with several timeouts on servers that dial chooses.
type crowd struct {
	*store
	subjects []*subject
	renewed  atomic.Int64 // how often
	living   atomic.Int64 // how many believe in their sessions
	stop     atomic.Bool
	renewing sync.WaitGroup
}

// ticks are the timeouts of the sessions in these tests, in ticks.
var ticks = []int{2, 3, 4, 6}

func startCrowd(tb testing.TB, each int, options Options, addresses ...string) *crowd {
	tb.Helper()
	c := &crowd{store: opened(tb, addresses, options)}
	for _, n := range ticks {
		for range each {
			c.subjects = append(c.subjects, &subject{timeout: time.Duration(n) * tick})
		}
	}
	opened := parallel(len(c.subjects), func(i int) error { return c.begin(c.subjects[i]) })
	if opened != nil {
		tb.Fatal(opened)
	}
	c.living.Store(int64(len(c.subjects)))
	for _, s := range c.subjects {
		c.renewing.Go(func() {
			defer c.living.Add(-1)
			c.keep(s)
		})
	}
	return c
}

// begin opens a session. Just after something was mended, that may take more than one attempt.
func (c *crowd) begin(s *subject) error {
	for {
		s.sent = c.clock.Now()
		grant, err := c.Open(c.ctx, s.timeout, "subject")
		if err == nil || c.ctx.Err() != nil {
			s.id, s.granted = grant.Session, grant.Remaining
			return err
		}
	}
}

// keep renews as a client does: three times in what was granted, each for as long as the pause between
// two, and never again once that is over.
func (c *crowd) keep(s *subject) {
	for {
		pause := s.granted / 3
		time.Sleep(pause/2 + rand.N(pause/2))
		if c.stop.Load() || c.clock.Now() >= s.deadline() {
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, pause)
		sent := c.clock.Now()
		r, err := c.Renew(ctx, s.id, 0, false)
		cancel()
		if err == nil && c.clock.Now() < s.deadline() {
			s.sent, s.granted = sent, r.Remaining
			c.renewed.Add(1)
		}
	}
}

// end stops the renewals.
func (c *crowd) end() {
	c.stop.Store(true)
	c.renewing.Wait()
}

// witness looks at one server which sessions it has, again and again, until none of the crowd is left. It
// returns when each was not there any more: at the latest, for the answer has taken its time.
func (c *crowd) witness(tb testing.TB, from string) map[string]actor.Instant {
	tb.Helper()
	conn, _, err := zk.Connect([]string{from}, 20*time.Second, zk.WithLogger(silence{}))
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	gone := make(map[string]actor.Instant)
	eventually(tb, "all sessions have expired", func() bool {
		ids, _, err := conn.Children(c.tree.sessions())
		now := c.clock.Now()
		if err != nil {
			return false
		}
		for _, s := range c.subjects {
			if _, known := gone[s.id]; !known && !slices.Contains(ids, s.id) {
				gone[s.id] = now
			}
		}
		return len(gone) == len(c.subjects)
	})
	return gone
}

// tally is what was measured for one timeout.
type tally struct {
	sessions int
	life     float64 // the shortest after an answered write was sent, in timeouts
	spare    float64 // the shortest from the deadline to the end, in timeouts
}

type tallies map[time.Duration]*tally

// judge compares when sessions were gone, as seen from a server, with what they were granted.
func (c *crowd) judge(tb testing.TB, sum tallies, from string) {
	tb.Helper()
	gone := c.witness(tb, from)
	c.end()
	for _, s := range c.subjects {
		end := gone[s.id]
		if end < s.deadline() {
			tb.Errorf("a session with the timeout %v was gone %v before its deadline, %v after its last renewal was sent, which had granted %v",
				s.timeout, s.deadline().Sub(end), end.Sub(s.sent), s.granted)
		}
		t := sum[s.timeout]
		if t == nil {
			t = &tally{life: 100, spare: 100}
			sum[s.timeout] = t
		}
		t.sessions++
		t.life = min(t.life, float64(end.Sub(s.sent))/float64(s.timeout))
		t.spare = min(t.spare, float64(end.Sub(s.deadline()))/float64(s.timeout))
	}
}

func (sum tallies) log(tb testing.TB) {
	tb.Helper()
	for _, n := range ticks {
		if t := sum[time.Duration(n)*tick]; t != nil {
			tb.Logf("timeout %d ticks: %d sessions, at least %.2f timeouts of life after an answered write was sent, %.2f after the deadline", n, t.sessions, t.life, t.spare)
		}
	}
}

// startWarmCrowd waits until the sessions have been renewed some times, and until a moment at random. If
// the machine is so busy that few get that far, it starts again with others.
func startWarmCrowd(tb testing.TB, options Options, addresses ...string) *crowd {
	tb.Helper()
	for {
		c := startCrowd(tb, 6, options, addresses...)
		enough := func() bool { return c.renewed.Load() > 3*int64(len(c.subjects)) }
		lost := func() bool { return c.living.Load() < int64(len(c.subjects)/2) }
		eventually(tb, "the sessions are renewed, or lost", func() bool { return enough() || lost() })
		if !lost() {
			time.Sleep(rand.N(tick))
			return c
		}
		c.end()
	}
}

// A session of a follower that is cut off from its leader, while the client is not, outlives what its client
// was promised. The same for a client that has just moved there, and for a follower that is killed.
func TestDeadlinesComeBeforeExpiry(t *testing.T) {
	t.Parallel()
	q := &quorum{proxies: make(map[[2]int]*proxy.Proxy)}
	q.start(t, q.route)
	t.Run("FollowerCutOff", func(t *testing.T) {
		sum := make(tallies)
		for range 2 {
			leader, follower, _ := q.roles(t)
			c := startWarmCrowd(t, Options{Namespace: freshNamespace()}, q.addr(follower))
			q.cut(follower, leader)
			c.judge(t, sum, q.addr(leader))
			q.heal(follower, leader)
		}
		sum.log(t)
	})
	t.Run("ClientMoved", func(t *testing.T) {
		sum := make(tallies)
		leader, follower, other := q.roles(t)
		var target atomic.Value
		target.Store(q.addr(other))
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, target.Load().(string))
		}
		c := startWarmCrowd(t, Options{Namespace: freshNamespace(), Dial: dial}, "moving.invalid")
		target.Store(q.addr(follower))
		c.Store.mu.Lock()
		for _, o := range c.sessions {
			if conn, err := o.link.ready(c.ctx); err == nil {
				conn.Close()
			}
		}
		c.Store.mu.Unlock()
		time.Sleep(rand.N(2 * tick)) // some have renewed over the new connection, and some just have it
		q.cut(follower, leader)
		c.judge(t, sum, q.addr(leader))
		q.heal(follower, leader)
		sum.log(t)
	})
	t.Run("FollowerKilled", func(t *testing.T) {
		sum := make(tallies)
		leader, follower, _ := q.roles(t)
		c := startWarmCrowd(t, Options{Namespace: freshNamespace()}, q.addr(follower))
		q.Servers[follower-1].Kill()
		c.judge(t, sum, q.addr(leader))
		if err := q.Servers[follower-1].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		sum.log(t)
	})
}

// The same for a leader that is killed: the next one gives every session its timeout anew.
func leaderKilled(t *testing.T, q *quorum) {
	sum := make(tallies)
	leader, follower, _ := q.roles(t)
	c := startWarmCrowd(t, Options{Namespace: freshNamespace()}, q.addr(follower))
	q.Servers[leader-1].Kill()
	c.end()
	c.Store.mu.Lock()
	for _, o := range c.sessions { // they would live on with the next leader
		o.link.end(ErrClosed)
	}
	c.Store.mu.Unlock()
	c.judge(t, sum, q.addr(follower))
	if err := q.Servers[leader-1].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum.log(t)
}

// Each client is connected to another server than the one before.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	q := &quorum{}
	q.start(t, nil)
	t.Run("Conformance", func(t *testing.T) { conform(t, time.Second, q.Addrs(), "") })
	t.Run("LeaderKilled", func(t *testing.T) { leaderKilled(t, q) })
}
