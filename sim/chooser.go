package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/simba-go/simba/actor"
)

// Chooser makes the decisions of a world. The label says what for. Decisions are
// arranged so that 0, and no, is the calm one: a chooser that shrinks a failure
// towards small numbers shrinks it towards a world in which little happens.
type Chooser interface {
	// Choose returns a number in [0, n), for n > 0.
	Choose(label string, n int64) int64
	// Once decides whether something happens that does so once in odds times, for
	// odds > 0.
	Once(label string, odds int64) bool
}

// ChooserFunc is a function that is a [Chooser]. What happens once in odds times
// happens for its last number.
type ChooserFunc func(label string, n int64) int64

// Choose calls f.
func (f ChooserFunc) Choose(label string, n int64) int64 { return f(label, n) }

// Once calls f.
func (f ChooserFunc) Once(label string, odds int64) bool { return f(label, odds) == odds-1 }

// Calm returns a chooser for which everything is calm.
func Calm() Chooser { return Decisions(nil).Chooser() }

// Random returns a chooser that draws from a pseudo-random sequence. The same seed
// makes the same choices.
func Random(seed uint64) Chooser {
	r := rand.New(rand.NewPCG(seed, 0))
	return ChooserFunc(func(_ string, n int64) int64 { return r.Int64N(n) })
}

// Decision is a choice other than the calm one: of all choices that were made under
// Label about the same, in a phase of the world, counted from 1, the one with this
// Number was Value.
type Decision struct {
	Phase  int    `json:"phase,omitempty"` // 0 until the first [World.NextPhase]
	Label  string `json:"label"`
	About  string `json:"about,omitempty"` // a message or an actor
	Number int    `json:"number"`
	Value  int64  `json:"value"`
}

// Decisions are all that makes a world other than calm: together with the code they
// make it happen again.
type Decisions []Decision

// Recording is a [Chooser] that remembers the decisions of another one.
type Recording struct {
	// Decisions are those that were made so far.
	Decisions Decisions
	// Choices counts all choices, also the calm ones.
	Choices int

	from Chooser
	counter
}

// Record returns a chooser that chooses as from does, and remembers it.
func Record(from Chooser) *Recording { return &Recording{from: from, counter: newCounter()} }

// Choose passes the choice of the other one on.
func (r *Recording) Choose(label string, n int64) int64 {
	v := r.from.Choose(label, n)
	r.record(label, v)
	return v
}

// Once passes the choice of the other one on.
func (r *Recording) Once(label string, odds int64) bool {
	if r.from.Once(label, odds) {
		r.record(label, 1)
		return true
	}
	r.record(label, 0)
	return false
}

func (r *Recording) record(label string, v int64) {
	r.Choices++
	if c := r.count(label); v != 0 {
		r.Decisions = append(r.Decisions, Decision{c.phase, c.label, c.about, c.number, v})
	}
}

// Scope passes the scope on to a chooser that counts as well.
func (r *Recording) Scope(phase int, about string) {
	r.counter.Scope(phase, about)
	if from, ok := r.from.(scoped); ok {
		from.Scope(phase, about)
	}
}

// Chooser returns one that makes these decisions again. What they do not say is
// calm. A decision goes by its label and number, and not by its place among all
// choices: so to leave one out hardly changes what the others are about. A value
// that is too large for its choice is the largest possible.
func (ds Decisions) Chooser() Chooser {
	r := &replay{values: make(map[choice]int64, len(ds)), counter: newCounter()}
	for _, d := range ds {
		r.values[choice{d.Phase, d.Label, d.About, d.Number}] = d.Value
	}
	return r
}

// replay is the chooser of some decisions.
type replay struct {
	values map[choice]int64
	counter
}

// choice is what a decision goes by.
type choice struct {
	phase        int
	label, about string
	number       int
}

// scoped is a [Chooser] that counts choices, and is told what they are about.
type scoped interface {
	Scope(phase int, about string)
}

// counter tells choices apart: of each phase, those under one label and about the same.
// So to leave a decision out does not change which choices the others mean, as long
// as they are of another phase or about something else.
type counter struct {
	phase  int
	about  string
	number map[choice]int // of the last choice, by what is the same for all
}

func newCounter() counter { return counter{number: make(map[choice]int)} }

// Scope says what is chosen from now on.
func (c *counter) Scope(phase int, about string) {
	if phase != c.phase {
		clear(c.number)
	}
	c.phase, c.about = phase, about
}

func (c *counter) count(label string) choice {
	k := choice{phase: c.phase, label: label, about: c.about}
	c.number[k]++
	k.number = c.number[k]
	return k
}

// Choose returns what was decided.
func (r *replay) Choose(label string, n int64) int64 {
	return min(max(r.values[r.count(label)], 0), n-1)
}

// Once returns what was decided.
func (r *replay) Once(label string, odds int64) bool {
	c := r.count(label)
	return odds == 1 || r.values[c] > 0
}

// NextPhase begins another phase of the world: what happens in one does not change
// which choices the decisions about the next one mean.
func (w *World) NextPhase() {
	w.phase++
	w.about("")
}

// about says what the choices that follow are about.
func (w *World) about(what string) {
	if s, ok := w.chooser.(scoped); ok {
		s.Scope(w.phase, what)
	}
}

// aboutMessage says that the choices that follow are about a message.
func (w *World) aboutMessage(msg actor.Message, from, to fmt.Stringer) {
	if _, ok := w.chooser.(scoped); ok {
		kind := fmt.Sprintf("%T", msg)
		w.about(fmt.Sprintf("%s from %s to %s", kind[strings.LastIndexByte(kind, '.')+1:], from, to))
	}
}

// Once decides that something happens once in odds times; never for odds of zero.
func (w *World) Once(label string, odds int64) (yes bool) {
	if odds > 0 {
		w.decide(func() { yes = w.chooser.Once(label, odds) })
	}
	return yes
}

// Choose draws a decision from the world's chooser.
func (w *World) Choose(label string, n int64) (chosen int64) {
	w.decide(func() { chosen = w.chooser.Choose(label, n) })
	return chosen
}

// decide notes whether the chooser has given up, by a panic.
func (w *World) decide(f func()) {
	gaveUp := true
	defer func() { w.gaveUp = gaveUp }()
	f()
	gaveUp = false
}
