package actor_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/internal/ratio"
)

type tick struct{}

// BenchmarkTell compares Tell with a send on a bare buffered channel, in the
// shapes in which actors are told things.
func BenchmarkTell(b *testing.B) {
	b.Run("stream", func(b *testing.B) { benchmarkTell(b, 1) })
	b.Run("fan-in", func(b *testing.B) { benchmarkTell(b, 8) })
	b.Run("ping-pong", benchmarkPingPong)
}

// benchmarkTell has senders goroutines send to one receiver.
func benchmarkTell(b *testing.B, senders int) {
	const capacity = 1024
	var msg actor.Message = &tick{}
	done := make(chan struct{})
	want := 0

	system := actor.NewSystem()
	got := 0
	counter := system.Spawn("counter", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
		if _, ok := msg.(*tick); ok {
			if got++; got == want {
				got = 0
				done <- struct{}{}
			}
		}
	}))
	bare := make(chan actor.Message, capacity)
	go func() {
		n := 0
		for range bare {
			if n++; n == want {
				n = 0
				done <- struct{}{}
			}
		}
	}()
	defer close(bare)
	defer system.Shutdown(context.Background())

	send := func(n int, one func()) {
		want = n
		if senders == 1 {
			for range n {
				one()
			}
		} else {
			for range senders {
				go func() {
					for range n / senders {
						one()
					}
				}()
			}
		}
		<-done
	}
	ratio.Report(b, 8*capacity,
		func(n int) { send(n, func() { counter.Tell(msg) }) },
		func(n int) { send(n, func() { bare <- msg }) })
}

// benchmarkPingPong has two receivers wake each other for every message.
func benchmarkPingPong(b *testing.B) {
	var msg actor.Message = &tick{}
	done := make(chan struct{})
	left := 0

	system := actor.NewSystem()
	defer system.Shutdown(context.Background())
	var players [2]actor.Ref
	var ready sync.WaitGroup
	ready.Add(2)
	for i := range players {
		players[i] = system.Spawn("player", actor.BehaviorFunc(func(ctx actor.Context, m actor.Message) {
			switch m.(type) {
			case actor.Started:
				ready.Done()
			case *tick:
				if left--; left <= 0 {
					done <- struct{}{}
					return
				}
				ctx.Send(players[1-i], msg)
			}
		}))
	}
	ready.Wait()
	bare := [2]chan actor.Message{make(chan actor.Message, 16), make(chan actor.Message, 16)}
	for i := range bare {
		go func() {
			for m := range bare[i] {
				if left--; left <= 0 {
					done <- struct{}{}
					continue
				}
				bare[1-i] <- m
			}
		}()
		defer close(bare[i])
	}
	ratio.Report(b, 10_000,
		func(n int) { left = n; players[0].Tell(msg); <-done },
		func(n int) { left = n; bare[0] <- msg; <-done })
}

// BenchmarkAsk compares Ask under a deadline with a round trip over a bare
// channel and a reply channel that is made once.
func BenchmarkAsk(b *testing.B) {
	var msg actor.Message = &tick{}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()

	system := actor.NewSystem()
	defer system.Shutdown(context.Background())
	echo := system.Spawn("echo", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if r, ok := msg.(*actor.Request); ok {
			ctx.Send(r.ReplyTo(), r.Message)
		}
	}))

	type request struct {
		msg   actor.Message
		reply chan actor.Message
	}
	bare := make(chan request, 16)
	defer close(bare)
	go func() {
		for r := range bare {
			r.reply <- r.msg
		}
	}()
	reply := make(chan actor.Message, 1)

	ratio.Report(b, 10_000,
		func(n int) {
			for range n {
				if _, err := actor.Ask(ctx, echo, msg); err != nil {
					b.Fatal(err)
				}
			}
		},
		func(n int) {
			for range n {
				bare <- request{msg, reply}
				<-reply
			}
		})
}

// BenchmarkIdleActor weighs an actor that has nothing to do, with its goroutine
// and its stack.
func BenchmarkIdleActor(b *testing.B) {
	const actors = 100_000
	before := withoutActors()
	for b.Loop() {
		system := actor.NewSystem()
		refs := make([]actor.Ref, 0, actors)
		for range actors {
			refs = append(refs, system.Spawn("idle", &idle{}))
		}
		for _, ref := range refs {
			ref.Tell(&tick{})
			if _, err := actor.Ask(context.Background(), ref, &tick{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(memory()-before)/actors, "B/actor")
		if err := system.Shutdown(context.Background()); err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(refs)
	}
	b.ReportMetric(0, "ns/op")
}

// withoutActors is measured once in the life of the process: the runtime keeps
// what it needs for a goroutine when that has ended, and gives it to the next.
var withoutActors = sync.OnceValue(memory)

type idle struct{ seen int }

func (i *idle) Receive(ctx actor.Context, msg actor.Message) {
	i.seen++
	if r, ok := msg.(*actor.Request); ok {
		ctx.Send(r.ReplyTo(), r.Message)
	}
}

// memory is what the heap and the stacks hold once the garbage is gone. The
// second collection is for the stacks, which the first one shrinks.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
