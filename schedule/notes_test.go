package schedule_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/schedule"
	"github.com/simba-go/simba/term"
)

// notebook is a backend that keeps the note of one name.
type notebook struct {
	note   backend.Note
	err    error         // instead of doing anything
	unsure bool          // it does it, and answers with an error
	silent bool          // it does it, and does not answer
	lost   bool          // the lease is another's
	takes  time.Duration // before it does anything
	again  time.Duration // after which the network brings each call once more
	r      *rig
}

// Receive implements [actor.Behavior].
func (b *notebook) Receive(ctx actor.Context, msg actor.Message) {
	m, ok := msg.(*backend.NoteRequest)
	if !ok {
		return
	}
	late := *m
	late.Timeout = 0 // it has waited
	if b.takes > 0 && m.Timeout > 0 {
		ctx.After(b.takes, &late)
		return
	}
	if b.again > 0 && m.Timeout > 0 {
		ctx.After(b.again, &late)
	}
	if m.Session != "s" || m.Lease.Name != "report" || m.Lease.Token > b.r.token {
		b.r.t.Errorf("asked for the note of %+v for session %s", m.Lease, m.Session)
	}
	answer := &backend.NoteAnswer{ID: m.ID, Err: b.err, Held: !b.lost && m.Lease.Token == b.r.token}
	if b.err == nil && answer.Held {
		if m.Note.Version > b.note.Version {
			b.note = m.Note
		}
		answer.Note = b.note
	}
	if b.unsure {
		answer.Err = errors.New("who knows")
	}
	if !b.silent {
		ctx.Send(m.ReplyTo, answer)
	}
}

func newDurable(t *testing.T, w schedule.When, delay time.Duration) (*rig, *notebook) {
	b := &notebook{}
	r := newRigOn(t, w, schedule.Options{Delay: delay, Durable: true}, b)
	b.r = r
	return r, b
}

// at is what the note of a tick says that comes so long after noon.
func at(d time.Duration) string { return fmt.Sprintf("tick %d", noon.Add(d).UnixNano()) }

func (r *rig) wantNote(b *notebook, want time.Duration) {
	r.t.Helper()
	if b.note.Text != at(want) {
		r.t.Errorf("the note is %+v, want that of %v", b.note, want)
	}
}

// left is a note of an earlier leader.
func left(text string) backend.Note { return backend.Note{Version: 1, Text: text} }

// TestDurableCron notes each tick before its run, and makes up for those that came
// while nobody led by one run. None is repeated.
func TestDurableCron(t *testing.T) {
	r, b := newDurable(t, schedule.Cron("0 * * * *", "UTC"), 0)
	r.sleep(minute)
	r.lead(100 * time.Hour)
	r.wantNote(b, minute-time.Nanosecond) // from here on
	r.lasts = minute
	r.sleep(2 * time.Hour)
	r.wantStarts(time.Hour, 2*time.Hour)
	r.wantNote(b, 2*time.Hour)
	r.cancel(term.SteppedDown) // during the run at 14:00
	r.sleep(time.Second)
	r.wantExits(1)
	r.sleep(10 * minute)
	r.lead(100 * time.Hour)
	r.sleep(30 * minute)
	r.wantStarts(time.Hour, 2*time.Hour) // 14:00 had its run
	r.cancel(term.SteppedDown)
	r.sleep(3*time.Hour + 10*minute) // past 15:00, 16:00 and 17:00
	r.lead(100 * time.Hour)
	r.sleep(2 * minute)
	if n := len(r.starts); n != 3 {
		t.Errorf("runs begin at %v", r.starts)
	}
	r.wantNote(b, 5*time.Hour)
	if v := r.view.Load(); v.Skipped != 2 {
		t.Errorf("%d ticks are skipped, want 2", v.Skipped)
	}
	var ticks []int64
	for _, e := range r.events {
		if e, ok := e.(observe.RunStarted); ok {
			ticks = append(ticks, e.Tick)
		}
	}
	if want := noon.Add(5 * time.Hour).UnixNano(); len(ticks) != 3 || ticks[2] != want {
		t.Errorf("the ticks are %v", ticks)
	}
	r.clean()
}

// TestDurableAndAClockBehind: a leader whose wall clock is behind repeats no tick.
func TestDurableAndAClockBehind(t *testing.T) {
	r, b := newDurable(t, schedule.Cron("0 * * * *", "UTC"), 0)
	b.note = left(at(time.Hour))
	r.sleep(59 * minute)
	r.lead(100 * time.Hour) // at 12:59, and 13:00 has had its run
	r.sleep(30 * minute)
	r.wantStarts()
	r.sleep(31 * minute)
	r.wantStarts(2 * time.Hour)
	r.clean()
}

