package session

import (
	"slices"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/term"
)

// owner is an election or lock of this client.
type owner struct {
	ref       actor.Ref
	names     []string
	candidacy uint64 // 0 if the owner does not contend
	report    bool
	call      uint64 // the attempt under way, 0 if none
	tried     uint64 // the candidacy for which that is made
	queued    bool   // among those that are due
	woken     bool   // a name became free during the attempt
	counted   bool   // among those who want notices about its names
}

// current reports whether the answer to a call is about the owner's candidacy. It is
// not if the call was given up, or the candidacy is another one by now (R28).
func (o *owner) current(id uint64) bool { return o.call == id && o.tried == o.candidacy }

func (o *owner) idle() bool { return o.candidacy != 0 && o.call == 0 && !o.queued }

// set says that all of the owner's names must be won together.
func (o *owner) set() bool { return len(o.names) > 1 }

type (
	beatNow  struct{}
	flushNow struct{}
)

// join is the answer to [Join].
func (s *session) join(m Join) actor.Message {
	if s.machine.State() == Closed {
		return &ClosedError{}
	}
	for _, name := range m.Names {
		if s.owners[name] != nil {
			return &InUseError{Name: name} // R35
		}
	}
	o := &owner{ref: m.Owner, names: m.Names}
	for _, name := range m.Names {
		s.owners[name] = o
	}
	return Done{}
}

func (s *session) leave(ctx actor.Context, m Leave) {
	o := s.owners[m.Name]
	if o == nil || o.ref != m.Owner {
		return
	}
	s.withdraw(ctx, m.Name)
	for _, name := range o.names {
		if h := s.held[name]; h != nil {
			term.End(h.term, term.Stopped) // R23
			delete(s.held, name)
			s.queueRelease(ctx, backend.Lease{Name: name, Token: h.term.Token()}, &pendingRelease{})
		}
		delete(s.owners, name)
	}
	s.publish()
}

func (s *session) contend(ctx actor.Context, m Contend) {
	o := s.owners[m.Name]
	switch {
	case o == nil:
		return // it left
	case s.machine.State() == Closed:
		ctx.Send(o.ref, Lost{Candidacy: m.Candidacy, Err: &ClosedError{}})
		return
	}
	// An attempt for an earlier candidacy is abandoned, like in withdraw. Until it
	// has ended, there is no other (R26).
	o.candidacy, o.report, o.woken = m.Candidacy, m.Report, false
	s.enqueue(ctx, o)
}

func (s *session) withdraw(ctx actor.Context, name string) {
	o := s.owners[name]
	if o == nil || o.candidacy == 0 {
		return
	}
	// The attempt may still be answered. It is not current any more then (R28), and
	// what it won is released (R29).
	o.candidacy, o.woken = 0, false
	s.unwant(ctx, o)
}

// enqueue makes an idle candidate due, together with all that become so before
// the session has handled the messages that wait for it now.
func (s *session) enqueue(ctx actor.Context, o *owner) {
	if !o.idle() || s.id == "" {
		return // without a session, its start will make everybody due
	}
	o.queued = true
	s.due = append(s.due, o)
	s.flushSoon(ctx)
}

func (s *session) flushSoon(ctx actor.Context) {
	if !s.flushing {
		s.flushing = true
		ctx.After(0, flushNow{})
	}
}

// flush sends what has gathered.
func (s *session) flush(ctx actor.Context) {
	s.flushing = false
	s.flushWatches(ctx)
	s.flushReleases(ctx)
	s.flushAttempts(ctx)
}

// takeDue takes from those that are due what travels in one call: single names
// together, and a set by itself. Those that it leaves keep their order.
func (s *session) takeDue() []*owner {
	var taken []*owner
	rest := s.due[:0]
	for _, o := range s.due {
		switch {
		case o.candidacy == 0, s.entangled(o.names):
			o.queued = false
		case len(taken) == 0, !o.set() && !taken[0].set() && len(taken) < backend.MaxBatch:
			o.queued = false
			taken = append(taken, o)
		default:
			rest = append(rest, o)
		}
	}
	clear(s.due[len(rest):])
	if s.due = rest; len(rest) == 0 {
		s.due = nil
	}
	return taken
}

// entangled reports whether a lease of one of the names is not given back yet. The
// backend would answer an attempt with the token of that one. It may even be held:
// its owner withdrew while the win was on its way, contends again, and will release
// it when it hears of it. The candidate is due again when that has settled.
func (s *session) entangled(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return s.held[name] != nil || s.out.names[name] > 0
	})
}

// dropDue is for the end of an incarnation.
func (s *session) dropDue() {
	for _, o := range s.due {
		o.queued = false
	}
	s.due = nil
}

// lost leaves a candidate waiting for the next beat, or tries once more if one of
// its names became free during the attempt (R27).
func (s *session) lost(ctx actor.Context, o *owner, m Lost) {
	o.call = 0
	if o.report || m.Err != nil {
		ctx.Send(o.ref, m)
	}
	s.want(ctx, o)
	if o.woken {
		s.enqueue(ctx, o)
		return
	}
	s.armBeat(ctx)
}

// abandoned is the end of an attempt for a candidacy that was withdrawn. The one
// that has taken its place has waited for that.
func (s *session) abandoned(ctx actor.Context, o *owner) {
	o.call = 0
	s.enqueue(ctx, o)
}

// armBeat schedules the next regular attempt of everybody who waits (R26). They
// share one beat, so that they share calls.
func (s *session) armBeat(ctx actor.Context) {
	if s.beat != nil {
		return
	}
	jitter := time.Duration(0)
	if s.Params.RetryJitter > 0 {
		jitter = time.Duration(ctx.Random(int64(s.Params.RetryJitter)))
	}
	s.beat = ctx.After(s.Params.RenewInterval/2+jitter, beatNow{})
}

// beatAll makes every waiting candidate due.
func (s *session) beatAll(ctx actor.Context) {
	if s.beat != nil {
		s.beat.Stop()
		s.beat = nil
	}
	for _, name := range sortedKeys(s.owners) {
		s.enqueue(ctx, s.owners[name])
	}
}
