package scenario

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
)

// Error is one thing that is wrong with a scenario.
type Error struct {
	File string // empty if the scenario was not read from one
	Line int    // zero if it is not known
	Path string // to the value, such as clients[1].rate
	What string // is wrong, and what would be right
}

// Error says where what is wrong.
func (e *Error) Error() string {
	what := e.What
	if e.Path != "" {
		what = e.Path + " " + what
	}
	switch {
	case e.File == "":
		return "scenario: " + what
	case e.Line == 0:
		return e.File + ": " + what
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, what)
}

// Validate returns nil, or all that is wrong: [*Error]s, joined.
func (s *Scenario) Validate() error {
	errs := s.problems()
	joined := make([]error, len(errs))
	for i, err := range errs {
		joined[i] = err
	}
	return errors.Join(joined...)
}

// checker collects what is wrong.
type checker struct {
	scenario *Scenario
	errs     []*Error
	names    map[string]*Client
}

func (s *Scenario) problems() []*Error {
	c := &checker{scenario: s, names: make(map[string]*Client)}
	c.require(s.Title != "", "title", "is missing; give the world a name")
	c.require(s.Lasts > 0, "lasts", "is %v; it must be above zero, such as 1m", s.Lasts)
	c.params()
	c.network()
	c.backend()
	c.clients()
	for i := range s.Events {
		c.event(&s.Events[i], fmt.Sprintf("events[%d]", i))
	}
	c.expect()
	return c.errs
}

func (c *checker) require(ok bool, path, format string, args ...any) bool {
	if !ok {
		c.errs = append(c.errs, &Error{Path: path, What: fmt.Sprintf(format, args...)})
	}
	return ok
}

// oneOf requires a name to be among others.
func (c *checker) oneOf(name, path string, names []string) bool {
	return c.require(slices.Contains(names, name), path, "is %q; it must be one of: %s", name, strings.Join(names, ", "))
}

func (c *checker) params() {
	p := &c.scenario.Params
	if !c.require(p.Lease > 0, "params.lease", "is %v; it must be above zero, such as 15s", p.Lease) {
		return
	}
	var broken *session.ParamsError
	if errors.As(p.session().Validate(), &broken) {
		for _, err := range broken.Broken {
			c.require(false, "params", "do not fit: %v", err)
		}
	}
}

func (c *checker) network() {
	n := &c.scenario.Network
	c.span(&n.Delay, "network.delay")
	c.span(&n.Stall, "network.stall")
	c.odds(n.Lose, "network.lose")
	c.odds(n.Duplicate, "network.duplicate")
	if c.odds(n.Late, "network.late") && n.Late > 0 {
		c.require(n.Stall.given() != nil, "network.late", "is %d, and network.stall is missing; say how long late messages take", n.Late)
	}
}

func (c *checker) backend() {
	b := &c.scenario.Backend
	c.notNegative(b.Grants, "backend.grants")
	c.odds(b.Errors, "backend.errors")
	c.span(&b.Slow, "backend.slow")
	c.rate(b.Rate, "backend.rate")
}

func (c *checker) odds(n int64, path string) bool {
	return c.require(n >= 0, path, "is %d; one in so many must be zero, for none, or more", n)
}

func (c *checker) notNegative(d time.Duration, path string) {
	c.require(d >= 0, path, "is %v; it must be zero or more", d)
}

// rate allows zero, for 1.
func (c *checker) rate(r float64, path string) {
	c.require(r == 0 || r >= 1e-9 && r <= 1000, path, "is %v; seconds of the clock in a true second must be from 1e-9 to 1000", r)
}

func (c *checker) span(s *Span, path string) {
	given := s.given()
	c.require(len(given) <= 1, path, "has %s; it must have one of them", strings.Join(given, " and "))
	c.notNegative(s.Constant, path)
	c.notNegative(s.Exponential, path+".exponential")
	if u := s.Uniform; u != nil {
		c.require(len(u) == 2 && u[0] >= 0 && u[0] <= u[1], path+".uniform", "is %v; it must be two durations, the shorter one first, such as [1ms, 5ms]", u)
	}
	if p := s.Pareto; p != nil {
		c.require(p.Least > 0, path+".pareto.least", "is %v; it must be above zero", p.Least)
		c.require(p.Shape > 0, path+".pareto.shape", "is %v; it must be above zero, such as 1.5", p.Shape)
	}
	if s.File != "" && s.samples == nil {
		if err := s.load(s.File); err != nil {
			c.require(false, path+".file", "cannot be used: %v", err)
		}
	}
}

func (c *checker) clients() {
	c.require(len(c.scenario.Clients) > 0, "clients", "are missing; there must be at least one")
	for i := range c.scenario.Clients {
		c.client(&c.scenario.Clients[i], fmt.Sprintf("clients[%d]", i))
	}
}

func (c *checker) client(cl *Client, path string) {
	reserved := []string{"", onStore, onLeader, nobody, somebody, "resource"}
	c.require(!slices.Contains(reserved, cl.Name), path+".name", "is %q; it must be another name than those: %q", cl.Name, reserved)
	c.require(c.names[cl.Name] == nil, path+".name", "is %q; another client has that name already", cl.Name)
	c.notNegative(cl.Starts, path+".starts")
	c.notNegative(cl.Offset, path+".offset")
	c.rate(cl.Rate, path+".rate")
	if cl.With != "" {
		host := c.names[cl.With]
		c.require(host != nil && host.Starts <= cl.Starts, path+".with", "is %q; it must be a client that is listed before, and starts before", cl.With)
		c.require(cl.Rate == 0 && cl.Offset == 0, path+".with", "is %q, whose clock this one has; leave offset and rate out", cl.With)
	}
	c.names[cl.Name] = cl
	for i := range cl.Elections {
		c.election(&cl.Elections[i], fmt.Sprintf("%s.elections[%d]", path, i), cl.Elections[:i])
	}
}

