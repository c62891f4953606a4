package sim_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// lyingStore is a liar whose backend answers what the test wants.
type lyingStore struct{ *liar }

// exchange lets the backend handle a request, and answer it.
func (s lyingStore) exchange(request, answer actor.Message) {
	s.LieInStore(actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if msg == request {
			ctx.Send(s.to, answer)
		}
	}))
	s.sayTo(s.Backend(), request)
}

func (s lyingStore) open(id string) {
	s.exchange(&backend.OpenRequest{}, &backend.OpenAnswer{Grant: backend.Grant{Session: id, Remaining: time.Second}})
}

func (s lyingStore) renews(id string) {
	s.exchange(&backend.RenewRequest{Session: id}, &backend.RenewAnswer{Renewal: backend.Renewal{Remaining: time.Second}})
}

func (s lyingStore) gives(id, name string, token uint64) {
	s.contend(name, 1)
	s.exchange(&backend.AcquireRequest{Session: id, Names: []string{name}},
		&backend.AcquireAnswer{Outcomes: []backend.Outcome{{Name: name, Won: token > 0, Token: token}}})
}

func (s lyingStore) closes(id string) {
	s.exchange(&backend.CloseRequest{Session: id}, &backend.CloseAnswer{})
}

func (s lyingStore) takesBack(id, name string, token uint64) {
	s.exchange(&backend.ReleaseRequest{Session: id, Leases: []backend.Lease{{Name: name, Token: token}}}, &backend.ReleaseAnswer{})
}

// TestMonitorWatchesTheStore: the monitor keeps its own books, and does not have to
// believe the backend.
func TestMonitorWatchesTheStore(t *testing.T) {
	// releases lets session s have x, by the books and in truth, and a session release
	// it with so much more than its token. If it is freed, then in truth only.
	releases := func(id string, more uint64, freed bool) func(s lyingStore) {
		return func(s lyingStore) {
			s.open("s")
			s.open("s2")
			given := s.lease("s", "x")
			s.gives("s", "x", given)
			if freed {
				s.Model.Release(s.Store.Now(), "s", []backend.Lease{{Name: "x", Token: given}})
			}
			s.takesBack(id, "x", given+more)
		}
	}
	for _, tt := range []struct {
		name string
		tell func(s lyingStore)
		want sim.Invariant
	}{
		{"opens two sessions", func(s lyingStore) { s.open("s"); s.open("s2") }, sim.Invariant{}},
		{"opens a session twice", func(s lyingStore) { s.open("s"); s.open("s") }, sim.UniqueSessions},
		{"opens a session again after its end", func(s lyingStore) { s.open("s"); s.closes("s"); s.open("s") }, sim.UniqueSessions},
		{"renews in time", func(s lyingStore) { s.open("s"); s.RunFor(time.Second - 1); s.renews("s") }, sim.Invariant{}},
		{"renews twice", func(s lyingStore) {
			s.open("s")
			for range 2 {
				s.RunFor(time.Second - 1)
				s.renews("s")
			}
		}, sim.Invariant{}},
		{"renews too late", func(s lyingStore) { s.open("s"); s.RunFor(time.Second); s.renews("s") }, sim.ExpiredIsFinal},
		{"renews what it never opened", func(s lyingStore) { s.renews("s") }, sim.ExpiredIsFinal},
		{"renews what was closed", func(s lyingStore) { s.open("s"); s.closes("s"); s.renews("s") }, sim.ExpiredIsFinal},
		{"renews what it has lost", func(s lyingStore) { s.open("s"); s.LoseData(); s.renews("s") }, sim.ExpiredIsFinal},
		{"gives in time", func(s lyingStore) { s.open("s"); s.RunFor(time.Second - 1); s.gives("s", "x", 1) }, sim.Invariant{}},
		{"gives too late", func(s lyingStore) { s.open("s"); s.RunFor(time.Second); s.gives("s", "x", 1) }, sim.ExpiredIsFinal},
		{"answers an attempt too late", func(s lyingStore) { s.open("s"); s.RunFor(time.Second); s.gives("s", "x", 0) }, sim.ExpiredIsFinal},
		{"gives again", func(s lyingStore) { s.open("s"); s.gives("s", "x", 5); s.gives("s", "x", 5) }, sim.Invariant{}},
		{"gives to two", func(s lyingStore) { s.open("s"); s.open("s2"); s.gives("s", "x", 5); s.gives("s2", "x", 6) }, sim.OneValidTerm},
		{"gives to the next after the first was closed", func(s lyingStore) {
			s.open("s")
			s.open("s2")
			s.gives("s", "x", 5)
			s.closes("s")
			s.gives("s2", "x", 6)
		}, sim.Invariant{}},
		{"gives to the next after the first has expired", func(s lyingStore) {
			s.open("s")
			s.gives("s", "x", 5)
			s.RunFor(time.Second)
			s.open("s2")
			s.gives("s2", "x", 6)
		}, sim.Invariant{}},
		{"gives to the next after the first has given back", func(s lyingStore) {
			s.open("s")
			s.open("s2")
			s.gives("s", "x", 5)
			s.takesBack("s", "x", 5)
			s.gives("s2", "x", 6)
		}, sim.Invariant{}},
		{"gives the same token again after it was given back", func(s lyingStore) {
			s.open("s")
			s.gives("s", "x", 5)
			s.takesBack("s", "x", 5)
			s.gives("s", "x", 5)
		}, sim.TokensGrow},
		{"gives a smaller token", func(s lyingStore) {
			s.open("s")
			s.gives("s", "x", 5)
			s.gives("s", "x", 4)
		}, sim.TokensGrow},
		{"gives a smaller token after it has lost its data", func(s lyingStore) {
			s.open("s")
			s.gives("s", "x", 5)
			s.LoseData()
			s.open("s2")
			s.gives("s2", "x", 4)
		}, sim.TokensGrow},
		{"takes back what is the session's own", releases("s", 0, true), sim.Invariant{}},
		{"leaves alone what is another's", releases("s2", 0, false), sim.Invariant{}},
		{"leaves alone what has another token", releases("s", 1, false), sim.Invariant{}},
		{"takes back what is another's", releases("s2", 0, true), sim.ReleaseOwnLease},
		{"takes back what has another token", releases("s", 1, true), sim.ReleaseOwnLease},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := lyingStore{newLiar()}
			tt.tell(s)
			wantViolation(t, s.Err(), tt.want)
		})
	}
}

