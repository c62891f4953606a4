package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// storyteller puts into words what happens in a cluster.
type storyteller struct {
	cluster *Cluster
	seen    map[*Election]election.Status
}

// Tell makes the world tell f what happens in it from now on, for people. It is
// called before the first client starts.
func (c *Cluster) Tell(f func(Entry)) {
	s := &storyteller{cluster: c, seen: make(map[*Election]election.Status)}
	c.World.tell = f
	c.OnTravel(s.travels)
	c.OnDeliver(s.delivered)
	c.OnStep(s.look)
}

// entry tells of something that happens now, if anybody listens.
func (w *World) entry(e Entry) {
	if w.tell != nil {
		e.At = time.Duration(w.now)
		w.tell(e)
	}
}

// fault tells of something that happens to a node.
func (w *World) fault(node, state, format string, args ...any) {
	w.faultTo(node, "", state, format, args...)
}

// faultTo tells of something that happens between two nodes.
func (w *World) faultTo(from, to, state, format string, args ...any) {
	if w.tell != nil {
		w.entry(Entry{Node: from, To: to, Kind: KindFault, State: state, Text: fmt.Sprintf(format, args...)})
	}
}

// travels tells of messages between machines. Writes are told of by the resource.
func (s *storyteller) travels(from, to *Node, msg actor.Message, arrivals []time.Duration) {
	if _, ok := msg.(Write); ok {
		return
	}
	e := Entry{Node: from.name, Kind: KindMessage, To: to.name, Text: sentence(msg), State: "lost"}
	if len(arrivals) == 0 {
		s.cluster.entry(e)
	}
	for i, d := range arrivals {
		e.Until = time.Duration(s.cluster.now) + d
		switch {
		case i > 0:
			e.State = "doubled"
		case d > s.cluster.Params.RenewInterval:
			e.State = "late" // nobody waits for it any more
		default:
			e.State = "sent"
		}
		s.cluster.entry(e)
	}
}

// sentence says what a message to or from the backend is about.
func sentence(msg actor.Message) string {
	switch m := msg.(type) {
	case *backend.OpenRequest:
		return fmt.Sprintf("asks for a session of %v", m.Lease)
	case *backend.OpenAnswer:
		return answer(m.Err, "grants session %s for %v", short(m.Grant.Session), m.Grant.Remaining)
	case *backend.RenewRequest:
		return "renews session " + short(m.Session)
	case *backend.RenewAnswer:
		return answer(m.Err, "keeps the session for %v%s", m.Renewal.Remaining, listing(m.Renewal))
	case *backend.AcquireRequest:
		return "wants " + strings.Join(m.Names, ", ")
	case *backend.AcquireAnswer:
		return answer(m.Err, "answers:%s", outcomes(m.Outcomes))
	case *backend.ReleaseRequest:
		return "gives back" + leases(m.Leases)
	case *backend.ReleaseAnswer:
		return answer(m.Err, "has taken back what was given back")
	case *backend.CloseRequest:
		return "closes session " + short(m.Session)
	case *backend.CloseAnswer:
		return answer(m.Err, "has closed the session")
	case *backend.WatchRequest:
		return fmt.Sprintf("watches +%v -%v", m.Add, m.Remove)
	case *backend.Vacated:
		return "says that " + strings.Join(m.Names, ", ") + " became free"
	}
	return describe(msg)
}

func answer(err error, format string, args ...any) string {
	if err != nil {
		return "fails: " + err.Error()
	}
	return fmt.Sprintf(format, args...)
}

func listing(r backend.Renewal) string {
	if !r.Complete {
		return ""
	}
	if len(r.Leases) == 0 {
		return ", which has no leases"
	}
	return ", which has" + leases(r.Leases)
}

func leases(ls []backend.Lease) string {
	var b strings.Builder
	for _, l := range ls {
		fmt.Fprintf(&b, " %s=%d", l.Name, l.Token)
	}
	return b.String()
}

// delivered tells of what elections ask of the user's code, and of locks.
func (s *storyteller) delivered(to actor.Ref, msg actor.Message) {
	p := to.(*process)
	if w := p.node.watch; w != nil && w.actors[to] != nil && w.actors[to].schedule {
		return // it passes on what the host is told of
	}
	node := p.node.name
	tell := func(k Kind, t *term.Term, state, text string) {
		s.cluster.entry(Entry{Node: node, Kind: k, Name: t.Name(), Token: t.Token(), State: state, Text: text})
	}
	switch m := msg.(type) {
	case election.RunElected:
		tell(KindCallback, m.Term, "elected", "OnElected runs")
	case election.RunRevoked:
		tell(KindCallback, m.Term, "revoked", "OnRevoked runs: "+m.Reason.String())
	case election.CancelTask:
		tell(KindTask, m.Term, "cancelled", "the task is cancelled: "+m.Reason.String())
	case *actor.Request:
		s.asked(to.(*process), m.Message)
	}
}

