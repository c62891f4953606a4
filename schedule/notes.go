package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/term"
)

// notes is what a durable schedule keeps at the backend: up to which tick all is done
// with. A tick is noted before its run begins, so that no other leader runs it again.
// Each note has a greater version than the one before, so that none is undone by a call
// that is late.
type notes struct {
	last       uint64 // the number of the last call
	call       uint64 // that is under way, or about to be made again; 0 for none
	request    backend.NoteRequest
	version    uint64 // of the newest note that is known, or was sent
	kept       Moment // as the backend has it, as far as is known
	tick       Moment // that is about to be noted
	skipped    int    // ticks that it stands for
	takingBack bool   // a tick was noted, or may have been, and has not run
	sending    bool   // call is under way
	failures   int    // in a row
}

type (
	noteTimeout struct{ id uint64 }
	noteAgain   struct{ id uint64 }
)

var errNoAnswer = errors.New("simba: the backend did not answer in time")

// forget makes answers that are under way mean nothing.
func (n *notes) forget() { n.call, n.sending, n.takingBack, n.failures = 0, false, false, 0 }

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
	s.notes.version++
	s.ask(ctx, backend.NoteRequest{Note: backend.Note{Version: s.notes.version, Text: fmt.Sprintf("%s%d", notePrefix, int64(m))}})
}

// tooNew is a version after which there is none; see [backend.Note].
const tooNew = 1<<53 - 1

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
	err := m.Err
	if err == nil && m.Held {
		err = s.compare(m.Note)
	}
	if err != nil {
		s.shown.LastErr = err
		s.Sink(observe.NoteFailed{Name: s.Name, Token: s.term.Token(), Err: err})
	}
	switch {
	case s.machine.State() == Leaving:
		n.forget() // taken back or not: nobody waits any longer
		s.gone(ctx)
	case errors.Is(err, backend.ErrExpired), err == nil && !m.Held:
		n.call = 0 // the term is lost, and the session is about to say so
	case err != nil:
		ctx.After(s.backoff(), noteAgain{n.call})
		n.failures++
	default:
		n.call, n.failures = 0, 0
		s.agreed(ctx, m.Note.Text)
	}
}

// backoff doubles with each failure in a row, up to the timeout of a call.
func (s *schedule) backoff() time.Duration {
	d := s.Timeout
	if shift := min(s.notes.failures, 62); s.Pause <= d>>shift {
		d = s.Pause << shift
	}
	return d
}

// compare takes what is kept for known, and returns an error if a note was to be kept
// and another one is. As nobody else writes under this term, somebody has changed it by
// hand; the next call is for a newer one, unless there is none: then nothing runs.
func (s *schedule) compare(kept backend.Note) error {
	n := &s.notes
	if kept.Version >= tooNew {
		return fmt.Errorf("simba: the backend keeps the note %q of version %d, which must be below %d; delete it, or set its version to 1", kept.Text, kept.Version, uint64(tooNew))
	}
	n.version = max(n.version, kept.Version)
	if wanted := &n.request.Note; wanted.Version > 0 && kept != *wanted {
		n.version++
		err := fmt.Errorf("simba: the backend keeps the note %q of version %d instead of %q of version %d", kept.Text, kept.Version, wanted.Text, wanted.Version)
		wanted.Version = n.version
		return err
	}
	return nil
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
// shall run it, so the note becomes what it was. Its version is above that of the tick's,
// so it does not matter which of the two calls the backend carries out first.
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
	s.write(ctx, n.kept)
}

// gone is the end of a term under which nothing runs.
func (s *schedule) gone(ctx actor.Context) {
	if s.step(ctx, Return) {
		s.leave()
	}
}
