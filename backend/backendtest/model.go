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

func (m *comparison) pass(t *rapid.T) {
	d := time.Duration(rapid.SampledFrom([]int{1, 9, 10, 11, 90}).Draw(t, "ms")) * time.Millisecond
	m.suite.store.Advance(d)
	m.now = m.now.Add(d)
}

func (m *comparison) open(t *rapid.T) {
	if len(m.living()) >= maxLiving {
		t.Skip("enough sessions")
	}
	p := &pair{
		driver: rapid.SampledFrom(m.suite.drivers).Draw(t, "driver"),
		ours:   fmt.Sprintf("session-%d", len(m.sessions)),
		asked:  long,
	}
	if m.timely() {
		p.asked = time.Duration(rapid.SampledFrom([]int{10, 20, 100, 1000}).Draw(t, "lease ms")) * time.Millisecond
	}
	ctx, cancel := m.suite.call()
	defer cancel()
	grant, err := p.driver.Open(ctx, p.asked, p.ours) // the label tells whose it is
	if err != nil || grant.Session == "" || grant.Remaining <= 0 || grant.Remaining > p.asked {
		t.Fatalf("Open(%v) returned %+v, %v", p.asked, grant, err)
	}
	if slices.ContainsFunc(m.sessions, func(p *pair) bool { return p.theirs == grant.Session }) {
		t.Fatalf("R3: the session id %q was given twice", grant.Session)
	}
	p.theirs, p.expires = grant.Session, m.now.Add(grant.Remaining)
	if _, err := m.model.Open(m.now, p.ours, grant.Remaining, p.ours); err != nil {
		t.Fatal(err)
	}
	m.sessions = append(m.sessions, p)
}

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

func (m *comparison) renew(t *rapid.T, full bool) {
	p := m.session(t)
	known := revision{}
	if i := rapid.IntRange(-1, len(p.known)-1).Draw(t, "known"); i >= 0 {
		known = p.known[i]
	}
	ctx, cancel := m.suite.call()
	defer cancel()
	theirs, err := p.driver.Renew(ctx, p.theirs, known.theirs, full)
	ours, ourErr := m.model.Renew(m.now, p.ours, 0, true)
	if !outcome(t, "Renew", p, err, ourErr) {
		return
	}
	want := m.translate(t, ours.Leases)
	switch {
	case theirs.Revision == 0:
		t.Fatalf("Renew by %s returned the revision 0", p.ours)
	case !theirs.Complete && (full || known.theirs == 0 || known.theirs != theirs.Revision || len(theirs.Leases) > 0):
		t.Fatalf("Renew(known %d, full %t) by %s returned the incomplete %+v", known.theirs, full, p.ours, theirs)
	case !theirs.Complete:
		theirs.Leases = known.leases
	}
	if got := sorted(theirs.Leases); !slices.Equal(got, want) {
		t.Fatalf("after Renew, %s has the leases %v in place of %v", p.ours, got, want)
	}
	for _, r := range p.known {
		if r.theirs == theirs.Revision && !slices.Equal(r.leases, want) {
			t.Fatalf("revision %d of %s stands for %v and for %v", r.theirs, p.ours, r.leases, want)
		}
	}
	m.remaining(t, theirs.Remaining, ours.Remaining, p)
	p.expires = m.now.Add(ours.Remaining)
	p.known = append(p.known, revision{theirs: theirs.Revision, leases: want})
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

func (m *comparison) acquire(t *rapid.T, all bool) {
	p := m.session(t)
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(m.names), 0, len(m.names), rapid.ID).Draw(t, "names")
	ctx, cancel := m.suite.call()
	defer cancel()
	theirs, err := p.driver.Acquire(ctx, p.theirs, names, all)
	ours, ourErr := m.model.Acquire(m.now, p.ours, names, all)
	if !outcome(t, "Acquire", p, err, ourErr) {
		return
	}
	if len(theirs) != len(ours) {
		t.Fatalf("Acquire(%q) returned %d outcomes", names, len(theirs))
	}
	for i, want := range ours {
		got := theirs[i]
		switch {
		case got.Name != want.Name || got.Won != want.Won:
			t.Fatalf("Acquire(%q, all %t) by %s returned %+v in place of %+v", names, all, p.ours, got, want)
		case want.Won:
			m.won(t, got, want)
		default:
			m.holder(t, got.Holder, want.Holder)
		}
	}
}

