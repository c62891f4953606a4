package props_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
)

// maxLease is the longest lease that the tested model grants.
const maxLease = 50

// perTick is by how much the wall clock of the model advances with each nanosecond:
// more than names are won meanwhile, like microseconds in reality.
const perTick = 1000

// newModel makes tokens start at the wall clock, so that they grow even after a loss of
// all data, or at 1.
func newModel(wall bool) *memory.Model {
	c := memory.Config{MaxLease: maxLease}
	if wall {
		c.Wall = func(now actor.Instant) uint64 { return perTick * uint64(now) }
	}
	return memory.NewModel(c)
}

// TestModelKeepsTheRules asks the reference model for anything in any order, and
// holds each answer against the rules: what was promised before, and what may
// follow from that.
func TestModelKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall := rapid.Bool().Draw(t, "wall")
		holdToRules(t, &plain{t: t, model: newModel(wall)}, wall)
	})
}

// TestArbiterKeepsTheRules asks the actor that owns the model, which also tells of
// names that become vacant.
func TestArbiterKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall := rapid.Bool().Draw(t, "wall")
		holdToRules(t, newArbiter(t, newModel(wall)), wall)
	})
}

// A store is what is tested, with the time in its own hands.
type store interface {
	now() actor.Instant
	pass(d time.Duration)
	open(lease time.Duration) (backend.Grant, error)
	renew(session string, known uint64, full bool) (backend.Renewal, error)
	acquire(session string, names []string, all bool) ([]backend.Outcome, error)
	release(session string, leases []backend.Lease)
	closeSession(session string)
	inspect(names ...string) []backend.Holder
	vacant(names []string) (vacant []string, next actor.Instant)
	// restart ends the store and starts it again, with its data or without.
	restart(lost bool)
	// told returns which names were said to be vacant since the last call, and when.
	told() []notice
}

// A notice is that a name was said to be vacant.
type notice struct {
	name string
	at   actor.Instant
}

// holdToRules restarts the store without its data as well if that mayLose them.
func holdToRules(t *rapid.T, s store, mayLose bool) {
	c := &court{
		store: s, mayLose: mayLose, sessions: make(map[string]*party), owners: make(map[string]deed), tokens: make(map[string]uint64),
		since: make(map[string]actor.Instant),
	}
	for _, name := range names {
		c.since[name] = c.now()
	}
	s.told()
	t.Repeat(map[string]func(*rapid.T){
		"pass":    c.pass,
		"expire":  c.expire,
		"open":    c.open,
		"renew":   c.renew,
		"acquire": c.acquire,
		"release": c.release,
		"close":   c.close,
		"restart": c.restart,
		"":        c.audit,
	})
}

var names = []string{"x", "y", "z"}

// court keeps what the store has said and done, and judges what it says next.
type court struct {
	store
	mayLose  bool
	ids      []string
	sessions map[string]*party
	owners   map[string]deed          // by name: the last win that nothing but expiry can have ended
	tokens   map[string]uint64        // by name: the last one ever, whatever was lost since
	since    map[string]actor.Instant // by name: vacant since when
	vacated  []notice                 // in this step
}

// A party is a session.
type party struct {
	granted   time.Duration
	until     actor.Instant // dead from then on
	over      bool          // closed, lost, or seen dead
	revision  uint64        // as told last, 0 for never
	changed   bool          // the leases have, since then
	revisions map[uint64]string
}

// A deed is a win.
type deed struct {
	session string
	token   uint64
}

func (c *court) alive(id string) bool {
	p := c.sessions[id]
	return p != nil && !p.over && c.now().Before(p.until)
}

// owner returns the win that is in force.
func (c *court) owner(name string) (deed, bool) {
	d, ok := c.owners[name]
	return d, ok && c.alive(d.session)
}

func (c *court) leases(id string) []backend.Lease {
	var leases []backend.Lease
	for _, name := range names {
		if d, ok := c.owner(name); ok && d.session == id {
			leases = append(leases, backend.Lease{Name: name, Token: d.token})
		}
	}
	return leases
}

// lapse writes down whose time is over at last, and which names are vacant by that.
func (c *court) lapse() {
	for _, id := range c.ids {
		if p := c.sessions[id]; !p.over && !c.alive(id) {
			p.over = true
			c.vacate(id, p.until)
		}
	}
}

// vacate ends what a session owns.
func (c *court) vacate(id string, at actor.Instant) {
	for _, name := range names {
		if c.owners[name].session == id {
			c.free(name, at)
		}
	}
}

func (c *court) free(name string, at actor.Instant) {
	delete(c.owners, name)
	c.since[name] = at
	c.vacated = append(c.vacated, notice{name, at})
}

// session draws one: mostly one that lives, or else one that was opened once, or
// never.
func (c *court) session(t *rapid.T) string {
	living := slices.DeleteFunc(slices.Clone(c.ids), func(id string) bool { return !c.alive(id) })
	if len(living) > 0 && rapid.IntRange(0, 3).Draw(t, "stranger") < 3 {
		return rapid.SampledFrom(living).Draw(t, "session")
	}
	return rapid.SampledFrom(append([]string{"never"}, c.ids...)).Draw(t, "any session")
}

