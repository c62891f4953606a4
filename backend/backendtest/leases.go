package backendtest

import (
	"fmt"
	"strings"

	"github.com/simba-go/simba/backend"
)

func acquireAnswersForEachName(s *suite) {
	c, other := s.open(), s.open()
	if outcomes := c.acquire(false); len(outcomes) != 0 {
		s.Fatalf("acquiring no names has the outcomes %+v", outcomes)
	}
	theirs := other.win("b")
	got := c.acquire(false, "c", "b", "a")
	if !got[0].Won || got[1].Won || !got[2].Won {
		s.Fatalf("of a free, a held and a free name were won: %+v", got)
	}
	other.owns(got[1].Holder, "b", theirs)
	c.owns(s.holder("c"), "c", got[0].Token)
	c.owns(s.holder("a"), "a", got[2].Token)
}

// R30: acquiring is idempotent for one session.
func acquireAgainKeepsTheToken(s *suite) {
	c := s.open()
	token := c.win("a")
	for _, all := range []bool{false, true} {
		for i, o := range c.acquire(all, "a", fmt.Sprintf("b-%t", all)) {
			if !o.Won || i == 0 && o.Token != token {
				s.Fatalf("R30: acquired again, a lease with token %d became %+v", token, o)
			}
		}
	}
	c.owns(s.holder("a"), "a", token)
}

func allOrNone(s *suite) {
	c, other := s.open(), s.open()
	theirs := other.win("held")
	mine := c.win("mine")
	for _, names := range [][]string{{"free-1", "held", "free-2"}, {"held", "mine", "free-1"}, {"free-1", "mine", "held"}} {
		for _, o := range c.acquire(true, names...) {
			switch o.Name {
			case "held":
				if o.Won {
					s.Fatalf("the name of another was won: %+v", o)
				}
				other.owns(o.Holder, "held", theirs)
			case "mine":
				if !o.Won || o.Token != mine {
					s.Fatalf("R30: what the session had before is %+v after all or none was none", o)
				}
			default:
				if o.Won || o.Holder.Held {
					s.Fatalf("all or none took some: %+v", o)
				}
			}
		}
		s.vacant("free-1", "free-2")
		c.lists(backend.Lease{Name: "mine", Token: mine})
	}
	other.free("held", theirs)
	outcomes := c.acquire(true, "free-1", "mine", "held")
	if c.tokens(outcomes)[1] != mine {
		s.Fatalf("R30: the token %d became %d", mine, outcomes[1].Token)
	}
	var want []backend.Lease
	for _, o := range outcomes {
		want = append(want, backend.Lease{Name: o.Name, Token: o.Token})
	}
	c.lists(want...)
}

// R19: strictly increasing from term to term of one name, for one session and
// for several, when single names and when many are acquired.
func tokensRise(s *suite) {
	a, b := s.open(), s.open()
	last := uint64(0)
	for i := range 20 {
		c := a
		if i%3 == 0 {
			c = b
		}
		token := c.tokens(c.acquire(i%2 == 0, "n", fmt.Sprintf("other-%d", i)))[0]
		if token <= last {
			s.Fatalf("R19: token %d came after token %d", token, last)
		}
		last = token
		c.free("n", token)
	}
}

// R23: a late release is a no-op for every later term, also of the same session.
func releaseComparesTheToken(s *suite) {
	c := s.open()
	old := c.win("a")
	c.free("a", old)
	token := c.win("a")
	for _, wrong := range []uint64{old, 0, token - 1, token + 1} {
		c.free("a", wrong)
		c.owns(s.holder("a"), "a", token)
	}
	c.free("a", token)
	s.vacant("a")
	c.free("a", token) // again is no error
}

func releaseComparesTheSession(s *suite) {
	c, other := s.open(), s.open()
	token := c.win("a")
	other.free("a", token)
	c.owns(s.holder("a"), "a", token)
	c.free("a", token)
	theirs := other.win("a")
	c.free("a", token)
	c.free("a", theirs)
	other.owns(s.holder("a"), "a", theirs)
}

