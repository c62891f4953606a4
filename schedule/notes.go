package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// notes is what a durable schedule keeps at the backend: up to which tick all is done
// with. A tick is noted before its run begins, so that no other leader runs it again.
type notes struct {
	last       uint64 // the number of the last call
	call       uint64 // that is under way, or about to be made again; 0 for none
	request    backend.NoteRequest
	kept       Moment // as the backend has it, as far as is known
	tick       Moment // that is about to be noted
	skipped    int    // ticks that it stands for
	takingBack bool   // a tick was noted, or may have been, and has not run
	sending    bool   // call is under way
}

type (
	noteTimeout struct{ id uint64 }
	noteAgain   struct{ id uint64 }
)

var errNoAnswer = errors.New("simba: the backend did not answer in time")

// forget makes answers that are under way mean nothing.
func (n *notes) forget() { n.call, n.sending, n.takingBack = 0, false, false }

// recall asks for what the last leader has left.
func (s *schedule) recall(ctx actor.Context) { s.ask(ctx, backend.NoteRequest{}) }

// noteBegin is for a name without a note: ticks count from now on, also if this
// leader does not live to see one.
func (s *schedule) noteBegin(ctx actor.Context, m Moment) { s.write(ctx, m) }

// noteTick notes a tick before its run.
func (s *schedule) noteTick(ctx actor.Context, tick Moment, skipped int) {
	if !s.term.Valid() || !s.step(ctx, Note) {
		return // the session is about to say that the term is lost
	}
	s.ticks.armed++
	s.notes.tick, s.notes.skipped = tick, skipped
	s.write(ctx, tick)
}

func (s *schedule) write(ctx actor.Context, m Moment) {
	s.ask(ctx, backend.NoteRequest{Write: true, Note: fmt.Sprintf("%s%d", notePrefix, int64(m))})
}

// notePrefix is how the note of a schedule begins. A moment follows.
const notePrefix = "tick "

// momentOf reads a note.
func momentOf(note string) (m Moment, ok bool) {
	digits, ok := strings.CutPrefix(note, notePrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	return Moment(n), ok && err == nil
}

// ask makes a call. One is under way at a time.
func (s *schedule) ask(ctx actor.Context, r backend.NoteRequest) {
	n := &s.notes
	n.last++
	r.Call = backend.Call{ID: n.last, ReplyTo: ctx.Self(), Timeout: s.Timeout}
	r.Session, r.Lease = s.term.Session(), backend.Lease{Name: s.term.Name(), Token: s.term.Token()}
	n.call, n.request, n.sending = n.last, r, true
	ctx.After(s.Timeout, noteTimeout{n.last})
	s.later(s.Backend, &r)
}

// noteAgain makes a call again that has failed.
func (s *schedule) noteAgain(ctx actor.Context, m noteAgain) {
	if m.id == s.notes.call {
		s.ask(ctx, s.notes.request)
	}
}

// noted is the answer of the backend, or that there was none.
func (s *schedule) noted(ctx actor.Context, m *backend.NoteAnswer) {
	n := &s.notes
	if m.ID != n.call || !n.sending {
		return
	}
	n.sending = false
	if m.Err != nil {
		s.shown.LastErr = m.Err
		s.Sink(observe.NoteFailed{Name: s.Name, Token: s.term.Token(), Err: m.Err})
	}
	switch {
	case s.machine.State() == Leaving:
		s.tookBack(ctx)
	case errors.Is(m.Err, backend.ErrExpired), m.Err == nil && !m.Held:
		n.call = 0 // the term is lost, and the session is about to say so
	case m.Err != nil:
		ctx.After(s.Pause, noteAgain{n.call})
	default:
		n.call = 0
		s.agreed(ctx, m.Note)
	}
}

// agreed goes on after a call that has succeeded.
func (s *schedule) agreed(ctx actor.Context, note string) {
	n := &s.notes
	kept, ok := momentOf(note)
	switch {
	case ok:
		n.kept, s.ticks.after, s.ticks.fresh = kept, kept, false
	case note != "":
		ctx.Report(fmt.Errorf("simba: the note of %q is %q, which no schedule has written; it is replaced", s.Name, note))
	}
	if s.machine.State() == Noting {
		s.run(ctx, n.tick, n.skipped)
		return
	}
	s.watch(ctx)
}

// takeBack is for a term that is about to end while a tick is noted. The next leader
// shall run it, so the note becomes what it was. The calls are made one after the
// other, because a backend may carry them out in any order.
func (s *schedule) takeBack(ctx actor.Context, reason term.Reason) {
	n := &s.notes
	if !reason.Voluntary() || !s.term.Valid() {
		n.forget() // there is nothing that could still be written under this term
		s.gone(ctx)
		return
	}
	if n.takingBack {
		return
	}
	n.takingBack = true
	if !n.sending {
		s.write(ctx, n.kept)
	}
}

// tookBack goes on when a call was answered while the term is about to end: first
// that which may have noted the tick, then that which takes the note back.
func (s *schedule) tookBack(ctx actor.Context) {
	if n := &s.notes; n.request.Note != fmt.Sprintf("%s%d", notePrefix, int64(n.kept)) {
		s.write(ctx, n.kept)
		return
	}
	s.notes.forget()
	s.gone(ctx)
}

// gone is the end of a term under which nothing runs.
func (s *schedule) gone(ctx actor.Context) {
	if s.step(ctx, Return) {
		s.leave()
	}
}
