package backendtest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/backend"
)

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
