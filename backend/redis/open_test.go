package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// tryOpen opens a store that must not open, soon, and without a word about the password.
func tryOpen(t *testing.T, url string) error {
	t.Helper()
	s, err := Open(within(t, 2*time.Second), url)
	if err == nil {
		s.Close()
		t.Fatalf("%s was opened", url)
	}
	if strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v", err), secret) {
		t.Errorf("the error says the password: %v", err)
	}
	return err
}

const secret = "s3cret"

func TestRefusedURLs(t *testing.T) {
	for _, c := range []struct{ url, says string }{
		{"", `the scheme is ""`},
		{"host:6379", `the scheme is "host"`},
		{"http://host", `the scheme is "http"`},
		{"redis://u:" + secret + "%zz@host", "must be escaped"},
		{"redis://u:" + secret + "#x@host", "must be escaped"},
		{"redis://u:a b" + secret + "@host:notaport", "must be escaped"},
		{"redis://host/zero", `invalid database number: "zero"`},
		{"redis://host/0/1", "path"},
		{"redis://host?namespace=", "the namespace is empty"},
		{"redis://host?namespace=a%7Db", `it is "a}b": it contains '}'`},
		{"redis://host?replicas=two", `replicas is "two"`},
		{"redis://host?replicas=-1", "-1 replicas"},
		{"redis://host?name_space=x", "unexpected option: name_space"},
		{"redis://host/1?addr=other:1", `a cluster has only the database 0, and not "1"`},
		{"redis://host?addr=other", "unable to parse addr param: other"},
		{"redis://host?pool_size=many", "pool_size"},
		{"redis://host?read_timeout=soon", "read_timeout"},
		{"redis://u:1?" + secret + "@host", "must be escaped"},
		{"redis://u:1/" + secret + "@host/0", "must be escaped"},
		{"redis://u:1/" + secret + "@host/0?addr=other:1", "must be escaped"},
		{"redis://u:1?replicas=" + secret + "@host", "must be escaped"},
	} {
		contains(t, tryOpen(t, c.url), "simba: redis: ", c.says)
	}
}

func TestRefusedServers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	closed := "127.0.0.1:1"
	locked := started(t, "--requirepass", "right")
	evicting := started(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	full := started(t, "--maxmemory", "1")
	replica := started(t, "--replicaof", "127.0.0.1", "1")
	sentinel := started(t) // any will do
	unknown := started(t, "--rename-command", "AUTH", "", "--rename-command", "HELLO", "")
	for name, c := range map[string]struct {
		url  string
		want error
		says string
	}{
		"unreachable":    {"redis://u:" + secret + "@" + closed, nil, closed},
		"silent":         {"redis://u:" + secret + "@" + listener.Addr().String(), context.DeadlineExceeded, "deadline exceeded"},
		"no password":    {locked.URL, ErrLogin, "or wants some"},
		"wrong password": {"redis://:" + secret + "@" + locked.Addr, ErrLogin, "WRONGPASS"},
		"no AUTH":        {"redis://user:" + secret + "@" + unknown.Addr, nil, "unknown command"},
		"wrong user":     {"redis://nobody:" + secret + "@" + locked.Addr, ErrLogin, "WRONGPASS"},
		"wrong database": {"redis://" + shared.For(t).Addr + "/99", nil, "DB index is out of range"},
		"eviction":       {evicting.URL, ErrEviction, "allkeys-lru"},
		"full":           {full.URL, nil, "OOM"},
		"a replica":      {replica.URL, ErrReplica, "READONLY"},
		"no Sentinel":    {sentinel.URL + "?master_name=mymaster", nil, "mymaster behind " + sentinel.Addr},
		"no cluster":     {sentinel.URL[:len(sentinel.URL)-2] + "?addr=" + sentinel.Addr, nil, sentinel.Addr},
		"no TLS":         {"rediss://" + sentinel.Addr, context.DeadlineExceeded, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tryOpen(t, c.url)
			contains(t, err, "simba: redis: ", c.says)
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v does not match %v", err, c.want)
			}
		})
	}
}

