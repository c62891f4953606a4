package main

import (
	"context"
	"errors"
	"testing"

	"github.com/simba-go/simba/cmd/simba/internal/child"
)

// What follows when CMD has ended, and what simba would exit with then.
func TestSettled(t *testing.T) {
	missing := &child.StartError{Name: "x", Code: 127}
	asked, cancel := context.WithCancelCause(t.Context())
	cancel(&signalled{15})
	for _, c := range []struct {
		name    string
		outcome outcome
		settled bool // without --once and --policy, and unless asked to end
		policy  bool // the same with --policy
		code    int
	}{
		{"success", outcome{}, true, false, 0},
		{"failure", outcome{exit: child.Exit{Code: 9}}, false, false, 9},
		{"killed", outcome{exit: child.Exit{Code: 137, Signal: 9}}, false, false, 137},
		{"interrupted at the terminal", outcome{exit: child.Exit{Code: 130, Interrupted: true}}, true, true, 130},
		{"lost", outcome{lost: errBoom}, false, false, 76},
		{"lost, and then it failed", outcome{exit: child.Exit{Code: 9}, lost: errBoom}, false, false, 76},
		{"it cannot start", outcome{err: missing}, true, true, 127},
		{"it could not start now", outcome{err: errBoom}, false, false, 70},
		{"it lost its guard", outcome{exit: child.Exit{Code: 143}, err: child.ErrGuardLost}, false, false, 143},
		{"asked to end before it had started", outcome{err: context.Cause(asked), asked: true}, false, false, 143},
		{"it ended well when it was told to step down", outcome{asked: true}, false, false, 0},
		{"it failed when it was told to step down", outcome{exit: child.Exit{Code: 9}, asked: true}, false, false, 9},
	} {
		running := &signals{asked: t.Context()}
		for _, x := range []struct {
			campaign campaign
			settled  bool
		}{
			{campaign{work: &work{signals: running}}, c.settled},
			{campaign{work: &work{signals: running}, policy: "restart"}, c.policy},
			{campaign{work: &work{signals: running}, once: true}, true},
			{campaign{work: &work{signals: &signals{asked: asked}}}, true},
		} {
			x.campaign.result = c.outcome
			if got := x.campaign.settled(); got != x.settled {
				t.Errorf("%s, once %v, policy %q: settled is %v, want %v", c.name, x.campaign.once, x.campaign.policy, got, x.settled)
			}
		}
		code := 0
		if err := c.outcome.error(); err != nil {
			var exit *exitError
			if !errors.As(err, &exit) {
				t.Fatalf("%s: %v has no exit code", c.name, err)
			}
			code = exit.code
		}
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.code)
		}
	}
}