// TestDurableRate keeps its rhythm from term to term.
func TestDurableRate(t *testing.T) {
	r, b := newDurable(t, schedule.Rate(10*minute), 0)
	r.sleep(3 * minute)
	r.lead(100 * time.Hour)
	r.sleep(12 * minute)
	r.wantStarts(3*minute, 13*minute)
	r.cancel(term.SteppedDown)
	r.lead(100 * time.Hour)
	r.sleep(9 * minute) // 24 minutes past noon
	r.wantStarts(3*minute, 13*minute, 23*minute)
	r.cancel(term.SteppedDown)
	r.sleep(21 * minute) // past 33 and 43
	r.lead(100 * time.Hour)
	r.sleep(9 * minute)
	r.wantStarts(3*minute, 13*minute, 23*minute, 45*minute, 53*minute)
	r.wantNote(b, 53*minute)
	r.clean()
}

// TestDurableDelay makes nothing of a tick but late.
func TestDurableDelay(t *testing.T) {
	r, b := newDurable(t, schedule.Cron("0 * * * *", "UTC"), 5*minute)
	b.note = left(at(0))
	r.sleep(58 * minute)
	r.lead(100 * time.Hour)
	r.sleep(64 * minute)
	r.wantStarts(63*minute, 2*time.Hour)
	r.clean()
}

// TestNoteThatFails: nothing runs before the note is written, however long that takes.
func TestNoteThatFails(t *testing.T) {
	for what, breakIt := range map[string]func(b *notebook, broken bool){
		"error":  func(b *notebook, broken bool) { b.err = map[bool]error{true: errors.New("no")}[broken] },
		"unsure": func(b *notebook, broken bool) { b.unsure = broken },
		"silent": func(b *notebook, broken bool) { b.silent = broken },
	} {
		t.Run(what, func(t *testing.T) {
			r, b := newDurable(t, schedule.Rate(10*minute), 0)
			breakIt(b, true)
			r.lead(100 * time.Hour)
			r.sleep(5 * minute)
			r.wantStarts()
			breakIt(b, false)
			r.sleep(minute)
			if len(r.starts) != 1 {
				t.Fatalf("runs begin at %v", r.starts)
			}
			breakIt(b, true)
			r.sleep(20 * minute)
			r.wantState(schedule.Noting)
			if len(r.starts) != 1 || r.view.Load().LastErr == nil {
				t.Errorf("runs begin at %v", r.starts)
			}
			breakIt(b, false)
			r.sleep(minute)
			if len(r.starts) != 3 { // for the tick that was to be noted, and one that came meanwhile
				t.Errorf("runs begin at %v", r.starts)
			}
			failed := 0
			for _, e := range r.events {
				if _, ok := e.(observe.NoteFailed); ok {
					failed++
				}
			}
			if failed < 2 {
				t.Errorf("%d failures are told", failed)
			}
			r.clean()
		})
	}
}

// TestNoteThatFailsForLong is asked for ever less often, up to once in a timeout.
func TestNoteThatFailsForLong(t *testing.T) {
	r, b := newDurable(t, schedule.Rate(10*minute), 0)
	b.err = errors.New("no")
	failures := func() (n int) {
		for _, e := range r.events {
			if _, ok := e.(observe.NoteFailed); ok {
				n++
			}
		}
		return n
	}
	r.lead(100 * time.Hour)
	r.sleep(minute)
	if n := failures(); n < 20 || n > 23 { // after 1s, 2s, and then each 3s
		t.Errorf("%d failures in a minute", n)
	}
	b.err = nil
	r.sleep(10 * second)
	r.wantState(schedule.Waiting)
	b.err = errors.New("no")
	r.sleep(r.starts[0] + 10*minute - second - (minute + 10*second)) // up to a second before the next tick
	before := failures()
	r.sleep(3 * second)
	if n := failures() - before; n != 2 { // again after 1s
		t.Errorf("%d failures in the first seconds", n)
	}
}

// TestLateNote: a call that comes a second time undoes nothing, neither the note of a
// later tick nor a note that was taken back.
func TestLateNote(t *testing.T) {
	r, b := newDurable(t, schedule.Rate(10*minute), 0)
	b.again = 10*minute + 100*time.Millisecond // when the next tick has been noted
	r.lead(100 * time.Hour)
	r.sleep(21 * minute)
	r.wantStarts(0, 10*minute, 20*minute)
	r.wantNote(b, 20*minute)
	r.cancel(term.SteppedDown)
	r.lead(100 * time.Hour)
	r.sleep(5 * minute)
	r.wantStarts(0, 10*minute, 20*minute)
	b.again, b.silent = second, true
	r.sleep(4*minute + 100*time.Millisecond)
	r.cancel(term.SteppedDown)
	r.sleep(10 * second)
	r.wantNote(b, 20*minute)
	r.clean()
}

// TestNoteChangedByHand is told, and replaced, whatever version it has.
func TestNoteChangedByHand(t *testing.T) {
	r, b := newDurable(t, schedule.Rate(10*minute), 0)
	r.lead(100 * time.Hour)
	r.sleep(minute)
	b.note = backend.Note{Version: 1000, Text: at(7 * time.Hour)}
	r.sleep(10 * minute)
	r.wantStarts(0, 10*minute+second)
	r.wantNote(b, 10*minute)
	if err := r.view.Load().LastErr; err == nil || !strings.Contains(err.Error(), "of version 1000 instead of") {
		t.Errorf("the last error is %v", err)
	}
	r.clean()
}