func (c *checker) election(e *Election, path string, before []Election) {
	c.require(e.Name != "", path+".name", "is missing")
	twice := slices.ContainsFunc(before, func(other Election) bool { return other.Name == e.Name })
	c.require(!twice, path+".name", "is %q; the client has an election of that name already", e.Name)
	if e.Listener != nil {
		c.span(&e.Listener.Lasts, path+".listener.lasts")
	}
	if e.Task != nil {
		c.span(&e.Task.Lasts, path+".task.lasts")
		c.span(&e.Task.Tidies, path+".task.tidies")
		c.notNegative(e.Task.Writes, path+".task.writes")
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(policies)), func(name string) bool { return name == "" })
	for _, p := range []struct{ policy, path string }{{e.AfterReturn, "afterReturn"}, {e.AfterFailure, "afterFailure"}} {
		if p.policy != "" {
			c.oneOf(p.policy, path+"."+p.path, names)
		}
	}
}

func (c *checker) event(e *Event, path string) {
	c.require(e.At >= 0 && e.At <= c.scenario.Lasts, path+".at", "is %v; it must be from zero to the end of the world, %v", e.At, c.scenario.Lasts)
	if !c.oneOf(e.Do, path+".do", Actions()) {
		return
	}
	a := actions[e.Do]
	c.on(e, a, path)
	c.fields(e, a, path)
	c.span(&e.For, path+".for")
	c.notNegative(e.Cooldown, path+".cooldown")
	c.notNegative(e.By, path+".by")
	c.rate(e.Rate, path+".rate")
	if e.Message != "" {
		c.oneOf(e.Message, path+".message", Messages())
	}
	if e.Way != "" {
		c.oneOf(e.Way, path+".way", []string{wayTo, wayFrom})
	}
}

// on requires that an event is on somebody that its action can be on.
func (c *checker) on(e *Event, a action, path string) {
	var right []string
	if a.client != nil {
		right = append(slices.Sorted(maps.Keys(c.names)), onLeader)
	}
	if a.store != nil {
		right = append(right, onStore)
	}
	if a.none != nil {
		c.require(e.On == "", path+".on", "is %q; %q is on nobody in particular, leave it out", e.On, e.Do)
		return
	}
	if !c.oneOf(e.On, path+".on", right) {
		return
	}
	cl := c.names[e.On]
	if e.On == onLeader {
		c.require(e.Name != "", path+".name", "is missing; say the leader of what is meant")
	} else if cl != nil {
		c.require(e.At >= cl.Starts, path+".at", "is %v; %s starts only at %v", e.At, cl.Name, cl.Starts)
	}
	if cl != nil && slices.Contains(a.needs, "name") {
		c.oneOf(e.Name, path+".name", cl.electionNames())
	}
}

func (cl *Client) electionNames() (names []string) {
	for i := range cl.Elections {
		names = append(names, cl.Elections[i].Name)
	}
	return names
}

// fields requires an event to have what its action needs, and nothing that it does
// not take.
func (c *checker) fields(e *Event, a action, path string) {
	v := reflect.ValueOf(e).Elem()
	for i, name := range fieldNames(v.Type()) {
		given := !v.Field(i).IsZero()
		leads := name == "name" && e.On == onLeader // whose leader is meant
		switch {
		case name == "at" || name == "do" || name == "on" || leads:
		case slices.Contains(a.needs, name):
			c.require(given, path+"."+name, "is missing; %q needs it", e.Do)
		default:
			right := append(slices.Clone(a.needs), a.takes...)
			c.require(!given || slices.Contains(a.takes, name), path+"."+name, "does not go with %q; %s", e.Do, takes(right))
		}
	}
}

func takes(fields []string) string {
	if len(fields) == 0 {
		return "it takes nothing but at, do and on"
	}
	return "it takes " + strings.Join(fields, ", ")
}

func (c *checker) expect() {
	x := &c.scenario.Expect
	right := append(slices.Sorted(maps.Keys(c.names)), somebody, nobody)
	for _, name := range slices.Sorted(maps.Keys(x.Leader)) {
		c.oneOf(x.Leader[name], "expect.leader."+name, right)
	}
	c.require(x.Terms >= 0, "expect.terms", "is %d; it must be zero, for any number, or more", x.Terms)
	for _, list := range []struct {
		name       string
		situations []string
	}{{"met", x.Met}, {"never", x.Never}} {
		for i, name := range list.situations {
			_, ok := situation(name)
			c.require(ok, fmt.Sprintf("expect.%s[%d]", list.name, i), "is %q; it must be one of: %s", name, situationNames())
		}
	}
	c.invariants("expect.tolerate", x.Tolerate)
	c.invariants("expect.violated", x.Violated)
}

func situationNames() string {
	var names []string
	for _, s := range sim.Situations() {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

func invariantNumbers() string {
	var numbers []string
	for _, i := range sim.Invariants() {
		numbers = append(numbers, strconv.Itoa(i.Number))
	}
	return strings.Join(numbers, ", ")
}

// invariants requires numbers of invariants. That a resource which checks tokens is
// safe rests on no assumption, so there is no world in which it may not be.
func (c *checker) invariants(path string, numbers []int) {
	for i, n := range numbers {
		at := fmt.Sprintf("%s[%d]", path, i)
		_, ok := invariant(n)
		c.require(ok, at, "is %d; it must be the number of an invariant: %s", n, invariantNumbers())
		c.require(n != sim.ResourceSafe.Number, at, "is %d; that the resource is safe holds in every world", n)
	}
}