func releaseTakesMany(s *suite) {
	c, other := s.open(), s.open()
	tokens := c.tokens(c.acquire(false, "a", "b", "c"))
	theirs := other.win("theirs")
	c.release() // nothing
	c.release(
		backend.Lease{Name: "a", Token: tokens[0]},
		backend.Lease{Name: "never-was", Token: 1},
		backend.Lease{Name: "theirs", Token: theirs},
		backend.Lease{Name: "b", Token: tokens[1] + 1},
		backend.Lease{Name: "a", Token: tokens[0]},
		backend.Lease{Name: "c", Token: tokens[2]},
	)
	s.vacant("a", "c", "never-was")
	c.lists(backend.Lease{Name: "b", Token: tokens[1]})
	other.owns(s.holder("theirs"), "theirs", theirs)
}

// R17: a store takes each valid name as it is, and as different from every other.
func namesAreExact(s *suite) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"
	longest := strings.Repeat("n", backend.MaxName-1)
	names := []string{
		alphabet, longest + "a", longest + "b", longest + "A", longest,
		"a", "A", "aB", "Ab", "a_b", "axb", "a.b", "a-b", "a:b", "...", ".a", "a.", "-", "--", "_", ":", "0", "00", "1e3", "NULL", "nil",
	}
	clients := []*client{s.open(), s.open()}
	token := make([]uint64, len(names))
	for i, name := range names {
		if err := backend.CheckName(name); err != nil {
			s.Fatal(err)
		}
		token[i] = clients[i%2].win(name)
	}
	for i, h := range s.inspect(names...) {
		clients[i%2].owns(h, names[i], token[i])
	}
	if all := s.inspect(); len(all) != len(names) {
		s.Fatalf("there are %d leases for %d names", len(all), len(names))
	}
	for i, name := range names {
		clients[i%2].free(name, token[i])
		s.vacant(name)
		if left := s.inspect(); len(left) != len(names)-i-1 {
			s.Fatalf("releasing %q left %d of %d leases", name, len(left), len(names)-i)
		}
	}
}

func largestBatch(s *suite) {
	c, other := s.open(), s.open()
	names := make([]string, backend.MaxBatch)
	for i := range names {
		names[i] = fmt.Sprintf("%0*d", backend.MaxName, i*7919%backend.MaxBatch) // in no order
	}
	taken := other.win(names[500])
	for _, o := range c.acquire(true, names...) {
		if o.Won {
			s.Fatalf("all or none took %q of %d names, one of which was held", o.Name, len(names))
		}
	}
	other.free(names[500], taken)
	tokens := c.tokens(c.acquire(true, names...))
	leases := make([]backend.Lease, len(names))
	for i, name := range names {
		leases[i] = backend.Lease{Name: name, Token: tokens[i]}
	}
	c.lists(leases...)
	for i, o := range other.acquire(false, names...) {
		if o.Won {
			s.Fatalf("%q was won from another", o.Name)
		}
		c.owns(o.Holder, names[i], tokens[i])
	}
	for i, h := range s.inspect(names...) {
		c.owns(h, names[i], tokens[i])
	}
	if all := s.inspect(); len(all) != len(names) {
		s.Fatalf("Inspect returned %d of %d leases", len(all), len(names))
	}
	c.release(leases...)
	s.vacant(names...)
	c.lists()
}

func inspectTellsTheHolder(s *suite) {
	a, b := s.openFor(long, "a-label"), s.openFor(long/2, "b-label")
	ta, tb := a.win("a"), b.win("b")
	s.vacant("c")
	a.owns(s.holder("a"), "a", ta)
	b.owns(s.holder("b"), "b", tb)
	a.owns(b.lose("a"), "a", ta)
	a.free("a", ta)
	s.vacant("a")
	ta = b.win("a")
	b.owns(s.holder("a"), "a", ta)
}

func inspectKeepsTheOrder(s *suite) {
	c := s.open()
	c.acquire(false, "b", "a", "B", "a.1", "a-1", "10", "9")
	c.free("gone", c.win("gone"))
	want := []string{"b", "nobody", "a", "b", "nobody"}
	for i, h := range s.inspect(want...) { // which compares the names
		if h.Held != (want[i] != "nobody") {
			s.Fatalf("of %q, number %d is %+v", want, i, h)
		}
	}
	var got []string
	for _, h := range s.inspect() {
		got = append(got, h.Name)
	}
	if want := "10 9 B a a-1 a.1 b"; strings.Join(got, " ") != want {
		s.Fatalf("Inspect of everything returned %q: the names held, in byte order, are %q", got, want)
	}
}
