package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simba-go/simba/backend"
)

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		url, servers, namespace, user, password string
	}{
		{url: "zookeeper://h", servers: "h:2181", namespace: "/simba"},
		{url: "zookeeper://h/", servers: "h:2181", namespace: "/simba"},
		{url: "zookeeper://h1:2181,h2,10.0.0.1:99/ns", servers: "h1:2181 h2:2181 10.0.0.1:99", namespace: "/ns"},
		{url: "zookeeper://[::1]:5,[fe80::1],::2/a/b.c?tls=false", servers: "[::1]:5 [fe80::1]:2181 [::2]:2181", namespace: "/a/b.c"},
		{url: "zookeeper://u:p%40s%3As%2F@h/ns", servers: "h:2181", namespace: "/ns", user: "u", password: "p@s:s/"},
		{url: "zookeeper://u:p@ss@h?tls=0", servers: "h:2181", namespace: "/simba", user: "u", password: "p@ss"},
	} {
		servers, options, err := parseURL(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		s, err := newStore(servers, options)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		s.Close()
		if strings.Join(s.servers, " ") != c.servers || s.tree.root != c.namespace {
			t.Errorf("%s: %v %s", c.url, s.servers, s.tree.root)
		}
		if options.User != c.user || options.Password != c.password || options.TLS != nil {
			t.Errorf("%s: %+v", c.url, options)
		}
	}
}

func TestURLsThatAreWrong(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "s3cret"
	for url, want := range map[string]string{
		"redis://h":                                 "begins with zookeeper://",
		"zookeeper:h":                               "begins with zookeeper://",
		"zookeeper://":                              "no server",
		"zookeeper:///ns":                           "no server",
		"zookeeper://h1,,h2/ns":                     `the server "" must be`,
		"zookeeper://h:0/ns":                        `the server "h:0" must be`,
		"zookeeper://h:x/ns":                        `the server "h:x" must be`,
		"zookeeper://h:99999/ns":                    `the server "h:99999" must be`,
		"zookeeper://h/a//b":                        "it is empty",
		"zookeeper://h/a/":                          "it is empty",
		"zookeeper://h/a/../b":                      "it means a folder",
		"zookeeper://h/a b":                         "contains ' '",
		"zookeeper://h/zookeeper/quota":             "the servers' own",
		"zookeeper://h/" + strings.Repeat("n", 128): "it may have 128",
		"zookeeper://h?color=red":                   `"color" is not known`,
		"zookeeper://h?tls=true&tls=true":           `"tls" is there twice`,
		"zookeeper://h?tls=perhaps":                 "true or false",
		"zookeeper://h?ca=/x":                       "are for tls=true",
		"zookeeper://h?tls=true&ca=/no/such":        "no such file",
		"zookeeper://h?tls=true&ca=" + empty:        "has no certificate",
		"zookeeper://h?tls=true&cert=/no/such":      "the parameters cert and key",
		"zookeeper://h?%zz":                         "what follows the ?",
		"zookeeper://u@h":                           "belong together",
		"zookeeper://:" + secret + "@h":             "belong together",
		"zookeeper://u:" + secret + "%@h":           "two hexadecimal digits",
		"zookeeper://" + strings.Repeat("u", 65) + ":" + secret + "@h": "it may have 64",
		"zookeeper://u:1?" + secret + "@h/ns":                          "must be escaped",
		"zookeeper://u:1?tls=" + secret + "@h/ns":                      "must be escaped",
		"zookeeper://u%3A:" + secret + "@h":                            "contains a colon",
	} {
		s, err := Open(context.Background(), url)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "simba: zookeeper: ") {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the password is in %v", err)
		}
	}
	if _, err := New(context.Background(), nil, Options{}); !errors.Is(err, ErrURL) {
		t.Errorf("without servers: %v", err)
	}
	if _, err := New(context.Background(), []string{"h"}, Options{Namespace: "ns"}); !errors.Is(err, ErrURL) {
		t.Errorf("a namespace without a slash: %v", err)
	}
}

// With a user, only that user may do anything; and no password is in an error, or in what is printed.
func TestAccessLists(t *testing.T) {
	t.Parallel()
	address := alone.For(t).Addr
	namespace := freshNamespace()
	const password = "s3cr:t/@"
	url := fmt.Sprintf("zookeeper://billing:s3cr%%3At%%2F%%40@%s%s/deep", address, namespace)
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	opened, err := Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s := &store{opened, t, ctx}
	session := s.open(bound).Session
	s.win(session, "a")
	s.renew(session)
	if text := fmt.Sprintf("%+v %#v", opened, opened); strings.Contains(text, password) || strings.Contains(text, fmt.Sprintf("%#v", []byte(password))) {
		t.Errorf("the password is in %s", text)
	}
	c := s.byHand()
	if err := c.AddAuth("digest", []byte("billing:"+password)); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{s.tree.root, s.tree.leases(), s.tree.sessions(), s.tree.session(session), s.tree.lease("a"), s.tree.owner("a", session)} {
		list, _, err := c.GetACL(node)
		if err != nil || len(list) != 1 || list[0].Scheme != "digest" || !strings.HasPrefix(list[0].ID, "billing:") {
			t.Errorf("%s has the access list %v, %v", node, list, err)
		}
	}
	for _, options := range []Options{
		{Namespace: namespace + "/deep"},
		{Namespace: namespace + "/deep", User: "billing", Password: "wrong"},
		{Namespace: namespace + "/deep/below"},
	} {
		other, err := New(ctx, s.servers, options)
		if err == nil {
			other.Close()
		}
		if !errors.Is(err, ErrPermission) {
			t.Errorf("%+v: got %v", options, err)
		}
	}
	// A connection that is lost is made anew as the same user.
	o := s.sessions[session]
	conn, err := o.link.ready(ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if leases := s.renew(session).Leases; !slices.ContainsFunc(leases, func(l backend.Lease) bool { return l.Name == "a" }) {
		t.Errorf("it owns %v", leases)
	}
	s.win(session, "b")
}

// Nobody is there: the error says who was asked, and what came of it.
func TestNobodyAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), bound/200)
	defer cancel()
	_, err := New(ctx, []string{"127.0.0.1:1", "127.0.0.1:2"}, Options{})
	if !errors.Is(err, ErrConnection) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"simba: zookeeper: 127.0.0.1:1,127.0.0.1:2/simba: ", "not done", "connection refused"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
