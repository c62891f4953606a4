package actor_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/simba-go/simba/actor"
)

// note is the n-th message of a sender.
type note struct{ sender, n int }

// The count needs no lock: Receive is never called twice at the same time, which
// the race detector watches here.
func TestManySendersKeepTheirOrder(t *testing.T) {
	const senders, each = 16, 5000
	s := newSystem(t)
	var last [senders]int
	out := 0
	ref := s.Spawn("receiver", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
		if m, ok := msg.(note); ok {
			if m.n != last[m.sender]+1 {
				out++
			}
			last[m.sender] = m.n
		}
	}))
	var sending sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for n := range each {
				ref.Tell(note{sender, n + 1})
			}
		})
	}
	sending.Wait()
	s.shutdown() // behind everything
	for sender, n := range last {
		if n != each {
			t.Errorf("the last message of sender %d is %d of %d", sender, n, each)
		}
	}
	if out > 0 {
		t.Errorf("%d messages came out of order", out)
	}
}

// The same between actors, with Send.
func TestActorsSendInOrder(t *testing.T) {
	const each = 2000
	s := newSystem(t)
	j := &journal{}
	receiver := s.Spawn("receiver", j)
	var started sync.WaitGroup
	for sender := range 4 {
		started.Add(1)
		s.Spawn("sender", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Started{}) {
				for n := range each {
					ctx.Send(receiver, note{sender, n})
				}
				started.Done()
			}
		}))
	}
	started.Wait()
	s.Stop(receiver)
	s.shutdown()
	var next [4]int
	for _, msg := range j.seen {
		if m, ok := msg.(note); ok {
			if m.n != next[m.sender] {
				t.Fatalf("sender %d: got message %d, want %d", m.sender, m.n, next[m.sender])
			}
			next[m.sender]++
		}
	}
	if next != [4]int{each, each, each, each} {
		t.Errorf("received %v, want %d of each", next, each)
	}
}

// In the bubble, a Tell that waited for the receiver would be a deadlock.
func TestTellNeverWaitsForASlowReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 100_000
		s := newSystem(t)
		j := &journal{do: waitAtGates}
		ref := s.Spawn("slow", j)
		busy := make(gate)
		ref.Tell(busy)
		synctest.Wait()
		for i := range n {
			ref.Tell(i)
		}
		close(busy)
		s.shutdown()
		if got := len(j.seen); got != n+3 {
			t.Errorf("received %d messages, want %d besides Started, the gate and Stopping", got, n)
		}
	})
}

// What is sent and what arrives or dies adds up, however sends and ends race.
func TestNothingIsDroppedSilently(t *testing.T) {
	const senders, each = 4, 50
	for range 200 {
		s := newSystem(t)
		received := 0
		ref := s.Spawn("mortal", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if _, ok := msg.(note); ok {
				if received++; received == 20 {
					ctx.Stop()
				}
			}
		}))
		var sending sync.WaitGroup
		for sender := range senders {
			sending.Go(func() {
				for n := range each {
					ref.Tell(note{sender, n})
				}
			})
		}
		sending.Wait()
		s.shutdown()
		if dead := s.deadLetters(); received != 20 || received+len(dead) != senders*each {
			t.Fatalf("of %d messages %d were received and %d became dead letters", senders*each, received, len(dead))
		}
	}
}