// won compares the tokens of a win.
func (m *comparison) won(t *rapid.T, theirs, ours backend.Outcome) {
	t.Helper()
	pairs := m.tokens[ours.Name]
	last := tokenPair{}
	if len(pairs) > 0 {
		last = pairs[len(pairs)-1]
	}
	if ours.Token == last.ours {
		if theirs.Token != last.theirs {
			t.Fatalf("R30: acquired again, %q has token %d in place of %d", ours.Name, theirs.Token, last.theirs)
		}
		return
	}
	if theirs.Token <= last.theirs || theirs.Token >= 1<<53 {
		t.Fatalf("R19: %q was won with token %d: it must be above %d and below 2^53", ours.Name, theirs.Token, last.theirs)
	}
	m.tokens[ours.Name] = append(pairs, tokenPair{theirs: theirs.Token, ours: ours.Token})
}

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
func (m *comparison) free(t *rapid.T) {
	p := m.session(t)
	var theirs, ours []backend.Lease
	for _, h := range m.model.Inspect(m.now, m.names) {
		if h.Session == p.ours && rapid.Bool().Draw(t, h.Name) {
			theirs = append(theirs, backend.Lease{Name: h.Name, Token: m.theirToken(t, h.Name, h.Token)})
			ours = append(ours, backend.Lease{Name: h.Name, Token: h.Token})
		}
	}
	m.releases(t, p, theirs, ours)
}

// release releases what anybody may own, or owned once.
func (m *comparison) release(t *rapid.T) {
	p := m.session(t)
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(m.names), 0, len(m.names), rapid.ID).Draw(t, "names")
	var theirs, ours []backend.Lease
	for _, name := range names {
		token := m.anyToken(t, name)
		theirs = append(theirs, backend.Lease{Name: name, Token: token.theirs})
		ours = append(ours, backend.Lease{Name: name, Token: token.ours})
	}
	m.releases(t, p, theirs, ours)
}

func (m *comparison) releases(t *rapid.T, p *pair, theirs, ours []backend.Lease) {
	t.Helper()
	ctx, cancel := m.suite.call()
	defer cancel()
	if err := p.driver.Release(ctx, p.theirs, theirs); err != nil {
		t.Fatalf("Release by %s: %v", p.ours, err)
	}
	m.model.Release(m.now, p.ours, ours)
}

// anyToken returns a token that the name has or had, or will not have before its
// next term.
func (m *comparison) anyToken(t *rapid.T, name string) tokenPair {
	pairs := m.tokens[name]
	if len(pairs) == 0 {
		return tokenPair{theirs: 1, ours: 1}
	}
	last := pairs[len(pairs)-1]
	switch age := rapid.SampledFrom([]int{0, 0, 0, 1, 2, -1}).Draw(t, "token's age"); {
	case age < 0:
		return tokenPair{theirs: last.theirs + 1, ours: last.ours + 1}
	case age < len(pairs):
		return pairs[len(pairs)-1-age]
	}
	return last
}

func (m *comparison) close(t *rapid.T) { m.closes(t, m.session(t)) }

// end leaves nothing behind for the next run.
func (m *comparison) end(t *rapid.T) {
	for _, p := range m.living() {
		m.closes(t, p)
	}
	m.inspect(t, nil)
}

func (m *comparison) closes(t *rapid.T, p *pair) {
	t.Helper()
	ctx, cancel := m.suite.call()
	defer cancel()
	if err := p.driver.CloseSession(ctx, p.theirs); err != nil {
		t.Fatalf("CloseSession of %s: %v", p.ours, err)
	}
	m.model.Close(m.now, p.ours)
	p.expires = m.now
}

func (m *comparison) inspect(t *rapid.T, names []string) {
	driver := rapid.SampledFrom(m.suite.drivers).Draw(t, "driver")
	ctx, cancel := m.suite.call()
	defer cancel()
	theirs, err := driver.Inspect(ctx, names)
	if err != nil {
		t.Fatalf("Inspect(%q): %v", names, err)
	}
	ours := m.model.Inspect(m.now, names)
	if len(theirs) != len(ours) {
		t.Fatalf("Inspect(%q) returned %+v, and the model %+v", names, theirs, ours)
	}
	for i := range ours {
		m.holder(t, theirs[i], ours[i])
	}
}
