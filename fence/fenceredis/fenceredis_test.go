package fenceredis_test

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fenceredis"
	"github.com/simba-go/simba/internal/servers"
)

var (
	single  = servers.Share(servers.Redis)
	cluster = servers.Share(servers.Redis, "--cluster-enabled", "yes")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.During(m, single, cluster)) }

// client is a client of an empty server.
func client(t testing.TB, configure ...func(*redis.Options)) *redis.Client {
	t.Helper()
	options := &redis.Options{Addr: single.For(t).Addr, ContextTimeoutEnabled: true, MaxRetries: -1}
	for _, c := range configure {
		c(options)
	}
	c := redis.NewClient(options)
	t.Cleanup(func() { c.Close() })
	if err := c.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func expect(t testing.TB, c redis.Cmdable, key, want string) {
	t.Helper()
	got, err := c.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s is %q, want %q", key, got, want)
	}
}

// Two writers; the older token writes last.
func TestSetRefusesTheOlderWriter(t *testing.T) {
	c := client(t)
	for _, step := range []struct {
		token uint64
		value string
	}{{5, "a"}, {9, "b"}, {9, "c"}} {
		if err := fenceredis.Set(t.Context(), c, "report", step.token, step.value, 0); err != nil {
			t.Fatal(err)
		}
	}
	err := fenceredis.Set(t.Context(), c, "report", 5, "late", 0)
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Name: "report", Token: 5, Highest: 9}) {
		t.Errorf("got %v", err)
	}
	expect(t, c, "report", "c")
	expect(t, c, "{report}:token", "9")
}

// Tokens are compared as numbers of 64 bits: not as text, and not as floating point.
func TestTokensOfAllSizes(t *testing.T) {
	c := client(t)
	for i, pair := range [][2]uint64{{9, 10}, {99, 100}, {1<<53 - 1, 1 << 53}, {1 << 53, 1<<53 + 1}, {1<<63 - 1, 1 << 63}, {math.MaxUint64 - 1, math.MaxUint64}} {
		key := string(rune('a' + i))
		for _, token := range []uint64{pair[0], pair[1], pair[1]} {
			if err := fenceredis.Advance(t.Context(), c, key, token); err != nil {
				t.Errorf("%d: %v", token, err)
			}
		}
		err := fenceredis.Advance(t.Context(), c, key, pair[0])
		var stale *fence.StaleError
		if !errors.As(err, &stale) || stale.Highest != pair[1] {
			t.Errorf("%d after %d: %v", pair[0], pair[1], err)
		}
	}
	if err := fenceredis.Advance(t.Context(), c, "a", 0); !errors.Is(err, fence.ErrZero) {
		t.Errorf("0: %v", err)
	}
}

// A value that expires leaves its token.
func TestExpiry(t *testing.T) {
	c := client(t)
	if err := fenceredis.Set(t.Context(), c, "report", 5, "a", time.Hour); err != nil {
		t.Fatal(err)
	}
	for key, least := range map[string]time.Duration{"report": time.Minute, "{report}:token": -1} {
		if left, err := c.PTTL(t.Context(), key).Result(); err != nil || left < least || least < 0 && left != least {
			t.Errorf("%s expires in %v, %v", key, left, err)
		}
	}
	if err := c.Del(t.Context(), "report").Err(); err != nil {
		t.Fatal(err)
	}
	if err := fenceredis.Set(t.Context(), c, "report", 4, "late", 0); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v", err)
	}
	expect(t, c, "report", "")
	for _, bad := range []time.Duration{-1, time.Microsecond} {
		if err := fenceredis.Set(t.Context(), c, "report", 5, "b", bad); err == nil || !strings.Contains(err.Error(), "expire") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	// What was going to expire is kept by a Set without an expiry.
	if err := fenceredis.Set(t.Context(), c, "report", 5, "b", 0); err != nil {
		t.Fatal(err)
	}
	if left := c.PTTL(t.Context(), "report").Val(); left != -1 {
		t.Errorf("it expires in %v", left)
	}
}

func TestScript(t *testing.T) {
	c := client(t)
	add := fenceredis.NewScript(`return redis.call('RPUSH', KEYS[1], unpack(ARGV))`)
	if got, err := add.Run(t.Context(), c, []string{"list"}, 7, "a", "b"); err != nil || got != int64(2) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := add.Run(t.Context(), c, []string{"list"}, 6, "late"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v", err)
	}
	if got := c.LRange(t.Context(), "list", 0, -1).Val(); strings.Join(got, "") != "ab" {
		t.Errorf("the list has %v", got)
	}
	// Two keys, and no result.
	move := fenceredis.NewScript(`redis.call('RENAME', KEYS[1], KEYS[2]) return nil`)
	if got, err := move.Run(t.Context(), c, []string{"list", "other"}, 7); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if n := c.LLen(t.Context(), "other").Val(); n != 2 {
		t.Errorf("the other list has %d", n)
	}
	if _, err := move.Run(t.Context(), c, nil, 7); err == nil || !strings.Contains(err.Error(), "needs a key") {
		t.Errorf("no key: %v", err)
	}
}

