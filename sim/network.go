package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Weather is how badly a network behaves. The zero value is a perfect one.
type Weather struct {
	// Delay is how long a message normally takes; nil means no time. Each one draws
	// its own, so that they overtake each other.
	Delay Distribution
	// Lose: one in so many messages is lost, arrives twice, or takes as long as
	// Stall says; none for zero.
	Lose, Double, Late int64
	// Stall is how long late messages take.
	Stall Distribution
}

// Net is a [Network] with a Weather, whose faults are drawn from the world's chooser.
type Net struct {
	Weather Weather

	world *World
	cuts  map[link]int // how often it was cut and not healed
	drops []drop
}

type link struct{ from, to *Node }

// drop loses one message.
type drop struct {
	link
	which func(msg actor.Message) bool
}

// NewNet makes a fault-free Net the world's network.
func (w *World) NewNet() *Net {
	n := &Net{world: w, cuts: make(map[link]int)}
	w.Network = n.deliver
	return n
}

// Cut loses all that two machines send each other from now on. What is under way
// still arrives.
func (n *Net) Cut(a, b *Node) {
	n.CutOneWay(a, b)
	n.CutOneWay(b, a)
}

// CutOneWay loses all that one machine sends the other from now on. What was cut
// twice has to be healed twice.
func (n *Net) CutOneWay(from, to *Node) {
	n.cuts[link{from, to}]++
	n.world.faultTo(from.name, to.name, "cut", "nothing gets from %s to %s any more", from, to)
}

// Heal ends a cut between two machines.
func (n *Net) Heal(a, b *Node) {
	n.HealOneWay(a, b)
	n.HealOneWay(b, a)
}

// HealOneWay ends a cut of what one machine sends the other.
func (n *Net) HealOneWay(from, to *Node) {
	if l := (link{from, to}); n.cuts[l] > 1 {
		n.cuts[l]--
	} else if n.cuts[l] == 1 {
		delete(n.cuts, l)
		n.world.faultTo(from.name, to.name, "healed", "messages get from %s to %s again", from, to)
	}
}

// DropNext loses the next message from one machine to the other that is one of
// which.
func (n *Net) DropNext(from, to *Node, which func(msg actor.Message) bool) {
	n.drops = append(n.drops, drop{link{from, to}, which})
}

// Calm ends all cuts, and makes the weather perfect.
func (n *Net) Calm() {
	cuts := slices.SortedFunc(maps.Keys(n.cuts), func(a, b link) int {
		return cmp.Or(cmp.Compare(a.from.name, b.from.name), cmp.Compare(a.to.name, b.to.name))
	})
	for _, l := range cuts {
		n.world.faultTo(l.from.name, l.to.name, "healed", "messages get from %s to %s again", l.from, l.to)
	}
	clear(n.cuts)
	n.drops = nil
	n.Weather = Weather{}
}

func (n *Net) deliver(arrivals []time.Duration, from, to *Node, msg actor.Message) []time.Duration {
	w := n.world
	if _, ok := msg.(*backend.WatchRequest); ok {
		// Who is told of what is kept by the part of a backend that lives in the
		// client's own process. Only what it is told may be lost.
		return append(arrivals, 0)
	}
	w.aboutMessage(msg, from, to)
	defer w.about("")
	if n.cuts[link{from, to}] > 0 || n.dropped(link{from, to}, msg) || w.Once("lose", n.Weather.Lose) {
		return arrivals
	}
	arrivals = append(arrivals, n.delay())
	if w.Once("double", n.Weather.Double) {
		arrivals = append(arrivals, n.delay())
	}
	return arrivals
}

func (n *Net) dropped(l link, msg actor.Message) bool {
	for i, d := range n.drops {
		if d.link == l && d.which(msg) {
			n.drops = append(n.drops[:i], n.drops[i+1:]...)
			return true
		}
	}
	return false
}

func (n *Net) delay() time.Duration {
	if n.world.Once("late", n.Weather.Late) {
		return n.world.Draw("stall", n.Weather.Stall)
	}
	return n.world.Draw("delay", n.Weather.Delay)
}
