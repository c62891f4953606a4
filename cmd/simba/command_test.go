package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/memory"
)

// Who waits at a terminal is told for whom, and hears nothing of itself.
func TestTellHolders(t *testing.T) {
	store := memory.New()
	client := func(label string) *connection {
		t.Helper()
		c, err := simba.Open(t.Context(), store, simba.WithLabel(label), simba.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		return &connection{Client: c, closeStore: func() error { return nil }}
	}
	waiter, first, second := client("waiter"), client("first"), client("second")
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var telling sync.WaitGroup
	telling.Go(func() { tellHolders(ctx, w, waiter, "x") })

	lines := bufio.NewReader(r)
	for label, c := range map[string]*connection{"first": first, "second": second} {
		own, err := waiter.Lock(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := own.Release(ctx); err != nil {
			t.Fatal(err)
		}
		other, err := c.Lock(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("simba: \"x\" is held by %s (token %d); waiting\n", label, other.Token())
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		if err := other.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	telling.Wait()
	for _, c := range []*connection{waiter, first, second} {
		if err := c.hangUp(&signals{forced: t.Context()}); err != nil {
			t.Error(err)
		}
	}
}
