package backendtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simba-go/simba/backend"
)

func openGrantsALease(s *suite) {
	c := s.open() // which looks at the grant
	if r := c.renew(); r.Remaining <= 0 || r.Remaining > c.asked {
		s.Fatalf("Renew granted %v: it must be above zero and no more than the lease of %v", r.Remaining, c.asked)
	}
	if all := s.inspect(); len(all) != 0 {
		s.Fatalf("a store without leases says that it has %+v", all)
	}
}

// R3: a session id names one incarnation.
func sessionIDsAreUnique(s *suite) {
	const n = 32
	var mu sync.Mutex
	seen := make(map[string]bool)
	see := func(id string, err error) error {
		mu.Lock()
		defer mu.Unlock()
		if err == nil && seen[id] {
			err = fmt.Errorf("R3: the session id %q was given twice", id)
		}
		seen[id] = true
		return err
	}
	s.parallel(n, func(i int) error {
		ctx, cancel := s.call()
		defer cancel()
		driver := s.drivers[i%len(s.drivers)]
		grant, err := driver.Open(ctx, long, "same")
		if err := see(grant.Session, err); err != nil {
			return err
		}
		if err := driver.CloseSession(ctx, grant.Session); err != nil {
			return err
		}
		// An id that was given back must not be given again either.
		grant, err = driver.Open(ctx, long, "same")
		return see(grant.Session, err)
	})
}

func labelsAreKept(s *suite) {
	for i, label := range []string{"", "web-3:4711", `O'Neil "x" \ %s {}`, "größer 😀", "two\nlines", strings.Repeat("x", 1000)} {
		name := fmt.Sprintf("label-%d", i)
		c := s.openFor(long, label)
		token := c.win(name)
		c.owns(s.holder(name), name, token)
	}
}

func renewalListsTheLeases(s *suite) {
	c, other := s.open(), s.open()
	if r := c.renew(); len(r.Leases) != 0 {
		s.Fatalf("a new session has the leases %v", r.Leases)
	}
	token := map[string]uint64{}
	for _, name := range []string{"b", "a", "c"} {
		token[name] = c.win(name)
	}
	other.win("d")
	c.free("b", token["b"])
	c.lists(backend.Lease{Name: "a", Token: token["a"]}, backend.Lease{Name: "c", Token: token["c"]})
}

// lists checks which leases the session has, according to its renewal.
func (c *client) lists(want ...backend.Lease) {
	c.Helper()
	got := sorted(c.renew().Leases)
	if want = sorted(want); !slices.Equal(got, want) {
		c.Fatalf("the renewal lists the leases %s in place of %s", short(got), short(want))
	}
}

func sorted(leases []backend.Lease) []backend.Lease {
	return slices.SortedFunc(slices.Values(leases), func(a, b backend.Lease) int { return strings.Compare(a.Name, b.Name) })
}

func revisionTellsOfChanges(s *suite) {
	c, other := s.open(), s.open()
	seen := make(map[uint64]bool)
	step := func(what string, known uint64) uint64 {
		r, err := c.tryRenew(known, false)
		switch {
		case err != nil:
			s.Fatalf("Renew after %s: %v", what, err)
		case !r.Complete:
			s.Fatalf("Renew after %s withheld the list from a client that knows revision %d", what, known)
		case r.Revision == 0:
			s.Fatalf("Renew after %s returned the revision 0, which means none", what)
		case seen[r.Revision]:
			s.Fatalf("Renew after %s returned revision %d, which another set of leases had", what, r.Revision)
		}
		seen[r.Revision] = true
		return r.Revision
	}
	rev := step("Open", 0)
	a := c.win("a")
	rev = step("acquiring a name", rev)
	b := c.win("b")
	rev = step("acquiring another", rev)
	c.free("a", a)
	rev = step("releasing the first", rev)
	a = c.win("a")
	rev = step("acquiring it again", rev)
	c.release(backend.Lease{Name: "a", Token: a}, backend.Lease{Name: "b", Token: b})
	rev = step("releasing everything", rev)

	// Nothing that leaves the set alone may hide that it is known: either the list
	// is not there because the caller has it, or it is there and the same.
	token := c.win("held")
	rev = step("acquiring a third", rev)
	c.win("held")
	c.free("held", token+1)
	other.win("elsewhere")
	for _, full := range []bool{false, true} {
		r, err := c.tryRenew(rev, full)
		if err != nil {
			s.Fatalf("Renew: %v", err)
		}
		if !r.Complete && (full || r.Revision != rev) {
			s.Fatalf("Renew(known %d, full %t) returned no list and revision %d", rev, full, r.Revision)
		}
		if r.Complete && !slices.Equal(r.Leases, []backend.Lease{{Name: "held", Token: token}}) {
			s.Fatalf("Renew lists %v", r.Leases)
		}
		if !r.Complete && len(r.Leases) > 0 {
			s.Fatalf("Renew lists %v and says that this is not everything", r.Leases)
		}
	}
	// A revision of which the client cannot know.
	if r, err := c.tryRenew(rev+1000, false); err != nil || !r.Complete {
		s.Fatalf("Renew(known: a revision that does not exist) returned %+v, %v in place of the list", r, err)
	}
}

