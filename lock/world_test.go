package lock_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// TestWorld lets machines with real sessions lock one or both of two names, in
// either order, hold them for a while and release them, while the network drops
// their messages and machines stand still.
func TestWorld(t *testing.T) {
	taken, lost := 0, 0
	for seed := range uint64(4) {
		w := newWorld(t, seed)
		for range 40 {
			u := w.users[w.random.IntN(len(w.users))]
			if w.random.IntN(2) == 0 {
				u.cut = true
				w.At(w.Now().Add(w.upTo(2*lease)), func() { u.cut = false })
			} else {
				u.node.Pause()
				w.At(w.Now().Add(w.upTo(2*lease)), u.node.Resume)
			}
			w.pass(w.upTo(lease))
		}
		w.pass(3 * lease)
		for _, u := range w.users {
			before := u.taken
			w.pass(3 * lease)
			if u.taken == before {
				t.Errorf("%v starves, although nothing is wrong any more", u.node)
			}
			taken, lost = taken+u.taken, lost+u.lost
		}
		if t.Failed() {
			t.Fatalf("with seed %d, at %v", seed, time.Duration(w.Now()))
		}
	}
	if taken < 200 || lost == 0 {
		t.Errorf("%d locks were taken, and %d terms lost", taken, lost)
	}
	t.Logf("%d locks were taken, and %d terms lost", taken, lost)
}

// TestWaiterIsWoken (scenario: many short holders): it gets the lock as soon as it
// is released, not when it would have looked again.
func TestWaiterIsWoken(t *testing.T) {
	w := newWorld(t, 1)
	w.pass(lease)
	before := w.taken()
	w.pass(time.Minute)
	// Each is held for less than a second, and there is always somebody waiting.
	if n := w.taken() - before; n < 60 {
		t.Errorf("%d locks were taken in a minute", n)
	}
}

type world struct {
	*sim.World
	t      *testing.T
	random *rand.Rand
	users  []*user
	tokens map[string]uint64
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		World: sim.NewWorld(sim.Random(seed)), t: t,
		random: rand.New(rand.NewPCG(seed, 1)), tokens: make(map[string]uint64),
	}
	w.OnReport = func(from actor.Ref, err error) { t.Errorf("%v reports: %v", from, err) }
	backend := w.NewNode("store", 0, 1).Spawn("backend", memory.NewActor(memory.NewModel(memory.Config{})))
	arrived := make(map[[2]*sim.Node]actor.Instant)
	w.Network = func(arrivals []time.Duration, from, to *sim.Node, _ actor.Message) []time.Duration {
		for _, u := range w.users {
			if u.cut && (u.node == from || u.node == to) {
				return arrivals
			}
		}
		at := max(w.Now().Add(w.upTo(20*time.Millisecond)), arrived[[2]*sim.Node{from, to}]) // in order
		arrived[[2]*sim.Node{from, to}] = at
		return append(arrivals, at.Sub(w.Now()))
	}
	for i, name := range []string{"a", "b", "c", "d"} {
		u := &user{w: w, node: w.NewNode(name, 0, 1+float64(i-1)*0.003), invalid: make(map[*term.Term]bool)}
		w.users = append(w.users, u)
		u.session = u.node.Spawn("session", session.New(session.Config{
			Params: session.Defaults(lease), Label: name, Backend: backend, Clock: u.node, Sink: observe.Discard,
		}))
		u.node.Spawn("user", u)
	}
	return w
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

func (w *world) taken() (n int) {
	for _, u := range w.users {
		n += u.taken
	}
	return n
}

// pass lets time pass, and checks after every step that no two locks of a name are
// held at once.
func (w *world) pass(d time.Duration) {
	done := false
	w.At(w.Now().Add(d), func() { done = true })
	for !done && !w.t.Failed() {
		w.Step()
		valid := make(map[string]int)
		for _, u := range w.users {
			for _, t := range u.terms {
				if !t.Valid() {
					u.invalid[t] = true
					continue
				}
				if u.invalid[t] {
					w.t.Errorf("invariant 4: the term of %q became valid again", t.Name())
				}
				if valid[t.Name()]++; valid[t.Name()] > 1 {
					w.t.Errorf("invariant 1: %q is held twice", t.Name())
				}
			}
		}
	}
}

// user takes one lock after the other.
type user struct {
	w       *world
	node    *sim.Node
	session actor.Ref
	cut     bool // from the backend
	names   []string
	lock    actor.Ref
	terms   []*term.Term // of the lock that was taken last
	invalid map[*term.Term]bool
	taken   int
	lost    int
}

// The steps of a user.
type (
	begin  struct{}
	giveUp struct{ lock actor.Ref }
	enough struct{ lock actor.Ref }
	joined struct{}
)

// addressee passes an answer on as a step of the user.
type addressee struct {
	user actor.Ref
	step func(answer any) any
}

func (a addressee) Tell(answer actor.Message) { a.user.Tell(a.step(answer)) }
func (a addressee) String() string            { return a.user.String() }

func (u *user) Receive(ctx actor.Context, msg actor.Message) {
	ask := func(to actor.Ref, msg actor.Message, step func(answer any) any) {
		ctx.Send(to, actor.NewRequest(msg, addressee{ctx.Self(), step}))
	}
	switch msg := msg.(type) {
	case actor.Started, begin:
		u.names = [][]string{{"x"}, {"y"}, {"x", "y"}, {"y", "x"}}[u.w.random.IntN(4)]
		u.lock = ctx.Spawn("lock", lock.New(lock.Config{Names: u.names, Session: u.session, Sink: u.sink}))
		ask(u.session, session.Join{Names: u.names, Owner: u.lock}, func(answer any) any {
			if answer != (session.Done{}) {
				u.w.t.Errorf("joining %q: %v", u.names, answer)
			}
			return joined{}
		})
	case joined:
		ask(u.lock, lock.Acquire{}, func(answer any) any { return answer })
		if u.w.random.IntN(5) == 0 {
			ctx.After(u.w.upTo(lease), giveUp{u.lock})
		}
	case lock.Acquired:
		u.acquired(ctx, msg)
	case giveUp:
		if msg.lock == u.lock {
			ask(u.lock, lock.Abandon{}, func(any) any { return nil })
		}
	case enough:
		ask(msg.lock, lock.Release{}, func(answer any) any { return answer })
	case actor.Exited: // released, lost or abandoned, and over
		ctx.After(u.w.upTo(time.Second), begin{})
	}
}

func (u *user) acquired(ctx actor.Context, m lock.Acquired) {
	u.taken++
	if len(m.Terms) != len(u.names) {
		u.w.t.Errorf("%d terms for %q", len(m.Terms), u.names)
	}
	u.terms = m.Terms
	for i, t := range m.Terms {
		if t.Name() != u.names[i] {
			u.w.t.Errorf("term %d of %q is of %q", i, u.names, t.Name())
		}
	}
	ctx.After(u.w.upTo(time.Second), enough{u.lock})
}

func (u *user) sink(e observe.Event) {
	switch e := e.(type) {
	case observe.Elected:
		if e.Token <= u.w.tokens[e.Name] {
			u.w.t.Errorf("invariant 3: token %d of %q after %d", e.Token, e.Name, u.w.tokens[e.Name])
		}
		u.w.tokens[e.Name] = e.Token
	case observe.Revoked:
		if !e.Reason.Voluntary() {
			u.lost++
		}
	}
}
