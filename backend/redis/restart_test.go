package redis

import (
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/internal/servers"
)

// owner holds a lease, and believes in it until its deadline, counted from when it asked (R8).
type owner struct {
	session  string
	token    uint64
	deadline time.Time
}

func (s *store) owner(lease time.Duration, name string) owner {
	s.tb.Helper()
	o := owner{session: s.session(lease)}
	o.token = s.win(o.session, name)
	asked := time.Now()
	o.deadline = asked.Add(s.renew(o.session).Remaining)
	return o
}

// contends tries to acquire a name until it succeeds, and returns when that was and the token. It begins
// a session whenever it has none.
func (s *store) contends(lease time.Duration, name string) (won time.Time, token uint64) {
	s.tb.Helper()
	session := ""
	eventually(s.tb, "the name is won", func() bool {
		if session == "" {
			grant, err := s.Open(s.ctx, lease, "next")
			if err != nil {
				return false // the server is not there yet
			}
			session = grant.Session
		}
		if _, err := s.Renew(s.ctx, session, 0, false); err != nil {
			session = ""
			return false
		}
		outcomes, err := s.Acquire(s.ctx, session, []string{name}, false)
		if err != nil || !outcomes[0].Won {
			return false
		}
		won, token = time.Now(), outcomes[0].Token
		return true
	})
	return won, token
}

// after checks that a lease was given away when its last owner did not believe in it any more.
func (o owner) after(tb testing.TB, won time.Time, token uint64) {
	tb.Helper()
	if won.Before(o.deadline) {
		tb.Errorf("the lease was given away %v before its owner's deadline", o.deadline.Sub(won))
	}
	if token <= o.token {
		tb.Errorf("R19: token %d came after %d", token, o.token)
	}
}

const shortLease = 1200 * time.Millisecond

