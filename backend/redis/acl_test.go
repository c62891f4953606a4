package redis

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/backend"
)

// permissions is the rule of the manual, word by word, for a namespace.
func permissions(tb testing.TB, namespace string) []string {
	tb.Helper()
	text, err := os.ReadFile("../../docs/backends/redis.md")
	if err != nil {
		tb.Fatal(err)
	}
	_, rule, found := strings.Cut(string(text), "ACL SETUSER simba on >PASSWORD ")
	if !found {
		tb.Fatal("the manual has no rule")
	}
	rule, _, _ = strings.Cut(rule, "\n```")
	rule = strings.ReplaceAll(strings.ReplaceAll(rule, "\\\n", " "), "{orders}", "{"+namespace+"}")
	return strings.Fields(strings.ReplaceAll(rule, "'", ""))
}

// allow makes a user with the permissions, and returns a URL for it.
func allow(tb testing.TB, c *goredis.Client, addr, user, namespace string, rules []string) string {
	tb.Helper()
	if err := c.ACLSetUser(tb.Context(), user, append([]string{"reset", "on", ">" + secret}, rules...)...).Err(); err != nil {
		tb.Fatal(err)
	}
	return "redis://" + user + ":" + secret + "@" + addr + "?namespace=" + namespace
}

// With the permissions of the manual, and no others, everything works.
func TestFewPermissions(t *testing.T) {
	server := started(t)
	c := raw(t, server)
	ns := namespace()
	inDatabase := goredis.NewClient(&goredis.Options{Addr: server.Addr, DB: 1})
	defer inDatabase.Close()
	settle(t, inDatabase, ns)
	url := allow(t, c, server.Addr, "user", ns, append(permissions(t, ns), "+select", "+client|setname"))
	s := opened(t, url+"&db=1&client_name=us")
	s.heartbeat = 20 * time.Millisecond // so that the watch asks whether its server is there
	w := s.watch(append(numbered(300), "free")...)
	w.hears("free")
	for range 2 {
		session := s.session(bound)
		token := s.win(session, "mine")
		for name, call := range operations(s, session, token) {
			if err := call(s.ctx); err != nil && !errors.Is(err, backend.ErrExpired) { // it may be closed before the others
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w.set.Update([]string{"free"}, append(numbered(300), "free")) // by which most is unsubscribed from
	w.hears("free")
	eventually(t, "one name is watched", func() bool {
		channels, err := c.PubSubChannels(s.ctx, s.channels()+"*").Result()
		return err == nil && len(channels) == 1
	})
	s.doomed("expires")
	eventually(t, "it has expired, and was swept", func() bool {
		s.session(20 * time.Millisecond)
		return !s.holder("expires").Held && inDatabase.SCard(s.ctx, s.key("dead")).Val() == 0
	})
	select {
	case err := <-w.ended:
		t.Errorf("the watch has ended: %v", err)
		w.ended <- nil
	default:
	}
}

// Without any one of them, opening the store says so, and what is missing; for subscriptions, which a
// script cannot try, the watch does.
func TestMissingPermissions(t *testing.T) {
	server := started(t)
	c := raw(t, server)
	ns := namespace()
	settle(t, c, ns)
	all := permissions(t, ns)
	if len(all) < 20 {
		t.Fatalf("the rule is %q", all)
	}
	for i, permission := range all {
		switch permission {
		case "resetkeys", "resetchannels": // they take away
			continue
		case "+ping", "+unsubscribe": // needed later
			continue
		}
		url := allow(t, c, server.Addr, fmt.Sprint("user-", i), ns, slices.Delete(slices.Clone(all), i, i+1))
		t.Run(permission, func(t *testing.T) {
			s, err := Open(t.Context(), url)
			if err == nil {
				w := wrap(t, s)
				err = w.watch("free").fails()
			}
			if !errors.Is(err, ErrPermission) {
				t.Fatalf("got %v", err)
			}
			// A script begins by looking at the clock, so there is no script that could say more.
			if command, is := strings.CutPrefix(permission, "+"); is && command != "time" {
				contains(t, errors.New(strings.ToLower(err.Error())), command)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error says the password: %v", err)
			}
		})
	}
}

// A release that may not be told is still one.
func TestReleaseWithoutPublish(t *testing.T) {
	server := started(t)
	c := raw(t, server)
	ns := namespace()
	settle(t, c, ns)
	s := opened(t, allow(t, c, server.Addr, "user", ns, permissions(t, ns)))
	session := s.session(bound)
	token := s.win(session, "name")
	if err := c.ACLSetUser(s.ctx, "user", "-publish").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(s.ctx, session, []backend.Lease{{Name: "name", Token: token}}); err != nil {
		t.Error(err)
	}
	if h := s.holder("name"); h.Held {
		t.Errorf("it is still held: %+v", h)
	}
	s.win(session, "name")
	if err := s.CloseSession(s.ctx, session); err != nil {
		t.Error(err)
	}
}