// TestNoteOfALostLease: nothing runs, and nothing is asked again.
func TestNoteOfALostLease(t *testing.T) {
	for what, lose := range map[string]func(b *notebook){
		"another's": func(b *notebook) { b.lost = true },
		"expired":   func(b *notebook) { b.err = backend.ErrExpired },
	} {
		t.Run(what, func(t *testing.T) {
			r, b := newDurable(t, schedule.Rate(10*minute), 0)
			r.lead(100 * time.Hour)
			r.sleep(minute)
			lose(b)
			r.sleep(20 * minute)
			r.wantStarts(0)
			r.wantState(schedule.Noting)
			r.cancel(term.TakenOver)
			r.wantExits(1)
			r.wantState(schedule.Idle)
			r.clean()
		})
	}
}

// TestHandoverWhileATickIsNoted: the note is taken back, and the next leader runs the
// tick. Only then has the task exited.
func TestHandoverWhileATickIsNoted(t *testing.T) {
	for what, set := range map[string]func(b *notebook){
		"under way": func(b *notebook) { b.takes = second },
		"unsure":    func(b *notebook) { b.unsure, b.takes = true, second },
		"silent":    func(b *notebook) { b.silent = true },
	} {
		t.Run(what, func(t *testing.T) {
			r, b := newDurable(t, schedule.Rate(10*minute), 0)
			r.lead(100 * time.Hour)
			r.sleep(minute)
			set(b)
			r.sleep(9*minute + 100*time.Millisecond)
			r.wantState(schedule.Noting)
			r.cancel(term.SteppedDown)
			r.wantState(schedule.Leaving)
			r.wantExits(0)
			r.sleep(10 * second)
			r.wantExits(1)
			r.wantStarts(0)
			r.wantNote(b, 0)
			b.takes, b.unsure, b.silent = 0, false, false
			r.lead(100 * time.Hour)
			r.sleep(second)
			if len(r.starts) != 2 {
				t.Errorf("the next leader's runs begin at %v", r.starts)
			}
			r.wantNote(b, 10*minute)
			r.clean()
		})
	}
}

// TestLossWhileATickIsNoted, or taken back: nothing can be written any more, and
// nobody waits.
func TestLossWhileATickIsNoted(t *testing.T) {
	for _, handover := range []bool{false, true} {
		r, b := newDurable(t, schedule.Rate(10*minute), 0)
		r.lead(100 * time.Hour)
		r.sleep(minute)
		b.takes = second
		r.sleep(9*minute + 100*time.Millisecond)
		if handover {
			r.cancel(term.SteppedDown)
		}
		term.End(r.term, term.SessionExpired)
		r.cancel(term.SessionExpired)
		r.wantExits(1)
		r.wantState(schedule.Idle)
		r.sleep(10 * second)
		r.wantExits(1)
		r.wantStarts(0)
		r.clean()
	}
}

// TestAbortWhileATickIsTakenBack says that the task has exited: nothing runs.
func TestAbortWhileATickIsTakenBack(t *testing.T) {
	r, b := newDurable(t, schedule.Rate(10*minute), 0)
	r.lead(100 * time.Hour)
	r.sleep(minute)
	b.takes = second
	r.sleep(9*minute + 100*time.Millisecond)
	r.cancel(term.SteppedDown)
	r.node.Stop(r.ref)
	r.sleep(10 * second)
	if len(r.exits) != 1 || r.exits[0] != error(schedule.ErrAborted) {
		t.Errorf("the exits are %v", r.exits)
	}
}

// TestNoteOfSomebodyElse is reported and replaced.
func TestNoteOfSomebodyElse(t *testing.T) {
	r, b := newDurable(t, schedule.Cron("0 * * * *", "UTC"), 0)
	b.note = left("Dear diary")
	r.sleep(minute)
	r.lead(100 * time.Hour)
	if len(r.reported) != 1 || !strings.Contains(r.reported[0].Error(), `"Dear diary", which no schedule has written`) {
		t.Errorf("reported: %v", r.reported)
	}
	r.wantNote(b, minute-time.Nanosecond)
	r.sleep(time.Hour)
	r.wantStarts(time.Hour)
}

// TestNoteOfAnImpossibleVersion has no note after it, so nothing runs: it would run again.
func TestNoteOfAnImpossibleVersion(t *testing.T) {
	for _, version := range []uint64{math.MaxUint64, 1<<53 - 1} {
		r, b := newDurable(t, schedule.Cron("0 * * * *", "UTC"), 0)
		b.note = backend.Note{Version: version, Text: at(0)}
		r.sleep(minute)
		r.lead(100 * time.Hour)
		r.sleep(2 * time.Hour)
		r.wantStarts()
		if v := r.view.Load(); v.LastErr == nil || !strings.Contains(v.LastErr.Error(), fmt.Sprint(version)) {
			t.Errorf("the error is %v", v.LastErr)
		}
		b.note.Version = 7 // put right
		r.sleep(minute)
		r.wantStarts(2*time.Hour + minute + 3*second)
	}
}