// What may be evicted is what expires, and no key of ours does.
func TestVolatileEviction(t *testing.T) {
	server := started(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	s := settled(t, server, namespace())
	session := s.session(bound)
	s.free(session, "name", s.win(session, "name"))
	s.take(session, numbered(10)...)
	s.renew(session)
	c := raw(t, server)
	keys, err := c.Keys(s.ctx, s.key("*")).Result()
	if err != nil || len(keys) < 5 {
		t.Fatalf("the keys are %q, %v", keys, err)
	}
	for _, key := range keys {
		if ttl := c.TTL(s.ctx, key).Val(); ttl != -1 {
			t.Errorf("%s expires after %v", key, ttl)
		}
	}
}

func TestJudge(t *testing.T) {
	const sound = "# Server\r\nredis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\n"
	for _, c := range []struct {
		info, found string
		refused     []string
		want        error
	}{
		{sound, format, nil, nil},
		{strings.Replace(sound, "7.0.15", "6.2.0", 1), format, nil, nil},
		{strings.Replace(sound, "7.0.15", "10.0.0", 1), format, nil, nil},
		{strings.Replace(sound, "7.0.15", "6.0.16", 1), format, nil, ErrVersion},
		{strings.Replace(sound, "7.0.15", "5.9.9", 1), format, nil, ErrVersion},
		{strings.Replace(sound, "7.0.15", "unstable", 1), format, nil, nil},
		{strings.Replace(sound, "noeviction", "volatile-ttl", 1), format, nil, nil},
		{strings.Replace(sound, "noeviction", "allkeys-random", 1), format, nil, ErrEviction},
		{sound, "2", nil, ErrVersion},
		{sound, format, []string{"ZADD key: NOPERM this user has no permissions"}, ErrPermission},
		{sound, format, []string{"ZADD key: ERR The user executing the script can't run this command or subcommand"}, ErrPermission},
	} {
		if err := judge(c.info, c.found, c.refused); !errors.Is(err, c.want) {
			t.Errorf("%q, %q, %q: got %v in place of %v", c.info, c.found, c.refused, err, c.want)
		}
	}
}

// Where a client of the user's own is used, its kind decides.
func TestNewRefusesOtherClients(t *testing.T) {
	ring := goredis.NewRing(&goredis.RingOptions{})
	defer ring.Close()
	for _, client := range []goredis.UniversalClient{ring, nil, (*goredis.Client)(nil)} {
		if _, err := New(t.Context(), client, Options{}); !errors.Is(err, ErrClient) {
			t.Errorf("%T: got %v", client, err)
		}
	}
	client := raw(t, shared.For(t))
	if _, err := New(t.Context(), client, Options{Namespace: "a b"}); err == nil || !strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("got %v", err)
	}
}

// The user's client keeps its own settings, and its own connections.
func TestNewLeavesTheClientAlone(t *testing.T) {
	server := shared.For(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr, MaxRetries: 7})
	defer client.Close()
	s, err := New(t.Context(), client, Options{Namespace: namespace()})
	if err != nil {
		t.Fatal(err)
	}
	if client.Options().MaxRetries != 7 || client.Options().ContextTimeoutEnabled {
		t.Errorf("the options have become %+v", client.Options())
	}
	if n := client.PoolStats().TotalConns; n != 0 {
		t.Errorf("it has %d connections", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after Close, it says %v", err)
	}
}

// Namespaces and databases of one server do not know of each other.
func TestNamespacesAreApart(t *testing.T) {
	server, ns := shared.For(t), namespace()
	one, two := settled(t, server, ns), fresh(t)
	three := func() *store {
		url := "redis://" + server.Addr + "/3?namespace=" + ns
		c := goredis.NewClient(&goredis.Options{Addr: server.Addr, DB: 3})
		defer c.Close()
		settle(t, c, ns)
		return opened(t, url)
	}()
	stores := []*store{one, two, three}
	for i, s := range stores {
		session := s.session(bound)
		s.win(session, "name")
		for _, other := range stores[i+1:] {
			if h := other.holder("name"); h.Held {
				t.Errorf("a name that nobody has here is held by %+v", h)
			}
		}
	}
	contains(t, three.at(errors.New("x")), server.Addr+"/3: ")
}

// After Close, nothing is left at the server: no connection, and with it no subscription.
func TestNothingIsLeft(t *testing.T) {
	server, ns := shared.For(t), namespace()
	settle(t, raw(t, server), ns)
	s, err := Open(t.Context(), at(server, ns)+"&client_name="+ns)
	if err != nil {
		t.Fatal(err)
	}
	w := wrap(t, s)
	session := w.session(bound)
	w.take(session, numbered(1000)...)
	w.renew(session)
	w.watch("free").hears("free")
	c := raw(t, server)
	connections := func() int {
		list, err := c.ClientList(w.ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(list, "name="+ns+" ")
	}
	if n := connections(); n < 3 {
		t.Fatalf("there are %d connections, for calls, renewals and the watch: this test shows nothing", n)
	}
	if err := w.CloseSession(w.ctx, session); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server has no connection of ours", func() bool { return connections() == 0 })
}
