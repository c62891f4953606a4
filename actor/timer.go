package actor

import "time"

// timer travels through the mailbox itself, so that Stop can still reach it
// there. It belongs to the actor's goroutine; fire only passes it on.
type timer struct {
	process    *process
	msg        Message
	timer      *time.Timer // nil if it fired at once
	next, prev *timer      // among the pending ones of the actor
	spent      bool        // delivered or stopped
}

func (t *timer) fire() { t.process.mailbox.put(t) }

func (t *timer) Stop() bool {
	if t.spent {
		return false
	}
	t.process.timers.spend(t)
	if t.timer != nil {
		t.timer.Stop()
	}
	return true
}

// timers are an actor's pending timers, newest first. They are kept to be stopped
// with it: a timer of an hour must not hold on to a dead actor for an hour.
type timers struct{ first *timer }

func (l *timers) add(t *timer) {
	if t.next = l.first; t.next != nil {
		t.next.prev = t
	}
	l.first = t
}

// spend marks t as done with, and reports whether it was pending.
func (l *timers) spend(t *timer) bool {
	if t.spent {
		return false
	}
	t.spent = true
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		l.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.next, t.prev = nil, nil
	return true
}

func (l *timers) stop() {
	for l.first != nil {
		l.first.Stop()
	}
}
