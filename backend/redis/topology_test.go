package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/backendtest"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

// cluster is three servers, and a client of them.
type cluster struct {
	*goredis.ClusterClient
	nodes []*servers.Server
	url   string
}

func startCluster(t *testing.T) *cluster {
	nodes, err := servers.RedisCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, node := range nodes {
			if err := node.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	var addrs []string
	for _, node := range nodes {
		addrs = append(addrs, node.Addr)
	}
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { c.Close() })
	return &cluster{c, nodes, "redis://" + addrs[0] + "?addr=" + addrs[1] + "&addr=" + addrs[2]}
}

func (c *cluster) open(tb testing.TB, namespace string) *store {
	settle(tb, c, namespace)
	return opened(tb, c.url+"&namespace="+namespace)
}

// owner returns the node that has the keys of a namespace, and another one.
func (c *cluster) owner(t *testing.T, namespace string) (owner, other *servers.Server) {
	t.Helper()
	master, err := c.MasterForKey(t.Context(), "{"+namespace+"}:meta")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range c.nodes {
		if node.Addr == master.Options().Addr {
			owner = node
		} else {
			other = node
		}
	}
	return owner, other
}

func TestCluster(t *testing.T) {
	c := startCluster(t)
	t.Run("conforms", func(t *testing.T) {
		// On one server it is compared with the model more often.
		defer flag.Set("rapid.checks", flag.Lookup("rapid.checks").Value.String())
		if err := flag.Set("rapid.checks", "10"); err != nil {
			t.Fatal(err)
		}
		backendtest.Run(t, suite(c.open))
	})
	t.Run("one server's URL", func(t *testing.T) { c.oneServer(t) })
	t.Run("client", func(t *testing.T) { c.client(t) })
	t.Run("few permissions", func(t *testing.T) { c.fewPermissions(t) })
	t.Run("slot moves", func(t *testing.T) { c.slotMoves(t) })
	t.Run("restart without data", func(t *testing.T) { c.restart(t) })
}

// Any of its servers tells that it is part of a cluster, also the one that has our keys.
func (c *cluster) oneServer(t *testing.T) {
	ns := namespace()
	settle(t, c, ns)
	for _, node := range c.nodes {
		s := opened(t, at(node, ns))
		session := s.session(bound)
		s.free(session, "name", s.win(session, "name"))
	}
	contains(t, tryOpen(t, "redis://"+c.nodes[0].Addr+"/1"), "SELECT is not allowed in cluster mode")
}

