package servers

import (
	"context"
	"testing"
	"time"
)

// An ensemble elects another leader when one is killed, and takes it back.
func TestEnsemble(t *testing.T) {
	e, err := NewEnsemble(3, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	first, err := e.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	killed := e.Servers[first-1]
	killed.Kill()
	for first = 0; first == 0; first, err = e.Leader(ctx) {
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := killed.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if len(e.Addrs()) != 3 {
		t.Error(e.Addrs())
	}
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
}