// What the server says is passed on, and is no unknown outcome.
func TestServerErrors(t *testing.T) {
	c := client(t)
	_, err := fenceredis.NewScript(`this is no Lua`).Run(t.Context(), c, []string{"x"}, 7)
	if err == nil || errors.Is(err, fence.ErrUnknown) || !strings.Contains(err.Error(), "compiling") {
		t.Errorf("got %v", err)
	}
	_, err = fenceredis.NewScript(`return redis.error_reply('MINE not today')`).Run(t.Context(), c, []string{"x"}, 7)
	if err == nil || errors.Is(err, fence.ErrUnknown) || !strings.Contains(err.Error(), "MINE not today") {
		t.Errorf("got %v", err)
	}
	for _, content := range []any{"nine", "-3", "1.5", "007", strings.Repeat("1", 21)} {
		if err := c.Set(t.Context(), "{report}:token", content, 0).Err(); err != nil {
			t.Fatal(err)
		}
		err := fenceredis.Set(t.Context(), c, "report", 7, "x", 0)
		if err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrUnknown) || !strings.Contains(err.Error(), "{report}:token holds no token") {
			t.Errorf("%v: %v", content, err)
		}
	}
	c.Del(t.Context(), "{report}:token")
	c.RPush(t.Context(), "{report}:token", "a list")
	if err := fenceredis.Set(t.Context(), c, "report", 7, "x", 0); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("got %v", err)
	}
	expect(t, c, "report", "")
}

// Whatever the order in which writers come, the key ends with the highest token's value.
func TestConcurrentWriters(t *testing.T) {
	c := client(t)
	journal := fenceredis.NewScript(`return redis.call('RPUSH', KEYS[1], ARGV[1])`)
	var all sync.WaitGroup
	for writer := range uint64(8) {
		all.Go(func() {
			for n := range uint64(50) {
				token := 1 + (n*7+writer*13)%97
				if _, err := journal.Run(t.Context(), c, []string{"journal"}, token, token); err != nil && !errors.Is(err, fence.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var tokens []int
	if err := c.LRange(t.Context(), "journal", 0, -1).ScanSlice(&tokens); err != nil {
		t.Fatal(err)
	}
	for i := range tokens[1:] {
		if tokens[i+1] < tokens[i] {
			t.Fatalf("token %d was written after %d", tokens[i+1], tokens[i])
		}
	}
	if len(tokens) == 0 || tokens[len(tokens)-1] != 97 {
		t.Errorf("written were %v", tokens)
	}
}

// silent is a connection whose answers are lost once lose is set.
type silent struct {
	net.Conn
	lose *atomic.Bool
}

// Read reads an answer, and keeps it.
func (c silent) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose.Load() {
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// An answer that is lost is an unknown outcome: here the write has happened.
func TestLostAnswer(t *testing.T) {
	var lose atomic.Bool
	c := client(t, func(o *redis.Options) {
		o.PoolSize = 1
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return silent{conn, &lose}, err
		}
	})
	if err := fenceredis.Set(t.Context(), c, "report", 5, "a", 0); err != nil {
		t.Fatal(err)
	}
	lose.Store(true)
	err := fenceredis.Set(t.Context(), c, "report", 6, "b", 0)
	var unknown *fence.UnknownError
	if !errors.As(err, &unknown) || unknown.Token != 6 {
		t.Errorf("got %v", err)
	}
	lose.Store(false)
	expect(t, c, "report", "b")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fenceredis.Set(ctx, c, "report", 7, "c", 0); !errors.Is(err, context.Canceled) || errors.Is(err, fence.ErrUnknown) {
		t.Errorf("after the context: %v", err)
	}
}

func TestTokenKey(t *testing.T) {
	for key, want := range map[string]string{
		"report":     "{report}:token",
		"a:b":        "{a:b}:token",
		"{user}:7":   "{user}:7:token",
		"a{b}c{d}":   "a{b}c{d}:token",
		"a{b":        "{a{b}:token",
		"":           "",
		"a}b":        "",
		"{}a":        "",
		"}{":         "",
		"a{}{b}":     "",
		"b}{c}":      "b}{c}:token",
		"with space": "{with space}:token",
	} {
		got, err := fenceredis.TokenKey(key)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", key, got, err, want)
		}
	}
}

// A cluster refuses scripts whose keys have different slots.
func TestCluster(t *testing.T) {
	server := cluster.For(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer admin.Close()
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}})
	defer c.Close()
	awaitCluster(t, c)
	for _, key := range []string{"report", "a:b", "{user}:7", "a{b}c{d}", "a{b", "b}{c}"} {
		if err := fenceredis.Set(t.Context(), c, key, 9, "new", 0); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if err := fenceredis.Set(t.Context(), c, key, 8, "late", 0); !errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: %v", key, err)
		}
		expect(t, c, key, "new")
		mark, err := fenceredis.TokenKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := admin.ClusterKeySlot(t.Context(), key).Val(), admin.ClusterKeySlot(t.Context(), mark).Val(); a != b {
			t.Errorf("%s is in slot %d, and %s in %d", key, a, mark, b)
		}
	}
}

func awaitCluster(t *testing.T, c *redis.ClusterClient) {
	t.Helper()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for c.Set(ctx, "ready", 1, 0).Err() != nil {
		select {
		case <-ctx.Done():
			t.Fatal("the cluster does not come up")
		case <-pause.C:
			c.ReloadState(ctx)
		}
	}
}
