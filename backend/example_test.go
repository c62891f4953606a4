package backend_test

import (
	"context"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// printer is an actor that opens a session and prints what it is granted.
type printer struct {
	backend actor.Ref
	done    chan struct{}
}

func (p printer) Receive(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case actor.Started:
		call := backend.Call{ID: 1, ReplyTo: ctx.Self(), Timeout: time.Second}
		ctx.Send(p.backend, &backend.OpenRequest{Call: call, Lease: 15 * time.Second, Label: "me"})
	case *backend.OpenAnswer:
		fmt.Println("answer to", m.ID, "grants", m.Grant.Remaining, m.Err)
		close(p.done)
	}
}

// Serve makes an actor of any driver. This one is the embedded store.
func ExampleServe() {
	system := actor.NewSystem()
	store := system.Spawn("backend", backend.Serve(memory.New()))
	done := make(chan struct{})
	system.Spawn("printer", printer{backend: store, done: done})
	<-done
	_ = system.Shutdown(context.Background())
	// Output: answer to 1 grants 15s <nil>
}

func ExampleCheckName() {
	fmt.Println(backend.CheckName("orders:17"))
	fmt.Println(backend.CheckName("orders/17"))
	// Output:
	// <nil>
	// simba: invalid name "orders/17": it contains '/'; a name has 1 to 128 characters of A-Z a-z 0-9 . _ : - and is not "." or ".."
}