// expired holds an answer to R2: it is ErrExpired exactly when the session is over,
// for whatever reason and for ever.
func (c *court) expired(t *rapid.T, id string, err error) bool {
	if got, want := errors.Is(err, backend.ErrExpired), !c.alive(id); got != want || !got && err != nil {
		t.Fatalf("R2: session %s, over: %v, is answered with %v", id, want, err)
	}
	return err != nil
}

func (c *court) pass(t *rapid.T) {
	c.store.pass(time.Duration(rapid.IntRange(1, 12).Draw(t, "d")))
	c.lapse()
}

// expire goes to the very instant at which something expires, or one before it.
func (c *court) expire(t *rapid.T) {
	_, next := c.vacant(names)
	d := next.Sub(c.now()) - time.Duration(rapid.IntRange(0, 1).Draw(t, "early"))
	if next == actor.MaxInstant || d <= 0 {
		t.Skip("nothing does")
	}
	c.store.pass(d)
	c.lapse()
}

func (c *court) open(t *rapid.T) {
	asked := time.Duration(rapid.SampledFrom([]int{1, 10, 20, maxLease, 2 * maxLease}).Draw(t, "lease"))
	g, err := c.store.open(asked)
	if err != nil || g.Session == "" || c.sessions[g.Session] != nil {
		t.Fatalf("R3: Open returned %+v, %v; known are %q", g, err, c.ids)
	}
	if want := min(asked, maxLease); g.Remaining != want {
		t.Fatalf("asked for %v, it granted %v, want %v", asked, g.Remaining, want)
	}
	c.ids = append(c.ids, g.Session)
	c.sessions[g.Session] = &party{granted: g.Remaining, until: c.now().Add(g.Remaining), revisions: make(map[uint64]string)}
}

func (c *court) renew(t *rapid.T) { c.renewOf(t, c.session(t)) }

// around makes something happen between two renewals, or not: only these tell the
// revision.
func (c *court) around(t *rapid.T, id string, f func()) {
	renewed := c.alive(id) && rapid.Bool().Draw(t, "between renewals")
	if renewed {
		c.renewOf(t, id)
	}
	f()
	if renewed {
		c.renewOf(t, id)
	}
}

func (c *court) renewOf(t *rapid.T, id string) {
	full := rapid.Bool().Draw(t, "full")
	var known uint64
	if p := c.sessions[id]; p != nil {
		known = rapid.SampledFrom([]uint64{0, p.revision}).Draw(t, "known")
	}
	r, err := c.store.renew(id, known, full)
	if c.expired(t, id, err) {
		return
	}
	p := c.sessions[id]
	if r.Remaining != p.granted {
		t.Fatalf("a renewal of %s grants %v, and its lease is %v", id, r.Remaining, p.granted)
	}
	p.until = c.now().Add(r.Remaining)
	leases := c.leases(id)
	if r.Complete && !slices.Equal(sorted(r.Leases), leases) || !r.Complete && r.Leases != nil {
		t.Fatalf("%s owns %v, and its renewal says %+v", id, leases, r)
	}
	if needed := full || known == 0 || known != r.Revision; r.Complete != needed {
		t.Fatalf("the list is needed: %v, and the renewal of %s says %+v", needed, id, r)
	}
	c.revised(t, id, r.Revision, fmt.Sprint(leases))
}

// revised holds the revision to what it is for: it is another one exactly when the
// leases have changed, and no two sets have the same one.
func (c *court) revised(t *rapid.T, id string, revision uint64, leases string) {
	p := c.sessions[id]
	if first := p.revision == 0; revision == 0 || !first && (revision != p.revision) != p.changed {
		t.Fatalf("the leases of %s have changed: %v, and the revision goes from %d to %d", id, p.changed, p.revision, revision)
	}
	if before, ok := p.revisions[revision]; ok && before != leases {
		t.Fatalf("revision %d of %s stands for %s, and for %s", revision, id, before, leases)
	}
	p.revision, p.changed, p.revisions[revision] = revision, false, leases
}

func (c *court) acquire(t *rapid.T) {
	id, all := c.session(t), rapid.Bool().Draw(t, "all")
	wanted := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, len(names), rapid.ID).Draw(t, "names")
	c.around(t, id, func() { c.acquireFor(t, id, wanted, all) })
}

func (c *court) acquireFor(t *rapid.T, id string, wanted []string, all bool) {
	outcomes, err := c.store.acquire(id, wanted, all)
	if c.expired(t, id, err) {
		return
	}
	free := true // of others
	for _, name := range wanted {
		d, owned := c.owner(name)
		free = free && (!owned || d.session == id)
	}
	if len(outcomes) != len(wanted) {
		t.Fatalf("%d outcomes for %q", len(outcomes), wanted)
	}
	for i, name := range wanted {
		if outcomes[i].Name != name {
			t.Fatalf("outcome %d of %q is %+v", i, wanted, outcomes[i])
		}
		c.judge(t, id, outcomes[i], free || !all)
	}
}

