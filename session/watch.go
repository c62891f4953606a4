package session

import (
	"slices"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// watches are the names whose release somebody waits for.
type watches struct {
	count    map[string]int // by candidates and watchers
	watchers map[string][]actor.Ref
	told     map[string]struct{} // what the backend watches for us
	changed  map[string]struct{} // names for which told may be wrong
	inspects map[uint64]inspectCall
}

type inspectCall struct {
	replyTo actor.Ref
	timeout actor.Timer
}

type inspectTimeout struct{ id uint64 }

func newWatches() watches {
	return watches{
		count:    make(map[string]int),
		watchers: make(map[string][]actor.Ref),
		told:     make(map[string]struct{}),
		changed:  make(map[string]struct{}),
		inspects: make(map[uint64]inspectCall),
	}
}

// want asks for notices about a candidate's names. It is called once an attempt
// was lost, so that those who win at once cost nothing; a backend that gives
// notices looks at a name when it is asked for it, and so nothing is missed.
func (s *session) want(ctx actor.Context, o *owner) {
	if o.counted {
		return
	}
	o.counted = true
	for _, name := range o.names {
		s.countUp(name)
	}
	s.flushSoon(ctx)
}

// unwant takes it back.
func (s *session) unwant(ctx actor.Context, o *owner) {
	if !o.counted {
		return
	}
	o.counted = false
	for _, name := range o.names {
		s.countDown(name)
	}
	s.flushSoon(ctx)
}

func (s *session) countUp(name string) {
	s.watching.count[name]++
	s.watching.changed[name] = struct{}{}
}

func (s *session) countDown(name string) {
	if s.watching.count[name]--; s.watching.count[name] == 0 {
		delete(s.watching.count, name)
	}
	s.watching.changed[name] = struct{}{}
}

// flushWatches tells the backend what has changed since the last time.
func (s *session) flushWatches(ctx actor.Context) {
	m := &backend.WatchRequest{ReplyTo: ctx.Self()}
	for _, name := range sortedKeys(s.watching.changed) {
		wanted := s.watching.count[name] > 0
		_, told := s.watching.told[name]
		switch {
		case wanted && !told:
			m.Add = append(m.Add, name)
			s.watching.told[name] = struct{}{}
		case !wanted && told:
			m.Remove = append(m.Remove, name)
			delete(s.watching.told, name)
		}
	}
	clear(s.watching.changed)
	if len(m.Add)+len(m.Remove) > 0 {
		ctx.Send(s.Backend, m)
	}
}

func (s *session) watch(ctx actor.Context, name string, watcher actor.Ref) {
	if s.machine.State() == Closed {
		return
	}
	s.watching.watchers[name] = append(s.watching.watchers[name], watcher)
	s.countUp(name)
	s.flushSoon(ctx)
}

func (s *session) unwatch(ctx actor.Context, name string, watcher actor.Ref) {
	i := slices.Index(s.watching.watchers[name], watcher)
	if i < 0 {
		return
	}
	s.watching.watchers[name] = slices.Delete(s.watching.watchers[name], i, i+1)
	if len(s.watching.watchers[name]) == 0 {
		delete(s.watching.watchers, name)
	}
	s.countDown(name)
	s.flushSoon(ctx)
}

// unwatchAll is for the end of the session.
func (s *session) unwatchAll(ctx actor.Context) {
	for name, watchers := range s.watching.watchers { //simba:unordered it only counts
		for range watchers {
			s.countDown(name)
		}
	}
	clear(s.watching.watchers)
	s.flushSoon(ctx)
}

// vacated passes a notice on (R27). A candidate whose attempt is under way tries once
// more after it, however many notices arrive meanwhile.
func (s *session) vacated(ctx actor.Context, names []string) {
	for _, name := range names {
		if o := s.owners[name]; o != nil && o.candidacy != 0 {
			o.woken = o.call != 0
			s.enqueue(ctx, o)
		}
		for _, w := range s.watching.watchers[name] {
			ctx.Send(w, &backend.Vacated{Names: []string{name}})
		}
	}
}

func (s *session) inspect(ctx actor.Context, m Inspect, replyTo actor.Ref) {
	if s.machine.State() == Closed {
		ctx.Send(replyTo, &ClosedError{})
		return
	}
	c := s.newCall(ctx, s.interval)
	s.watching.inspects[c.ID] = inspectCall{replyTo: replyTo, timeout: ctx.After(c.Timeout, inspectTimeout{c.ID})}
	ctx.Send(s.Backend, &backend.InspectRequest{Call: c, Names: m.Names})
}

func (s *session) inspected(ctx actor.Context, m *backend.InspectAnswer) {
	if c, ok := s.watching.inspects[m.ID]; ok {
		delete(s.watching.inspects, m.ID)
		c.timeout.Stop()
		ctx.Send(c.replyTo, m)
	}
}