// restart kills a server, which has no data after it.
func restart(tb testing.TB, server *servers.Server) {
	tb.Helper()
	server.Kill()
	if err := server.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// A server that comes back without its data knows of no owner. It gives nothing away before they all have
// noticed.
func TestRestartWithoutData(t *testing.T) {
	server := started(t)
	ns := namespace()
	s := settled(t, server, ns)
	o := s.owner(shortLease, "name")
	restart(t, server)
	began := time.Now()
	won, token := s.contends(shortLease, "name")
	o.after(t, won, token)
	if took := won.Sub(began); took > 2*shortLease {
		t.Errorf("nothing was granted for %v", took)
	}
	s.expired(o.session)
}

// That it does so by withholding grants: without, the last test finds two owners.
func TestRestartWithoutDataAndWithoutWithholding(t *testing.T) {
	server := started(t)
	ns := namespace()
	s := settled(t, server, ns)
	o := s.owner(bound, "name")
	restart(t, server)
	settle(t, raw(t, server), ns)
	won, token := s.contends(bound, "name")
	if !won.Before(o.deadline) || token <= o.token {
		t.Errorf("won %v after the deadline, with token %d after %d", won.Sub(o.deadline), token, o.token)
	}
}

// A server that comes back with old data does not know of what was written last.
func TestRestartWithOldData(t *testing.T) {
	server := started(t)
	ns := namespace()
	s := settled(t, server, ns)
	bystander := s.session(bound) // whose lease is the longest that the old data know
	s.win(bystander, "kept")
	admin := raw(t, server)
	if err := admin.Save(s.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	lost := s.session(bound)
	token := s.win(lost, "name")
	restart(t, server)
	s.expired(lost)
	next := s.session(shortLease)
	if o := s.acquire(next, "name"); o.Won || o.Holder.Held {
		t.Errorf("right after the restart: %+v", o)
	}
	if h := s.holder("kept"); h.Session != bystander {
		t.Errorf("what was saved is held by %+v", h)
	}
	if wait := s.withheld(admin); wait < bound/2 || wait > bound {
		t.Errorf("grants are withheld for %v; the longest lease is %v", wait, bound)
	}
	settle(t, admin, ns) // it is over
	if again := s.win(next, "name"); again <= token {
		t.Errorf("R19: token %d came after %d", again, token)
	}
}

// A server's uptime may be given as almost a second too much. That must not shorten the time during which nothing is
// granted.
func TestUptimeIsRounded(t *testing.T) {
	up := time.Now() // or a little later
	server := started(t)
	c := raw(t, server)
	const lease = 5 * time.Second
	for time.Since(up) < 1200*time.Millisecond { // over at least one full second
		s := opened(t, at(server, namespace()))
		asked := time.Now()
		s.session(lease)
		if end := time.Now().Add(s.withheld(c)); end.Before(up.Add(lease)) && asked.Sub(up) < lease {
			t.Fatalf("%v after its start, a server that knows nothing grants in %v, with a lease of %v", asked.Sub(up), end.Sub(asked), lease)
		}
	}
}

// withheld is for how long the server grants nothing, as it has written down.
func (s *store) withheld(c *goredis.Client) time.Duration {
	s.tb.Helper()
	until, err := c.HGet(s.ctx, s.key("meta"), "until").Int64()
	if err != nil {
		s.tb.Fatal(err)
	}
	return time.Until(time.UnixMicro(until))
}

// A server that has been there for longer than the lease grants from a new namespace at once.
func TestNewNamespace(t *testing.T) {
	server := shared.For(t)
	c := raw(t, server)
	const lease = time.Second
	eventually(t, "the server is old enough", func() bool {
		info, err := c.Info(t.Context(), "server").Result()
		uptime, _ := strconv.Atoi(field(info, "uptime_in_seconds"))
		return err == nil && uptime >= 2 // which may be only a little more than one
	})
	s := opened(t, at(server, namespace()))
	s.win(s.session(lease), "name")
}

// A session that asks for what it has does not believe in it: an answer was lost, or the server has an old record, and
// somebody else got the name after that. So it is like all names that cannot be had yet, and the lease stays as it is.
func TestOwnLeaseWhileWithheld(t *testing.T) {
	server := started(t, "--appendonly", "yes", "--appendfsync", "always")
	s := settled(t, server, namespace())
	session := s.session(bound)
	token := s.win(session, "name")
	restart(t, server)
	outcomes, err := s.Acquire(s.ctx, session, []string{"free", "name"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Won || o.Holder.Held {
			t.Errorf("got %+v", o)
		}
	}
	if r := s.renew(session); len(r.Leases) != 1 || r.Leases[0].Token != token {
		t.Errorf("the session has %v", r.Leases)
	}
}

// Old data may say that a name is still its last owner's but one. That one does not get it back while the last one
// believes in it, and later with a greater token.
func TestRestartWithOldOwner(t *testing.T) {
	server := started(t)
	s := settled(t, server, namespace())
	admin := raw(t, server)
	before, last := s.session(bound), s.session(bound)
	token := s.win(before, "name")
	if err := admin.Save(s.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	s.free(before, "name", token)
	token = s.win(last, "name")
	restart(t, server)
	if h := s.holder("name"); h.Session != before {
		t.Fatalf("the data are not old, and this test shows nothing: %+v", h)
	}
	for _, all := range []bool{false, true} {
		if outcomes, err := s.Acquire(s.ctx, before, []string{"name"}, all); err != nil || outcomes[0].Won {
			t.Errorf("while another session believes that it has the name: %+v, %v", outcomes, err)
		}
	}
	s.over(admin)
	again := s.win(before, "name")
	if again <= token {
		t.Errorf("R19: token %d came after %d", again, token)
	}
	if same := s.win(before, "name"); same != again {
		t.Errorf("R30: token %d has become %d", again, same)
	}
	if r := s.renew(before); len(r.Leases) != 1 || r.Leases[0].Token != again {
		t.Errorf("the session has %v", r.Leases)
	}
}

// over makes the time end during which nothing is granted.
func (s *store) over(c *goredis.Client) {
	s.tb.Helper()
	now, err := c.Time(s.ctx).Result()
	if err == nil {
		err = c.HSet(s.ctx, s.key("meta"), "until", now.UnixMicro()).Err()
	}
	if err != nil {
		s.tb.Fatal(err)
	}
}

// A server that was the master before and becomes it again, as the same process, may have missed what another one
// has granted meanwhile.
func TestMasterAgain(t *testing.T) {
	server := started(t)
	s := settled(t, server, namespace())
	session := s.session(bound)
	s.win(session, "name")
	admin := raw(t, server)
	for _, args := range [][]any{{"replicaof", "127.0.0.1", "1"}, {"replicaof", "no", "one"}} {
		if err := admin.Do(s.ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if o := s.acquire(session, "other"); o.Won || o.Holder.Held {
		t.Errorf("right after it became the master again: %+v", o)
	}
	if wait := s.withheld(admin); wait < bound/2 || wait > bound {
		t.Errorf("grants are withheld for %v; the longest lease is %v", wait, bound)
	}
	s.over(admin)
	s.win(session, "other")
}

// A replica that takes over without anything knows nothing, however long it has been up.
func TestEmptyReplicaTakesOver(t *testing.T) {
	server := started(t, "--replicaof", "127.0.0.1", "1")
	admin := raw(t, server)
	eventually(t, "the replica is old enough", func() bool {
		info, err := admin.Info(t.Context(), "server").Result()
		uptime, _ := strconv.Atoi(field(info, "uptime_in_seconds"))
		return err == nil && uptime >= 2
	})
	if err := admin.Do(t.Context(), "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	const lease = time.Second
	s := opened(t, at(server, namespace()))
	asked := time.Now()
	s.session(lease)
	if early := asked.Add(lease).Sub(time.Now().Add(s.withheld(admin))); early > time.Millisecond {
		t.Errorf("it grants %v before those who heard of the old master have noticed", early)
	}
}

// A watch tells of a free name when it can be had.
func TestWatchWhileWithheld(t *testing.T) {
	server := started(t)
	ns := namespace()
	s := opened(t, at(server, ns))
	session := s.session(shortLease)
	if o := s.acquire(session, "name"); o.Won {
		t.Fatalf("a server that has just started gives %+v away", o)
	}
	until := time.Now().Add(s.withheld(raw(t, server)))
	w := s.watch("name")
	w.hears("name")
	if early := time.Until(until); early > 0 {
		t.Errorf("heard of it %v too early", early)
	}
	s.win(s.session(shortLease), "name")
}

// FLUSHALL leaves no trace by which anybody could know. Tokens stay ahead.
func TestFlush(t *testing.T) {
	server := started(t)
	ns := namespace()
	s := settled(t, server, ns)
	o := s.owner(bound, "name")
	if err := raw(t, server).FlushAll(s.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	s.expired(o.session)
	settle(t, raw(t, server), ns) // a server that has been there for long
	if token := s.win(s.session(bound), "name"); token <= o.token {
		t.Errorf("R19: token %d came after %d", token, o.token)
	}
}

// Tokens, deaths and leases survive a restart with the data.
func TestRestartWithData(t *testing.T) {
	server := started(t, "--appendonly", "yes", "--appendfsync", "always")
	ns := namespace()
	s := settled(t, server, ns)
	kept, closed := s.session(bound), s.session(bound)
	token := s.win(kept, "kept")
	released := s.win(kept, "released")
	s.free(kept, "released", released)
	s.win(closed, "closed")
	if err := s.CloseSession(s.ctx, closed); err != nil {
		t.Fatal(err)
	}
	restart(t, server)
	if r := s.renew(kept); len(r.Leases) != 1 {
		t.Errorf("the session has %v", r.Leases)
	}
	if wait := s.withheld(raw(t, server)); wait < bound/2 {
		t.Errorf("a renewal does not notice that the server is another one: grants are withheld for %v", wait)
	}
	settle(t, raw(t, server), ns)
	s.expired(closed)
	if h := s.holder("kept"); h.Session != kept || h.Token != token {
		t.Errorf("the lease is held by %+v", h)
	}
	if again := s.win(kept, "released"); again <= released {
		t.Errorf("R19: token %d came after %d", again, released)
	}
}
