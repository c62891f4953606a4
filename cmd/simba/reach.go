package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/cmd/simba/internal/control"
)

// follower is an election that may be told to step down, or a schedule.
type follower interface {
	Name() string
	Term() *simba.Term
	StepDown(ctx context.Context, cooldown time.Duration) error
}

// leader is a follower as simba stepdown sees it.
type leader struct {
	follower
	log *slog.Logger
}

// Leads implements [control.Leader].
func (l leader) Leads(session string) uint64 {
	if t := l.Term(); t != nil && t.Session() == session {
		return t.Token()
	}
	return 0
}

// StepDown implements [control.Leader].
func (l leader) StepDown(ctx context.Context, cooldown time.Duration) error {
	l.log.Warn("simba: stepping down, because simba stepdown says so", "name", l.Name(), "for", cooldown)
	return l.follower.StepDown(ctx, cooldown)
}

// reachable lets simba stepdown reach this process, until hangUp hands everything over
// and ends the session. Work does not depend on it.
func (a *app) reachable(c *connection, f follower) (hangUp func()) {
	log := a.global.logger()
	var listener *control.Listener
	if !c.private { // whose leader nobody else can know of
		var err error
		if listener, err = control.Listen(control.Folder(), f.Name(), leader{f, log}); err != nil {
			log.Warn("simba: simba stepdown cannot reach this process", "name", f.Name(), "err", err)
		}
	}
	return func() {
		if err := c.hangUp(a.signals); err != nil {
			log.Warn("simba: the lease was not released, and has to run out", "name", f.Name(), "err", err)
		}
		if listener != nil {
			listener.Close()
		}
	}
}