// R1: renewals keep the session and all of its leases.
func renewalKeepsTheSession(s *suite) {
	other := s.open()
	lease := s.config.Lease
	for range tries {
		c := s.openFor(lease, "renewed")
		if s.keeps(c, other) {
			return
		}
		lease *= 2
	}
	s.Fatalf("the machine is too slow to renew a session within %v", lease/2)
}

// keeps renews c over several leases. It returns false if this process was too
// slow for that.
func (s *suite) keeps(c, other *client) bool {
	s.Helper()
	names := []string{"kept-1", "kept-2"}
	outcomes, err := c.tryAcquire(false, names...)
	const rounds = 15
	for round := 0; err == nil; _, err = c.tryRenew(0, false) {
		if round++; round > rounds {
			return true
		}
		other.renew()
		for i, o := range other.acquire(false, names...) {
			if o.Won && s.store.Advance == nil && time.Since(c.sentAt) >= c.granted {
				other.free(o.Name, o.Token)
				return false
			}
			if o.Won {
				s.Fatalf("%q was given to another session while its owner renewed", o.Name)
			}
			if o.Holder.Token != outcomes[i].Token {
				s.Fatalf("R19: the token of %q changed from %d to %d within a term", o.Name, outcomes[i].Token, o.Holder.Token)
			}
		}
		if s.store.Advance != nil {
			s.store.Advance(c.granted - time.Millisecond)
		} else {
			time.Sleep(c.granted / 5) // so that the rounds last three leases
		}
	}
	if !c.late(err) {
		s.Fatalf("a session that was renewed in time was refused: %v", err)
	}
	return false
}

func unknownSessionHasExpired(s *suite) {
	c := s.open()
	token := c.win("taken")
	unknown := &client{suite: s, driver: c.driver, id: "00000000000000000000000000000000"}
	unknown.dead("never was")
	unknown.free("taken", token)
	unknown.close()
	c.owns(s.holder("taken"), "taken", token)
}

// R4: closing frees all leases at once.
func closeFreesEverything(s *suite) {
	c, next := s.open(), s.open()
	names := []string{"a", "b", "c"}
	old := c.tokens(c.acquire(false, names...))
	c.close()
	s.vacant(names...)
	for i, token := range next.tokens(next.acquire(true, names...)) {
		if token <= old[i] {
			s.Fatalf("R19: after its owner was closed, %q was won with token %d, not above %d", names[i], token, old[i])
		}
	}
	c.close() // once more is no error, and touches nobody else
	next.renew()
	for _, h := range s.inspect(names...) {
		if h.Session != next.id {
			s.Fatalf("closing a session twice freed %q of another", h.Name)
		}
	}
}

func closedIsFinal(s *suite) {
	c, next := s.open(), s.open()
	token := c.win("a")
	c.close()
	c.dead("was closed")
	won := next.win("a")
	c.dead("was closed")
	c.free("a", token)
	c.free("a", won)
	next.owns(s.holder("a"), "a", won)
}

// R2: no late renewal revives anything, whether or not somebody took the leases.
// R2: an expired session acquires nothing, neither what was its own nor what
// nobody has, alone or together; and nothing changes when it tries.
// R9 rests on this: a session lives for as long as it was granted, counted from
// when the request was sent, even while somebody else tries to take its lease
// without a pause, and also if its renewal comes at the last moment.
// raceExpiry lets one session try to take the lease of another, which renews once
// when a part of its time is over. It reports whether that renewal succeeded; if
// not, this process was too slow to tell.
// higher wins the name, checks that its token is above old, and releases it.
// pursue tries to acquire a name until it succeeds, and sends the outcome.
