package sim

import (
	"time"

	"github.com/simba-go/simba/actor"
)

// Weather is how badly a network behaves. The zero value is a perfect one.
type Weather struct {
	// Delay is the longest time that a message normally takes. Each one draws its
	// own, so that they overtake each other.
	Delay time.Duration
	// Lose: one in so many messages is lost, arrives twice, or takes up to Stall; none
	// for zero.
	Lose, Double, Late int64
	Stall              time.Duration // the longest time that a late message takes
}

// Net is a [Network] with a Weather, whose faults are drawn from the world's chooser.
type Net struct {
	Weather Weather

	world *World
	cuts  map[link]bool
}

type link struct{ from, to *Node }

// NewNet makes a fault-free Net the world's network.
func (w *World) NewNet() *Net {
	n := &Net{world: w, cuts: make(map[link]bool)}
	w.Network = n.deliver
	return n
}

// Cut loses all that two machines send each other from now on. What is under way
// still arrives.
func (n *Net) Cut(a, b *Node) {
	n.CutOneWay(a, b)
	n.CutOneWay(b, a)
}

// CutOneWay loses all that one machine sends the other from now on.
func (n *Net) CutOneWay(from, to *Node) { n.cuts[link{from, to}] = true }

// Heal ends the cuts between two machines.
func (n *Net) Heal(a, b *Node) {
	delete(n.cuts, link{a, b})
	delete(n.cuts, link{b, a})
}

// Calm ends all cuts, and makes the weather perfect.
func (n *Net) Calm() {
	clear(n.cuts)
	n.Weather = Weather{}
}

func (n *Net) deliver(from, to *Node, _ actor.Message) []time.Duration {
	w, f := n.world, n.Weather
	if n.cuts[link{from, to}] || w.Once("lose", f.Lose) {
		return nil
	}
	delays := []time.Duration{n.delay()}
	if w.Once("double", f.Double) {
		delays = append(delays, n.delay())
	}
	return delays
}

func (n *Net) delay() time.Duration {
	longest := n.Weather.Delay
	if n.world.Once("late", n.Weather.Late) {
		longest = n.Weather.Stall
	}
	if longest <= 0 {
		return 0
	}
	return time.Duration(n.world.Choose("delay", int64(longest)+1))
}
