package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/sim"
)

func TestNetwork(t *testing.T) {
	send := func(count int, prepare func(net *sim.Net, a, b *sim.Node)) []int {
		w := sim.NewWorld(sim.Random(1))
		net := w.NewNet()
		a, b := w.NewNode("a", 0, 1), w.NewNode("b", 0, 1)
		prepare(net, a, b)
		var got []int
		to := b.Spawn("to", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
			if i, ok := msg.(int); ok {
				got = append(got, i)
			}
		}))
		a.Spawn("from", on(&recorder{}, func(ctx actor.Context) {
			for i := range count {
				ctx.Send(to, i)
			}
		}))
		w.RunFor(time.Second)
		return got
	}
	if got := send(100, func(*sim.Net, *sim.Node, *sim.Node) {}); len(got) != 100 || !slices.IsSorted(got) {
		t.Errorf("a perfect network delivers %v", got)
	}
	if got := send(1000, func(net *sim.Net, _, _ *sim.Node) { net.Weather.Lose = 4 }); len(got) < 650 || len(got) > 850 {
		t.Errorf("with one in 4 lost, %d of 1000 arrive", len(got))
	}
	if got := send(1000, func(net *sim.Net, _, _ *sim.Node) { net.Weather.Double = 4 }); len(got) < 1150 || len(got) > 1350 {
		t.Errorf("with one in 4 doubled, %d of 1000 arrive", len(got))
	}
	if got := send(100, func(net *sim.Net, _, _ *sim.Node) { net.Weather.Delay = sim.Uniform(0, time.Millisecond) }); len(got) != 100 || slices.IsSorted(got) {
		t.Errorf("with delays, %v arrive, want them out of order", got)
	}
	if got := send(1000, func(net *sim.Net, _, _ *sim.Node) {
		net.Weather = sim.Weather{Late: 4, Stall: sim.Uniform(time.Minute, time.Hour)}
	}); len(got) < 650 || len(got) > 850 {
		t.Errorf("with one in 4 stalled, %d of 1000 arrive soon", len(got))
	}
	if got := send(10, func(net *sim.Net, _, _ *sim.Node) { net.Weather = sim.Weather{Late: 1} }); len(got) != 10 {
		t.Errorf("without a stall, late messages are %v", got)
	}
	if got := send(1, func(net *sim.Net, a, b *sim.Node) { net.Cut(b, a) }); len(got) != 0 {
		t.Errorf("through a cut, %v arrive", got)
	}
	if got := send(1, func(net *sim.Net, a, b *sim.Node) { net.CutOneWay(b, a) }); len(got) != 1 {
		t.Errorf("through a cut of the other direction, %v arrive", got)
	}
	if got := send(1, func(net *sim.Net, a, b *sim.Node) { net.Cut(a, b); net.Heal(b, a) }); len(got) != 1 {
		t.Errorf("after a cut was healed, %v arrive", got)
	}
	if got := send(1, func(net *sim.Net, a, b *sim.Node) { net.Cut(a, b); net.Weather.Lose = 1; net.Calm() }); len(got) != 1 {
		t.Errorf("in the calm, %v arrive", got)
	}
}

// wire is two machines, and what the one has received of the other.
type wire struct {
	*sim.World
	net      *sim.Net
	from, to *sim.Node
	sender   actor.Ref
	receiver actor.Ref
	got      []actor.Message
}

func newWire() *wire {
	w := &wire{World: sim.NewWorld(sim.Random(1))}
	w.net, w.from, w.to = w.NewNet(), w.NewNode("from", 0, 1), w.NewNode("to", 0, 1)
	w.receiver = w.to.Spawn("receiver", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
		if _, ok := msg.(actor.Started); !ok {
			w.got = append(w.got, msg)
		}
	}))
	w.sender = w.from.Spawn("sender", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if _, ok := msg.(actor.Started); !ok {
			ctx.Send(w.receiver, msg)
		}
	}))
	w.RunFor(0)
	return w
}

// gets reports which messages arrive within a second.
func (w *wire) gets(msgs ...actor.Message) []actor.Message {
	for _, msg := range msgs {
		w.sender.Tell(msg)
	}
	w.RunFor(time.Second)
	got := w.got
	w.got = nil
	return got
}

func (w *wire) want(t *testing.T, when string, want ...actor.Message) {
	t.Helper()
	if got := w.gets(1, 2, 3); !slices.Equal(got, want) {
		t.Errorf("%s, of 1, 2 and 3 arrive %v, want %v", when, got, want)
	}
}

