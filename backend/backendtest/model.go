package backendtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// modelCheck is the name of the comparison with the model.
const modelCheck = "BehavesLikeTheModel"

// compareWithModel lets the driver and the reference model carry out the same
// random operations, and compares the answers one by one. Ids, tokens and
// revisions are each store's own, so what is compared is what they stand for: the
// same token exactly where the model has the same, a greater one where it has a
// new one. If the store's time can be moved, time passes.
func compareWithModel(tb testing.TB, c Config) {
	var s *suite
	scope := &scope{TB: tb}
	defer func() { scope.end() }()
	runs := 0
	rapid.Check(tb, func(t *rapid.T) {
		// Opening a store may be the most expensive part, so runs share one, with
		// names of their own. After a failure, that store says nothing any more.
		if s == nil {
			scope.end()
			s = newSuite(scope, c)
		}
		shared := s
		s = nil
		runs++
		m := newComparison(shared, fmt.Sprint(runs))
		m.open(t)
		m.open(t)
		t.Repeat(m.actions())
		m.end(t)
		s = shared
	})
}

// scope is a [testing.TB] whose cleanups run when end is called.
type scope struct {
	testing.TB
	cleanups []func()
}

func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scope) end() {
	for _, f := range slices.Backward(s.cleanups) {
		defer f()
	}
	s.cleanups = nil
}

// comparison is a driver beside the model.
type comparison struct {
	suite    *suite
	model    *memory.Model
	now      actor.Instant // the model's time
	names    []string      // that sessions compete for
	sessions []*pair
	tokens   map[string][]tokenPair // the tokens of each name, in the order of its terms
}

// pair is a session of both. What is the driver's is called theirs, and what is
// the model's ours.
type pair struct {
	driver       backend.Driver
	theirs, ours string
	asked        time.Duration
	expires      actor.Instant
	known        []revision // complete lists that it was given
}

type tokenPair struct{ theirs, ours uint64 }

type revision struct {
	theirs uint64
	leases []backend.Lease // theirs
}

// maxLiving is how many living sessions compete at a time.
const maxLiving = 3

func newComparison(s *suite, run string) *comparison {
	m := &comparison{suite: s, model: memory.NewModel(memory.Config{}), tokens: make(map[string][]tokenPair)}
	for _, name := range []string{"a", "A", "b", "c.d", "e:1"} {
		m.names = append(m.names, run+name)
	}
	m.sessions = []*pair{{driver: s.drivers[0], theirs: "ghost", ours: "ghost"}} // one that never was
	return m
}

func (m *comparison) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"open":    m.open,
		"renew":   func(t *rapid.T) { m.renew(t, false) },
		"list":    func(t *rapid.T) { m.renew(t, true) },
		"acquire": func(t *rapid.T) { m.acquire(t, false) },
		"all":     func(t *rapid.T) { m.acquire(t, true) },
		"release": m.release,
		"free":    m.free,
		"close":   m.close,
		"note":    m.note,
		"inspect": func(t *rapid.T) {
			m.inspect(t, rapid.SliceOfN(rapid.SampledFrom(m.names), 0, 8).Draw(t, "names"))
		},
		"": func(t *rapid.T) { m.inspect(t, nil) }, // after each of the others
	}
	if m.suite.store.Advance != nil {
		actions["pass"] = m.pass
	}
	return actions
}

// timely reports whether sessions expire in this comparison.
func (m *comparison) timely() bool { return m.suite.store.Advance != nil }

func (m *comparison) living() []*pair {
	return slices.DeleteFunc(slices.Clone(m.sessions), func(p *pair) bool { return !m.now.Before(p.expires) })
}

// session draws a session: most of the time one that lives.
func (m *comparison) session(t *rapid.T) *pair {
	from := m.living()
	if len(from) == 0 || rapid.IntRange(0, 4).Draw(t, "any") == 4 {
		from = m.sessions
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, "session")]
}

// outcome compares whether a session has expired, and reports whether it is alive.
func outcome(t *rapid.T, call string, p *pair, theirs, ours error) bool {
	t.Helper()
	switch {
	case theirs != nil && !errors.Is(theirs, backend.ErrExpired):
		t.Fatalf("%s by %s: %v", call, p.ours, theirs)
	case (theirs == nil) != (ours == nil):
		t.Fatalf("R2: %s by %s returned %v, and by the model %v", call, p.ours, theirs, ours)
	}
	return ours == nil
}

// remaining compares the time that a session has left.
func (m *comparison) remaining(t *rapid.T, theirs, ours time.Duration, p *pair) {
	t.Helper()
	if theirs <= 0 || theirs > p.asked {
		t.Fatalf("%s has %v left of a lease of %v", p.ours, theirs, p.asked)
	}
	// A store may count in milliseconds, but it must not promise too much.
	if m.timely() && (theirs > ours || theirs <= ours-time.Millisecond) {
		t.Fatalf("%s has %v left in place of %v", p.ours, theirs, ours)
	}
}

// translate turns the model's leases into the driver's.
func (m *comparison) translate(t *rapid.T, ours []backend.Lease) []backend.Lease {
	t.Helper()
	theirs := make([]backend.Lease, len(ours))
	for i, l := range ours {
		theirs[i] = backend.Lease{Name: l.Name, Token: m.theirToken(t, l.Name, l.Token)}
	}
	return sorted(theirs)
}

// theirToken returns the driver's token for one of the model's.
func (m *comparison) theirToken(t *rapid.T, name string, ours uint64) uint64 {
	t.Helper()
	for _, pair := range m.tokens[name] {
		if pair.ours == ours {
			return pair.theirs
		}
	}
	t.Fatalf("the model's token %d of %q is nobody's", ours, name)
	return 0
}

// won compares the tokens of a win.
// holder compares what is said about the owner of a name.
func (m *comparison) holder(t *rapid.T, theirs, ours backend.Holder) {
	t.Helper()
	want := ours
	if ours.Held {
		i := slices.IndexFunc(m.sessions, func(p *pair) bool { return p.ours == ours.Session })
		p := m.sessions[i]
		m.remaining(t, theirs.Remaining, ours.Remaining, p)
		want.Session, want.Token, want.Remaining = p.theirs, m.theirToken(t, ours.Name, ours.Token), theirs.Remaining
	}
	if theirs != want {
		t.Fatalf("the holder of %q is said to be %+v in place of %+v", ours.Name, theirs, want)
	}
}

// free releases some of what the session owns.
// release releases what anybody may own, or owned once.
// anyToken returns a token that the name has or had, or will not have before its
// next term.
// end leaves nothing behind for the next run.
func (m *comparison) end(t *rapid.T) {
	for _, p := range m.living() {
		m.closes(t, p)
	}
	m.inspect(t, nil)
}