// judge holds one outcome to the rules. What is vacant is taken if the session mayTake it.
func (c *court) judge(t *rapid.T, id string, o backend.Outcome, mayTake bool) {
	d, owned := c.owner(o.Name)
	switch {
	case owned && d.session == id:
		if !o.Won || o.Token != d.token {
			t.Fatalf("R30: %s owns %q with token %d, and is answered %+v", id, o.Name, d.token, o)
		}
	case owned:
		if o.Won || o.Holder.Session != d.session || o.Holder.Token != d.token {
			t.Fatalf("one owner: %q is %s's with token %d, and %s is answered %+v", o.Name, d.session, d.token, id, o)
		}
	case !mayTake:
		if o.Won || o.Holder != (backend.Holder{Name: o.Name}) {
			t.Fatalf("all or none: %s is answered %+v for the vacant %q", id, o, o.Name)
		}
	default:
		if !o.Won || o.Token == 0 || o.Token <= c.tokens[o.Name] || o.Token >= 1<<53 {
			t.Fatalf("R19: after token %d of %q, %s is answered %+v", c.tokens[o.Name], o.Name, id, o)
		}
		c.tokens[o.Name], c.owners[o.Name] = o.Token, deed{id, o.Token}
		delete(c.since, o.Name)
		c.sessions[id].changed = true
	}
}

func (c *court) release(t *rapid.T) {
	id := c.session(t)
	leases := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backend.Lease {
		name := rapid.SampledFrom(names).Draw(t, "name")
		last := c.tokens[name]
		return backend.Lease{Name: name, Token: rapid.SampledFrom([]uint64{last, last, last, last - 1, last + 1, 0}).Draw(t, "token")}
	}), 1, 3).Draw(t, "leases")
	c.around(t, id, func() { c.releaseOf(id, leases) })
}

func (c *court) releaseOf(id string, leases []backend.Lease) {
	c.store.release(id, leases)
	for _, l := range leases {
		if d, owned := c.owner(l.Name); owned && d == (deed{id, l.Token}) { // R23
			c.free(l.Name, c.now())
			c.sessions[id].changed = true
		}
	}
}

func (c *court) close(t *rapid.T) {
	id := c.session(t)
	c.store.closeSession(id)
	if p := c.sessions[id]; p != nil && !p.over {
		p.over = true
		c.vacate(id, c.now())
	}
}

// restart takes a moment. Nobody hears what becomes vacant meanwhile: who watches
// asks anew.
func (c *court) restart(t *rapid.T) {
	lost := c.mayLose && rapid.Bool().Draw(t, "lost")
	c.store.pass(1)
	c.lapse()
	c.store.restart(lost)
	if lost {
		for _, id := range c.ids {
			c.sessions[id].over = true
			c.vacate(id, c.now())
		}
	}
	c.vacated = nil
	c.told()
}

// audit compares what the store says of all names with what it has said of each.
func (c *court) audit(t *rapid.T) {
	var vacant []string
	next := actor.MaxInstant
	var held []backend.Holder
	for _, name := range names {
		h, d, owned := c.inspect(name)[0], deed{}, false
		if d, owned = c.owner(name); !owned {
			vacant = append(vacant, name)
			if h != (backend.Holder{Name: name}) {
				t.Fatalf("nobody owns %q, and its holder is %+v", name, h)
			}
			continue
		}
		until := c.sessions[d.session].until
		if !h.Held || h.Name != name || h.Session != d.session || h.Token != d.token || h.Remaining != until.Sub(c.now()) {
			t.Fatalf("%q is %s's with token %d until %d, and its holder is %+v", name, d.session, d.token, until, h)
		}
		held, next = append(held, h), min(next, until)
	}
	if all := c.inspect(); !slices.Equal(all, held) {
		t.Fatalf("the holders are %+v, and all of them %+v", held, all)
	}
	if got, at := c.vacant(names); !slices.Equal(got, vacant) || at != next {
		t.Fatalf("vacant are %q until %d, and the store says %q until %d", vacant, next, got, at)
	}
	c.heard(t)
}

// heard compares the notices with what has become vacant: each name is told of at
// that instant, and none that is not vacant.
func (c *court) heard(t *rapid.T) {
	told := c.told()
	for _, n := range c.vacated {
		if !slices.Contains(told, n) {
			t.Fatalf("%q is vacant since %d, and the notices are %v", n.name, n.at, told)
		}
	}
	for _, n := range told {
		if since, ok := c.since[n.name]; !ok || n.at.Before(since) {
			t.Fatalf("%q is said to be vacant at %d, and is since %d: %v", n.name, n.at, since, ok)
		}
	}
	c.vacated = nil
}

func sorted(leases []backend.Lease) []backend.Lease {
	byName := make(map[string]backend.Lease)
	for _, l := range leases {
		byName[l.Name] = l
	}
	var all []backend.Lease
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}