// TestDropNext: one message is lost for each time that it was asked for, of those that
// were meant, in the direction that was meant.
func TestDropNext(t *testing.T) {
	is := func(n int) func(actor.Message) bool { return func(msg actor.Message) bool { return msg == n } }
	all := func(actor.Message) bool { return true }
	w := newWire()
	w.net.DropNext(w.from, w.to, is(2))
	w.want(t, "with the next 2 dropped", 1, 3)
	w.want(t, "after that", 1, 2, 3)
	w.net.DropNext(w.to, w.from, all)
	w.want(t, "with a drop of the other direction", 1, 2, 3)
	w.net.DropNext(w.from, w.to, all)
	w.net.DropNext(w.from, w.to, all)
	w.want(t, "with the next two dropped", 3)
	w.net.DropNext(w.from, w.to, is(4))
	w.want(t, "with the next 4 dropped", 1, 2, 3)
	w.net.DropNext(w.from, w.to, all)
	w.net.Calm()
	w.want(t, "in the calm", 1, 2, 3)
}

// TestCuts: what was cut twice has to be healed twice, each direction by itself, and
// what was not cut cannot be healed in advance.
func TestCuts(t *testing.T) {
	w := newWire()
	w.net.Heal(w.from, w.to)
	w.net.CutOneWay(w.from, w.to)
	w.net.Cut(w.to, w.from)
	w.want(t, "cut twice")
	w.net.HealOneWay(w.to, w.from)
	w.net.HealOneWay(w.from, w.to)
	w.want(t, "healed once")
	w.net.HealOneWay(w.to, w.from)
	w.want(t, "healed in the other direction")
	w.net.HealOneWay(w.from, w.to)
	w.want(t, "healed twice", 1, 2, 3)
	w.net.CutOneWay(w.from, w.to)
	w.net.CutOneWay(w.from, w.to)
	w.net.Calm()
	w.want(t, "in the calm", 1, 2, 3)
	w.net.Cut(w.from, w.to)
	w.want(t, "cut after the calm")
}

// What is under way when a connection is cut still arrives, also at a machine that has
// been restarted, where nobody wants it any more.
func TestUnderWay(t *testing.T) {
	w := newWire()
	w.net.Weather.Delay = sim.Constant(500 * time.Millisecond)
	w.In(100*time.Millisecond, func() { w.net.Cut(w.from, w.to) })
	w.want(t, "cut after they were sent", 1, 2, 3)
	w.net.Calm()
	w.net.Weather.Delay = sim.Constant(500 * time.Millisecond)
	w.In(100*time.Millisecond, w.to.Crash)
	w.want(t, "after a crash")
	if w.DeadLetters() != 3 {
		t.Errorf("%d dead letters, want 3", w.DeadLetters())
	}
}

// TestWatchRequests: they are kept by the part of a backend that lives in the client,
// so none is lost, doubled or late.
func TestWatchRequests(t *testing.T) {
	w := newWire()
	w.net.Weather = sim.Weather{Lose: 1, Double: 1, Late: 1, Stall: sim.Constant(time.Hour)}
	w.net.Cut(w.from, w.to)
	w.net.DropNext(w.from, w.to, func(actor.Message) bool { return true })
	request := &backend.WatchRequest{Add: []string{"x"}}
	if got := w.gets(request, &backend.Vacated{}, request); !slices.Equal(got, []actor.Message{request, request}) {
		t.Errorf("of two WatchRequests arrive %v", got)
	}
}

// TestOnTravel: whoever asks is told of each message between machines, and when it
// arrives.
func TestOnTravel(t *testing.T) {
	w := newWire()
	w.net.Weather = sim.Weather{Double: 1, Delay: sim.Constant(time.Millisecond)}
	var told [][]time.Duration
	w.OnTravel(func(from, to *sim.Node, _ actor.Message, arrivals []time.Duration) {
		if from != w.from || to != w.to {
			t.Errorf("a message goes from %v to %v", from, to)
		}
		told = append(told, slices.Clone(arrivals))
	})
	w.gets(1)
	w.net.Cut(w.from, w.to)
	w.gets(2)
	if len(told) != 2 || !slices.Equal(told[0], []time.Duration{time.Millisecond, time.Millisecond}) || len(told[1]) != 0 {
		t.Errorf("messages arrive after %v, want one twice after 1ms and one never", told)
	}
}
