package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/cmd/simba/internal/child"
)

// work is CMD, and how it runs under a term.
type work struct {
	cmd      []string
	grace    time.Duration
	signals  *signals
	passOn   chan os.Signal       // signals for CMD
	interval func() time.Duration // between renewals, as in effect
}

func newWork(cmd []string, grace time.Duration, s *signals, c *connection) *work {
	w := &work{cmd: cmd, grace: grace, signals: s, passOn: make(chan os.Signal, 8)}
	w.interval = func() time.Duration { return c.Snapshot().Interval }
	if len(passedOn) > 0 { // Notify would take none for all
		signal.Notify(w.passOn, passedOn...)
	}
	return w
}

// outcome is how CMD has ended.
type outcome struct {
	exit  child.Exit
	err   error // why it did not start, or was not ended as it should
	lost  error // the term was lost, or about to be, against our will
	asked bool  // it did not end by itself, nor because of a loss: we were asked to end, or to step down
}

// error says what the process exits with, nil for 0.
func (o outcome) error() error {
	var start *child.StartError
	switch {
	case o.lost != nil:
		return &exitError{exitLost, o.lost}
	case errors.As(o.err, &start):
		return &exitError{start.Code, o.err}
	case o.err != nil && o.exit.Code == 0:
		return exitOf(o.err)
	case o.err != nil || o.exit.Code != 0:
		return &exitError{o.exit.Code, o.err}
	}
	return nil
}

// under runs CMD until it ends, or ctx or the term does.
func (w *work) under(ctx context.Context, t *simba.Term) outcome {
	w.forgetSignals()
	h := &hold{term: t, grace: w.grace}
	p, err := child.Start(ctx, child.Config{Args: w.cmd, Env: environment(t), Grace: w.grace, Remaining: h.mayRun})
	if err != nil {
		lost := h.lost()
		return outcome{err: causeOf(w.signals.asked, err), lost: lost, asked: lost == nil && ctx.Err() != nil}
	}
	why := w.attend(ctx, p, h)
	exit, err := p.Wait()
	lost := h.lost()
	if lost == nil && why == notRenewed {
		lost = fmt.Errorf("the term of %q with token %d could not be renewed in time", t.Name(), t.Token())
	}
	return outcome{exit, err, lost, lost == nil && why == handedOver}
}

// ending is why CMD has ended.
type ending int

const (
	byItself ending = iota
	handedOver
	notRenewed
)

func environment(t *simba.Term) []string {
	return []string{
		"SIMBA_NAME=" + t.Name(),
		fmt.Sprintf("SIMBA_TOKEN=%d", t.Token()),
		"SIMBA_SESSION=" + t.Session(),
	}
}

// forgetSignals drops those that came while there was nobody to pass them on to.
func (w *work) forgetSignals() {
	for len(w.passOn) > 0 {
		<-w.passOn
	}
}

// attend returns when CMD has ended or has been stopped. If renewals fail, CMD is asked
// to end before it has to be killed.
func (w *work) attend(ctx context.Context, p *child.Process, h *hold) ending {
	for {
		left := h.term.Remaining() - w.notice()
		select {
		case <-p.Done():
			return byItself
		case <-ctx.Done():
			if over(p) {
				return byItself
			}
			w.stop(p, h)
			return handedOver
		case s := <-w.passOn:
			pass(s, p)
		case <-time.After(max(left, 0)):
			if h.term.Remaining() <= w.notice() {
				w.stop(p, h)
				if ctx.Err() != nil {
					return handedOver
				}
				return notRenewed
			}
		}
	}
}

func over(p *child.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// notice is how long before the deadline CMD is asked to end if renewals fail. It
// leaves time for the renewal after one that hung for as long as it may.
func (w *work) notice() time.Duration { return min(w.grace, w.interval()*3/8) }

// stop asks CMD to end, and kills it when the grace is over, when the term must be
// over, or when we are asked a second time.
func (w *work) stop(p *child.Process, h *hold) {
	ctx, cancel := context.WithTimeout(w.signals.forced, h.mayRun())
	defer cancel()
	p.Stop(ctx)
}

// hold is what CMD may rely on.
type hold struct {
	term  *simba.Term
	grace time.Duration

	mu    sync.Mutex
	until time.Time // the end of the grace, once the store has ended the term
}

// mayRun is for how long CMD may run on.
//
// While the deadline is known it is the end, also of an orderly one: nobody else
// can have the lease before. When the store says that the lease is not ours any
// more, whatever the deadline was, nothing is known: CMD may be running elsewhere,
// and killing it at once would undo nothing. It has the grace then.
func (h *hold) mayRun() time.Duration {
	if left := h.term.Remaining(); left > 0 {
		return left
	}
	switch h.term.Reason() {
	case simba.TakenOver, simba.SessionExpired:
		return h.graceLeft()
	}
	return 0
}

func (h *hold) graceLeft() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until.IsZero() {
		h.until = time.Now().Add(h.grace)
	}
	return time.Until(h.until)
}

// lost returns why the term has ended against our will, if it has.
func (h *hold) lost() error {
	if h.term.Reason().Voluntary() {
		return nil
	}
	return h.term.EnsureValid(0)
}