// A client of the user's own must know of the cluster.
func (c *cluster) client(t *testing.T) {
	ns := namespace()
	settle(t, c, ns)
	opened, err := New(t.Context(), c.ClusterClient, Options{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	s := wrap(t, opened)
	s.renew(s.session(bound))
	for _, node := range c.nodes {
		if _, err := New(t.Context(), raw(t, node), Options{Namespace: ns}); !errors.Is(err, ErrCluster) {
			t.Errorf("got %v", err)
		}
	}
}

// With the permissions of the manual, and no others, everything works in a cluster too.
func (c *cluster) fewPermissions(t *testing.T) {
	ns := namespace()
	settle(t, c, ns)
	rules := append(permissions(t, ns), "+cluster|slots")
	for _, node := range c.nodes {
		allow(t, raw(t, node), node.Addr, "user", ns, rules)
	}
	s := opened(t, strings.Replace(c.url, "redis://", "redis://user:"+secret+"@", 1)+"&namespace="+ns)
	session := s.session(bound)
	token := s.win(session, "name")
	w := s.watch("name", "free")
	w.hears("free")
	s.renew(session)
	s.free(session, "name", token)
	w.hears("name")
}

// When the namespace moves to another server, everything moves with it; that server grants nothing for one lease.
func (c *cluster) slotMoves(t *testing.T) {
	ns := namespace()
	s := c.open(t, ns)
	session := s.session(bound)
	token := s.win(session, "name")
	from, to := c.owner(t, ns)
	source, target := raw(t, from), raw(t, to)
	do := func(c *goredis.Client, args ...any) any {
		t.Helper()
		answer, err := c.Do(s.ctx, args...).Result()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return answer
	}
	slot := do(source, "CLUSTER", "KEYSLOT", s.key("meta"))
	sourceID, targetID := do(source, "CLUSTER", "MYID"), do(target, "CLUSTER", "MYID")
	do(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID)
	do(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID)
	host, port, _ := strings.Cut(to.Addr, ":")
	for _, key := range do(source, "CLUSTER", "GETKEYSINSLOT", slot, 100).([]any) {
		do(source, "MIGRATE", host, port, key, 0, 5000)
	}
	for _, node := range []*goredis.Client{target, source} {
		do(node, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
	}
	if r := s.renew(session); len(r.Leases) != 1 || r.Leases[0].Token != token {
		t.Errorf("after the move, the session has %v", r.Leases)
	}
	if o := s.acquire(s.session(bound), "new"); o.Won {
		t.Errorf("a server that the namespace has just come to gives %+v away", o)
	}
}

func (c *cluster) restart(t *testing.T) {
	ns := namespace()
	s := c.open(t, ns)
	o := s.owner(shortLease, "name")
	node, _ := c.owner(t, ns)
	restart(t, node)
	won, token := s.contends(shortLease, "name")
	o.after(t, won, token)
	s.expired(o.session)
}

// pair is a master and its replica, which is behind a proxy so that it can be kept from hearing anything.
type pair struct {
	master, replica *servers.Server
	between         *proxy.Proxy
}

func startPair(t *testing.T) pair {
	master := started(t, "--repl-diskless-sync-delay", "0")
	between, err := proxy.New(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := between.Close(); err != nil {
			t.Error(err)
		}
	})
	host, port, _ := net.SplitHostPort(between.Addr)
	p := pair{master, started(t, "--replicaof", host, port), between}
	replica := raw(t, p.replica)
	eventually(t, "the replica follows", func() bool {
		info, err := replica.Info(t.Context(), "replication").Result()
		return err == nil && field(info, "master_link_status") == "up"
	})
	return p
}

// A replica takes over without having heard of the latest writes. It gives away nothing that somebody believes to
// own. That it withholds its grants is what prevents it: without, there are two owners.
func TestFailover(t *testing.T) {
	p := startPair(t)
	sentinel, err := servers.RedisSentinel(p.master)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sentinel.Stop(); err != nil {
			t.Error(err)
		}
	})
	watcher := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel.Addr})
	defer watcher.Close()
	eventually(t, "Sentinel knows the replica", func() bool {
		replicas, err := watcher.Replicas(t.Context(), "mymaster").Result()
		return err == nil && len(replicas) == 1 && replicas[0]["master-link-status"] == "ok"
	})
	ns := namespace()
	settle(t, raw(t, p.master), ns)
	s := opened(t, sentinel.URL+"&namespace="+ns)
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{sentinel.Addr}})
	defer client.Close()
	other, err := New(t.Context(), client, Options{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	own := wrap(t, other)
	w := s.serve("waited-for", "free")
	w.hears("free")
	kept, lost := s.session(bound), s.session(bound)
	s.win(kept, "kept")
	s.win(kept, "waited-for")
	token := uint64(0)
	replica := raw(t, p.replica)
	eventually(t, "the replica has heard of it", func() bool {
		_, err := replica.HGet(s.ctx, s.key("names"), "waited-for").Result()
		return err == nil
	})
	p.between.Stall()
	token = s.win(lost, "name")
	late := s.win(kept, "late")
	asked := time.Now()
	deadline := asked.Add(s.renew(lost).Remaining)
	p.master.Kill()
	eventually(t, "the replica has taken over", func() bool { _, err := s.Renew(s.ctx, kept, 0, true); return err == nil })

	next := s.session(shortLease)
	if o := s.acquire(next, "name"); o.Won || o.Holder.Held {
		t.Errorf("what was lost is given away: %+v", o)
	}
	until := time.Now().Add(s.withheld(replica))
	if until.Before(deadline) {
		t.Errorf("grants are withheld, and end %v before its owner's deadline", deadline.Sub(until))
	}
	if h := s.holder("kept"); h.Session != kept {
		t.Errorf("what the replica had heard of is held by %+v", h)
	}
	for _, l := range s.renew(kept).Leases {
		if l.Name == "late" {
			t.Error("this test lost nothing, and shows nothing")
		}
		s.free(kept, l.Name, l.Token)
	}
	w.hears("waited-for") // by a subscription to the new master
	eventually(t, "a store with a client of the user's follows", func() bool {
		_, err := own.Renew(own.ctx, kept, 0, true)
		_, lost := own.Inspect(own.ctx, []string{"kept"})
		return err == nil && lost == nil
	})
	settle(t, replica, ns)
	if won := s.win(next, "name"); won <= token || !time.Now().Before(deadline) {
		t.Errorf("without withholding, it was won with token %d after %d, %v before the deadline", won, token, time.Until(deadline))
	}
	if won := s.win(next, "late"); won <= late {
		t.Errorf("R19: token %d came after %d", won, late)
	}
}

// Replicas that are asked for confirm what is granted; if they do not, the outcome is unknown.
func TestReplicas(t *testing.T) {
	p := startPair(t)
	ns := namespace()
	settle(t, raw(t, p.master), ns)
	s := opened(t, at(p.master, ns)+"&replicas=1")
	session := s.session(bound)
	lease := backend.Lease{Name: "mine", Token: s.win(session, "mine")}
	s.renew(session)
	if err := raw(t, p.master).ScriptFlush(s.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	s.renew(session)
	p.between.Stall()
	confirmed := map[string]bool{"Open": true, "Renew": true, "Acquire": true, "KeepNote": true}
	var calls sync.WaitGroup
	for name, call := range operations(s, session, lease.Token) {
		if !confirmed[name] {
			continue
		}
		calls.Go(func() {
			err := call(s.ctx)
			if !errors.Is(err, ErrReplicas) || errors.Is(err, backend.ErrExpired) {
				t.Errorf("%s returned %v", name, err)
			}
			contains(t, err, "0 of 1")
		})
	}
	calls.Wait()
	// What needs no confirmation does not wait for it.
	if h := s.holder("new"); h.Session != session {
		t.Errorf("an acquisition that was not confirmed has done nothing: %+v", h)
	}
	s.free(session, "mine", lease.Token)
	p.between.Pass()
	if r := s.renew(session); len(r.Leases) != 1 || r.Leases[0].Name != "new" {
		t.Errorf("the session has %v", r.Leases)
	}
}

// certificate makes a server's certificate that nobody else has signed.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encodedKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return write("cert", "CERTIFICATE", cert), write("key", "EC PRIVATE KEY", encodedKey), pool
}

func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	server := started(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	addr := "127.0.0.1:" + strconv.Itoa(port)
	ns := namespace()
	settle(t, raw(t, server), ns)
	url := "rediss://" + addr + "?namespace=" + ns

	contains(t, tryOpen(t, url), addr, "certificate")

	s := opened(t, url+"&skip_verify=true")
	s.renew(s.session(bound))

	client := goredis.NewClient(&goredis.Options{Addr: addr, TLSConfig: &tls.Config{RootCAs: pool}})
	defer client.Close()
	own, err := New(t.Context(), client, Options{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	s = wrap(t, own)
	s.watch("free").hears("free")

	server.Kill() // with which Close has nobody to say goodbye to
}

// WAIT speaks of what its connection wrote. So a call that finds everything done already, by one that was not confirmed,
// writes it once more: over another connection, it would be confirmed at once otherwise (by servers from 7.2 on).
func TestRepeatedCallsWrite(t *testing.T) {
	server := started(t)
	s := settled(t, server, namespace())
	admin := raw(t, server)
	session := s.session(bound)
	lease := backend.Lease{Name: "name", Token: s.win(session, "name")}
	note := backend.Note{Version: 7, Text: "text"}
	for what, call := range map[string]func() error{
		"Acquire": func() error {
			_, err := s.Acquire(s.ctx, session, []string{"name"}, false)
			return err
		},
		"KeepNote": func() error {
			kept, held, err := s.KeepNote(s.ctx, session, lease, note)
			if err == nil && (!held || kept != note) {
				t.Errorf("kept is %+v, %t", kept, held)
			}
			return err
		},
	} {
		for range 2 {
			before := written(t, admin)
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if written(t, admin) == before {
				t.Errorf("%s writes nothing", what)
			}
		}
	}
}

// written is how much a server has written.
func written(t *testing.T, c *goredis.Client) string {
	t.Helper()
	info, err := c.Info(t.Context(), "persistence").Result()
	if err != nil {
		t.Fatal(err)
	}
	return field(info, "rdb_changes_since_last_save")
}
