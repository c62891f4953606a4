package simba

import (
	"context"
	"errors"
	"log/slog"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
)

// logEvent logs what an operator would want to read. What happens all the time is
// left to metrics.
func (c *Client) logEvent(e Event) {
	switch e := e.(type) {
	case observe.SessionOpened:
		c.log.Debug("simba: session opened", "session", e.Session, "remaining", e.Remaining)
	case observe.SessionShortened:
		c.log.Warn("simba: the store grants less of a lease than was asked for, and renewals come more often",
			"session", e.Session, "asked", e.Asked, "granted", e.Granted, "interval", e.Interval)
	case observe.SessionSuspended:
		c.log.Warn("simba: a renewal failed", "session", e.Session, "err", e.Err)
	case observe.SessionResumed:
		c.log.Info("simba: renewals succeed again", "session", e.Session)
	case observe.SessionEnded:
		c.logEnded(e)
	case observe.OpenFailed:
		c.log.Warn("simba: no session could be opened", "err", e.Err, "retry", e.Retry)
	case observe.Elected:
		c.log.Info("simba: elected", "name", e.Name, "token", e.Token)
	case observe.Revoked:
		c.logRevoked("simba: revoked", slog.LevelInfo, e)
	case observe.HandoverTimedOut:
		c.log.Warn("simba: the task did not return before its term was over", "name", e.Name, "token", e.Token)
	case observe.CallbackFailed:
		c.log.Error("simba: a callback panicked", "name", e.Name, "token", e.Token, "err", e.Err, "stack", stackOf(e.Err))
	case observe.CallbackRefused:
		c.log.Warn("simba: the executor refused a callback", "name", e.Name, "token", e.Token, "err", e.Err)
	case observe.TaskEnded:
		c.logTask(e)
	case observe.TaskOverrunning:
		c.log.Warn("simba: a task still runs although its term has ended", "name", e.Name, "token", e.Token)
	case observe.RunEnded:
		c.logRun(e)
	case observe.NoteFailed:
		c.log.Warn("simba: a durable schedule could not reach its note at the store", "name", e.Name, "token", e.Token, "err", e.Err)
	case observe.TicksSkipped:
		c.log.Info("simba: one run makes up for several ticks of a schedule", "name", e.Name, "token", e.Token, "skipped", e.Ticks)
	}
}

// logLock logs the events of locks, which come and go too often to be logged like
// leaders.
func (c *Client) logLock(e Event) {
	switch e := e.(type) {
	case observe.Elected:
		c.log.Debug("simba: locked", "name", e.Name, "token", e.Token)
	case observe.Revoked:
		c.logRevoked("simba: unlocked", slog.LevelDebug, e)
	}
}

// logRevoked warns of what nobody wanted.
func (c *Client) logRevoked(msg string, level slog.Level, e observe.Revoked) {
	if !e.Reason.Voluntary() {
		level = slog.LevelWarn
	}
	c.log.Log(context.Background(), level, msg, "name", e.Name, "token", e.Token, "reason", e.Reason.String())
}

func (c *Client) logEnded(e observe.SessionEnded) {
	if e.Reason.Voluntary() {
		c.log.Debug("simba: session closed", "session", e.Session)
		return
	}
	c.log.Warn("simba: session ended", "session", e.Session, "reason", e.Reason.String())
}

func (c *Client) logTask(e observe.TaskEnded) {
	if stack := stackOf(e.Err); stack != "" {
		c.log.Error("simba: a task panicked", "name", e.Name, "token", e.Token, "err", e.Err, "stack", stack)
		return
	}
	c.log.Debug("simba: a task returned", "name", e.Name, "token", e.Token, "err", e.Err)
}

// logRun tells of the runs that failed.
func (c *Client) logRun(e observe.RunEnded) {
	switch stack := stackOf(e.Err); {
	case stack != "":
		c.log.Error("simba: a run of a schedule panicked", "name", e.Name, "token", e.Token, "err", e.Err, "stack", stack)
	case e.Err != nil:
		c.log.Warn("simba: a run of a schedule failed", "name", e.Name, "token", e.Token, "err", e.Err)
	default:
		c.log.Debug("simba: a run of a schedule returned", "name", e.Name, "token", e.Token, "took", e.Took)
	}
}

// stackOf is that of a panic of the user's code. Other errors are not asked what they wrap: their methods may panic.
func stackOf(err error) string {
	if p, ok := err.(*PanicError); ok {
		return string(p.Stack)
	}
	return ""
}

func (c *Client) logEngineError(err error) {
	var p *actor.PanicError
	if errors.As(err, &p) {
		c.log.Error("simba: a bug in the engine", "err", err, "stack", string(p.Stack))
		return
	}
	c.log.Error("simba: the engine reports", "err", err)
}
