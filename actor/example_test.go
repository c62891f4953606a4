package actor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
)

// counter counts. Its state needs no lock, for only the actor touches it.
type counter struct{ n int }

type (
	add int      // adds to the count
	get struct{} // asks for it
)

func (c *counter) Receive(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case add:
		c.n += int(m)
	case *actor.Request:
		if _, ok := m.Message.(get); ok {
			ctx.Send(m.ReplyTo(), c.n)
		}
	}
}

// An actor that counts, and is asked for the count.
func Example() {
	system := actor.NewSystem()
	defer system.Shutdown(context.Background())

	ref := system.Spawn("counter", &counter{})
	ref.Tell(add(40))
	ref.Tell(add(2))

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	n, err := actor.Ask(ctx, ref, get{})
	fmt.Println(n, err)
	// Output: 42 <nil>
}

// monitor pings another actor at intervals, until that does not answer in time or
// has ended.
type monitor struct {
	target  actor.Ref
	timeout actor.Timer
	over    chan<- struct{}
}

type (
	pingNow struct{}
	ping    struct{}
	pong    struct{}
	noPong  struct{}
)

func (m *monitor) Receive(ctx actor.Context, msg actor.Message) {
	switch msg := msg.(type) {
	case actor.Started, pingNow:
		ctx.Send(m.target, actor.NewRequest(ping{}, ctx.Self()))
		m.timeout = ctx.After(10*time.Second, noPong{})
	case pong:
		m.timeout.Stop() // for certain: noPong is not delivered even if it was due
		ctx.After(10*time.Millisecond, pingNow{})
	case noPong:
		fmt.Println(m.target, "does not answer")
		ctx.Stop()
	case actor.Unanswered:
		fmt.Println(msg.To, "has ended")
		ctx.Stop()
	case actor.Stopping:
		close(m.over)
	}
}

// Actors that ask each other, with a time limit.
func ExampleNewRequest() {
	system := actor.NewSystem()
	defer system.Shutdown(context.Background())

	pings := 0
	target := system.Spawn("target", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if r, ok := msg.(*actor.Request); ok {
			pings++
			fmt.Println("ping", pings)
			ctx.Send(r.ReplyTo(), pong{})
			if pings == 3 {
				ctx.Stop()
			}
		}
	}))
	over := make(chan struct{})
	system.Spawn("monitor", &monitor{target: target, over: over})
	<-over
	// Output:
	// ping 1
	// ping 2
	// ping 3
	// target has ended
}

// Work that blocks runs elsewhere, and its result comes back as a message.
func ExampleContext_Go() {
	system := actor.NewSystem()
	done := make(chan struct{})
	system.Spawn("reader", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		switch msg := msg.(type) {
		case actor.Started:
			ctx.Go(func(context.Context) actor.Message {
				return "what a slow disk says" // ctx ends with the actor
			})
		case string:
			fmt.Println(msg)
			close(done)
		}
	}))
	<-done
	fmt.Println(system.Shutdown(context.Background()))
	// Output:
	// what a slow disk says
	// <nil>
}

// light is a traffic light's state, and signal what moves it.
type (
	light  uint8
	signal uint8
)

const (
	red light = iota
	green
)

const (
	goOn signal = iota
	halt
)

func (l light) String() string  { return [...]string{"RED", "GREEN"}[l] }
func (s signal) String() string { return [...]string{"go on", "halt"}[s] }

// A state machine as a table, its diagram, and what happens to an event that the
// table does not have.
func ExampleTable() {
	table := actor.NewTable("light", red,
		actor.Row[light, signal]{From: []light{red}, On: goOn, To: green},
		actor.Row[light, signal]{From: []light{red, green}, On: halt, To: red},
	)
	fmt.Print(table.Mermaid())

	m := actor.NewMachine(table)
	fmt.Println(m.Step(goOn), m.State())
	fmt.Println(m.Step(goOn), m.State())
	// Output:
	// stateDiagram-v2
	//     [*] --> RED
	//     RED --> GREEN: go on
	//     RED --> RED: halt
	//     GREEN --> RED: halt
	// <nil> GREEN
	// actor: machine light has no event go on in state GREEN GREEN
}