// asked tells of what users ask for.
func (s *storyteller) asked(to *process, msg actor.Message) {
	e := Entry{Node: to.node.name, Kind: KindElection}
	if a := to.node.watch.actors[to]; a != nil && a.election != nil {
		e.Name, e.State = a.election.name, a.election.Status().String()
	}
	switch m := msg.(type) {
	case election.Stop:
		e.Text = "Stop is asked for"
	case election.StepDown:
		e.Text = fmt.Sprintf("StepDown is asked for, with a cooldown of %v", m.Cooldown)
	case lock.Acquire:
		e.Kind, e.State, e.Text = KindLock, "WAITING", "a lock is asked for"
		e.Name = strings.TrimPrefix(to.name, to.node.name+"/lock ")
	case session.Close:
		e.Kind, e.State, e.Text = KindSession, "CLOSED", "Close is asked for"
	default:
		return
	}
	s.cluster.entry(e)
}

// look tells of elections whose state has changed.
func (s *storyteller) look() {
	for _, cl := range s.cluster.Clients {
		for _, e := range cl.started {
			status := e.Status()
			if was, known := s.seen[e]; known && was == status || !known && status == election.Candidate && !e.joined {
				continue
			}
			s.seen[e] = status
			s.cluster.entry(Entry{Node: cl.name, Kind: KindElection, Name: e.name, State: status.String(), Text: "the election is " + status.String()})
		}
	}
}

// tell puts into words what a client has to say.
func (c *Client) tell(e observe.Event) {
	w := c.world
	if w.tell == nil {
		return
	}
	about := Entry{Node: c.name, Kind: KindSession}
	switch e := e.(type) {
	case observe.SessionOpened:
		about.State, about.Text = "LIVE", fmt.Sprintf("session %s is live for %v", short(e.Session), e.Remaining)
	case observe.SessionShortened:
		about.State, about.Text = "LIVE", fmt.Sprintf("%v were granted instead of %v, so renewals go every %v", e.Granted, e.Asked, e.Interval)
	case observe.SessionSuspended:
		about.State, about.Text = "SUSPENDED", "a renewal failed: "+e.Err.Error()
	case observe.SessionResumed:
		about.State, about.Text = "LIVE", "a renewal succeeded again"
	case observe.SessionEnded:
		about.State, about.Text = "OPENING", fmt.Sprintf("session %s is over: %v", short(e.Session), e.Reason)
		if e.Reason == term.Stopped {
			about.State = "CLOSED"
		}
	case observe.OpenFailed:
		about.State, about.Text = "OPENING", fmt.Sprintf("no session: %v; the next try comes in %v", e.Err, e.Retry)
	case observe.Elected:
		about = c.about(KindTerm, e.Name, e.Token, "begun", "a term begins")
		if t := c.watch.term(e.Name, e.Token); t != nil && t.since < w.now {
			w.tellLate(t.since, about, "")
			return
		}
	case observe.Revoked:
		about = c.about(KindTerm, e.Name, e.Token, "ended", "the term ends: "+e.Reason.String())
		if over := c.overSince(e); over < w.now {
			w.tellLate(over, about, ", which its process noticed later")
			return
		}
	case observe.HandoverTimedOut:
		about = c.about(KindTask, e.Name, e.Token, "cancelled", "the time of the handover is up, and the task still runs")
	case observe.TaskStarted:
		about = c.about(KindTask, e.Name, e.Token, "running", "the task starts")
	case observe.TaskEnded:
		about = c.about(KindTask, e.Name, e.Token, "exited", "the task returns"+failed(e.Err))
	case observe.TaskOverrunning:
		about = c.about(KindTask, e.Name, e.Token, "cancelled", "the task runs on, and its term has ended")
	case observe.CallbackFailed:
		about = c.about(KindCallback, e.Name, e.Token, "", "a callback panics: "+e.Err.Error())
	case observe.CallbackRefused:
		about = c.about(KindCallback, e.Name, e.Token, "", "the executor refuses a callback")
	default:
		return
	}
	w.entry(about)
}

// tellLate tells of something that has happened before.
func (w *World) tellLate(at actor.Instant, e Entry, how string) {
	e.At = time.Duration(at)
	e.Text += how
	w.tell(e)
}

// overSince is the true instant from which on a term that was revoked now has not
// been valid any more.
func (c *Client) overSince(e observe.Revoked) actor.Instant {
	t := c.watch.term(e.Name, e.Token)
	if t == nil || e.Reason != term.DeadlinePassed {
		return c.world.now
	}
	return min(c.world.now, max(t.elected, c.machine.clock.when(c.watch.deadlines[t.term.Session()])))
}

func (c *Client) about(k Kind, name string, token uint64, state, text string) Entry {
	return Entry{Node: c.name, Kind: k, Name: name, Token: token, State: state, Text: text}
}
