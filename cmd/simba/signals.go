package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// signals is what somebody outside wants of us.
type signals struct {
	asked  context.Context // done with the first signal that asks us to end, with a *signalled as the cause
	forced context.Context // done with the second

	endings chan os.Signal
}

// signalled is the cause of a context that a signal has ended.
type signalled struct{ signal syscall.Signal }

func (s *signalled) Error() string { return fmt.Sprintf("stopped by a signal (%v)", s.signal) }

// code is how a shell reports that a signal ended a process.
func (s *signalled) code() int { return 128 + int(s.signal) }

// listen takes over the signals of this process.
func listen() *signals {
	asked, ask := context.WithCancelCause(context.Background())
	forced, force := context.WithCancelCause(context.Background())
	s := &signals{asked: asked, forced: forced, endings: make(chan os.Signal, 3)}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		// Such as by nohup, and by a shell for what it runs in the background.
		if !signal.Ignored(sig) {
			signal.Notify(s.endings, sig)
		}
	}
	go func() {
		ask(causeFrom(<-s.endings))
		force(causeFrom(<-s.endings))
		os.Exit(causeFrom(<-s.endings).code())
	}()
	return s
}

func causeFrom(s os.Signal) *signalled { return &signalled{s.(syscall.Signal)} }