// TestMonitorForgivesTheForsaken: a backend that has lost its data, or somebody who
// deletes a lease, breaks promises, which no client can help. Until it is told.
func TestMonitorForgivesTheForsaken(t *testing.T) {
	lose := func(l *liar, _ string) { l.LoseData() }
	remove := func(l *liar, name string) { l.RemoveLease(name) }
	for how, forsake := range map[string]func(l *liar, name string){"data loss": lose, "removal": remove} {
		// forsaken is a term for which the backend does not stand any more.
		forsaken := func(l *liar) *term.Term {
			tm := l.wins("x", time.Hour)
			forsake(l, "x")
			return tm
		}
		told := func(r backend.Renewal, react func(*term.Term)) func(l *liar) {
			return func(l *liar) {
				tm := forsaken(l)
				l.renew(mine+1, l.id())
				l.hear(&backend.RenewAnswer{ID: mine + 1, Renewal: r}, func(actor.Context) { react(tm) })
			}
		}
		goesOn := func(*term.Term) {}
		gone := backend.Renewal{Complete: true}
		t.Run(how, func(t *testing.T) {
			tell(t, newInsider, []lie{
				{"a term goes on", func(l *liar) { forsaken(l); l.poke() }, sim.Invariant{}},
				{"there are two", func(l *liar) {
					next := forsaken(l).Token() + 1
					l.moveTo(l.NewNode("elsewhere", 0, 1))
					l.win("another", "x", next, time.Second)
				}, sim.Invariant{}},
				{"there are two others", func(l *liar) {
					next := forsaken(l).Token() + 1
					l.moveTo(l.NewNode("elsewhere", 0, 1))
					l.win("another", "x", next, time.Second)
					l.win("third", "x", next+1, time.Second)
				}, sim.OneValidTerm},
				{"a term ends as it is told", told(gone, func(tm *term.Term) { term.End(tm, term.TakenOver) }), sim.Invariant{}},
				{"a term goes on as it is told", told(gone, goesOn), sim.DeadlineFirst},
				{"nothing is told", told(backend.Renewal{}, goesOn), sim.Invariant{}},
				{"what is told is older", func(l *liar) {
					l.wins("x", time.Hour)
					l.renew(mine+1, l.id())
					forsake(l, "x")
					l.hear(&backend.RenewAnswer{ID: mine + 1, Renewal: gone}, nil)
				}, sim.Invariant{}},
				{"what is told is too late to be heard", func(l *liar) {
					forsaken(l)
					l.renew(mine+1, l.id())
					l.RunFor(time.Second)
					l.hear(&backend.RenewAnswer{ID: mine + 1, Renewal: gone}, nil)
				}, sim.Invariant{}},
				{"a win comes late", func(l *liar) {
					l.contend("x", 1)
					call := backend.Call{ID: mine, ReplyTo: l.to, Timeout: time.Second}
					l.sayTo(l.Backend(), &backend.AcquireRequest{Call: call, Session: l.id(), Names: []string{"x"}})
					_, token := l.Model.Recorded("x")
					late := l.term(l.id(), "x", token, time.Hour)
					forsake(l, "x")
					other := &liar{Cluster: l.Cluster}
					other.moveTo(l.NewNode("elsewhere", 0, 1))
					other.win("another", "x", token+1, time.Second)
					l.answered(1, late)
				}, sim.Invariant{}},
			})
		})
	}
	tell(t, newInsider, []lie{{"a removal forsakes no other name", func(l *liar) {
		l.wins("x", time.Hour)
		l.give(l.id(), "y")
		l.RemoveLease("y")
		l.Model.Remove("x") // nobody has said so
		l.poke()
	}, sim.DeadlineFirst}})
}
