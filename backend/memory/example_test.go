package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// A store arbitrates between the sessions of one process. Clients use it through
// an election or a lock; this is what they do underneath.
func ExampleStore() {
	ctx := context.Background()
	store := memory.New()
	alice, _ := store.Open(ctx, 15*time.Second, "alice")
	bob, _ := store.Open(ctx, 15*time.Second, "bob")

	won, _ := store.Acquire(ctx, alice.Session, []string{"billing"}, false)
	fmt.Println("alice won:", won[0].Won)
	lost, _ := store.Acquire(ctx, bob.Session, []string{"billing"}, false)
	fmt.Println("bob won:", lost[0].Won, "- held by", lost[0].Holder.Label)

	_ = store.CloseSession(ctx, alice.Session)
	next, _ := store.Acquire(ctx, bob.Session, []string{"billing"}, false)
	fmt.Println("bob won:", next[0].Won, "- with a higher token:", next[0].Token > won[0].Token)
	// Output:
	// alice won: true
	// bob won: false - held by alice
	// bob won: true - with a higher token: true
}

// The model has no clock: the caller says what time it is.
func ExampleModel() {
	model := memory.NewModel(memory.Config{})
	start := actor.Instant(0)
	_, _ = model.Open(start, "session-1", 10*time.Second, "alice")
	_, _ = model.Acquire(start, "session-1", []string{"billing"}, false)

	later := start.Add(10 * time.Second)
	_, err := model.Renew(later, "session-1", 0, false)
	fmt.Println(err == backend.ErrExpired, model.Inspect(later, []string{"billing"})[0].Held)
	// Output: true false
}
