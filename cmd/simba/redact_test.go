package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for _, c := range []struct{ url, secret string }{
		{"postgres://user:hunter2@host/db", "hunter2"},
		{"postgres://user:p%40ss%2Fword@host/db", "p@ss/word"},
		{"postgres://user:p%40ss%2Fword@host/db", "p%40ss%2Fword"},
		{"postgres://user:a b@host:notaport/db", "a b"},
		{"redis://:s3cret@host:6379/0", "s3cret"},
		{"redis://host/0?password=s3cret&db=1", "s3cret"},
		{"postgres://host/db?sslkey=abc&sslpassword=hidden-one", "hidden-one"},
		{"mysql://user:with@sign@host/db", "with@sign"},
		{"mysql:user:with@sign@tcp(host)/db", "with@sign"},
		{"postgres:host=h user=u password=s3cret dbname=d", "s3cret"},
		{"x://u:aa@h?token=aaa", "aaa"},
	} {
		cause := fmt.Errorf("cannot use %s (%s): %w", c.url, c.secret, errBoom)
		err := redact(cause, c.url)
		if strings.Contains(err.Error(), c.secret) || !strings.Contains(err.Error(), hidden) {
			t.Errorf("%s: got %q", c.url, err)
		}
		if !errors.Is(err, errBoom) {
			t.Errorf("%s: the error does not match its cause", c.url)
		}
	}
	const plain = "sqlite:/var/lib/leases.db"
	if err := redact(fmt.Errorf("cannot use %s", plain), plain); err.Error() != "cannot use "+plain {
		t.Errorf("got %q", err)
	}
	if redact(nil, "x://u:p@h") != nil {
		t.Error("no error has become one")
	}
}

var errBoom = errors.New("boom")
