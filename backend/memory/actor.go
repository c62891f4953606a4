package memory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// NewActor returns the behaviour of an arbiter that owns the model and serves any
// number of clients. It answers each request within the step that receives it, and
// is deterministic: time, timers and the ids of sessions come from its context
// alone, and the order of what it sends from the order of what it is sent. Use
// [Store] where the arbiter need not be simulated.
//
// It does not notice that a client is gone: notices for an actor that ended with
// names still in its [backend.WatchRequest]s become dead letters.
func NewActor(model *Model) actor.Behavior { return &arbiter{model: model} }

type arbiter struct {
	model    *Model
	audience backend.Audience
	alarm    actor.Timer   // nil if no name that somebody waits for has an owner
	next     actor.Instant // when the alarm goes off
}

// expiry is the arbiter's alarm: the session of somebody's owner may have expired.
type expiry struct{}

func (a *arbiter) Receive(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case actor.Started, actor.Stopping:
	case *backend.OpenRequest:
		a.open(ctx, m)
	case *backend.RenewRequest:
		a.renew(ctx, m)
	case *backend.AcquireRequest:
		a.acquire(ctx, m)
	case *backend.ReleaseRequest:
		a.release(ctx, m)
	case *backend.CloseRequest:
		a.close(ctx, m)
	case *backend.InspectRequest:
		a.inspect(ctx, m)
	case *backend.NoteRequest:
		a.note(ctx, m)
	case *backend.WatchRequest:
		joined, _ := a.audience.Update(m)
		a.look(ctx, joined)
	case expiry:
		a.alarm = nil
		a.look(ctx, a.audience.Names())
	default:
		ctx.Report(fmt.Errorf("simba: a backend takes the requests of its protocol, as pointers, and not a %T", msg))
	}
}

func (a *arbiter) open(ctx actor.Context, m *backend.OpenRequest) {
	answer := &backend.OpenAnswer{ID: m.ID, Err: m.Check("open")}
	if answer.Err == nil {
		answer.Grant, answer.Err = a.model.Open(ctx.Now(), newID(ctx), m.Lease, m.Label)
	}
	ctx.Send(m.ReplyTo, answer)
}

// newID draws 128 bits (R3).
func newID(ctx actor.Context) string {
	var b strings.Builder
	for range 4 {
		fmt.Fprintf(&b, "%08x", ctx.Random(1<<32))
	}
	return b.String()
}

func (a *arbiter) renew(ctx actor.Context, m *backend.RenewRequest) {
	answer := &backend.RenewAnswer{ID: m.ID, Err: m.Check("renew")}
	if answer.Err == nil {
		answer.Renewal, answer.Err = a.model.Renew(ctx.Now(), m.Session, m.Known, m.Full)
	}
	ctx.Send(m.ReplyTo, answer)
}

func (a *arbiter) acquire(ctx actor.Context, m *backend.AcquireRequest) {
	answer := &backend.AcquireAnswer{ID: m.ID, Err: m.Check("acquire")}
	if answer.Err == nil {
		answer.Outcomes, answer.Err = a.model.Acquire(ctx.Now(), m.Session, m.Names, m.All)
	}
	var won []string
	for _, o := range answer.Outcomes {
		if o.Won && a.audience.Has(o.Name) {
			won = append(won, o.Name)
		}
	}
	ctx.Send(m.ReplyTo, answer)
	a.look(ctx, won) // the alarm may have to go off for this owner first
}

func (a *arbiter) release(ctx actor.Context, m *backend.ReleaseRequest) {
	answer := &backend.ReleaseAnswer{ID: m.ID, Err: m.Check("release")}
	var vacated []string
	if answer.Err == nil {
		vacated = a.model.Release(ctx.Now(), m.Session, m.Leases)
	}
	ctx.Send(m.ReplyTo, answer)
	a.audience.Notify(ctx, vacated...)
}

func (a *arbiter) close(ctx actor.Context, m *backend.CloseRequest) {
	answer := &backend.CloseAnswer{ID: m.ID, Err: m.Check("close")}
	var vacated []string
	if answer.Err == nil {
		vacated = slices.Collect(a.model.Close(ctx.Now(), m.Session))
	}
	ctx.Send(m.ReplyTo, answer)
	a.audience.Notify(ctx, vacated...)
}

func (a *arbiter) inspect(ctx actor.Context, m *backend.InspectRequest) {
	answer := &backend.InspectAnswer{ID: m.ID, Err: m.Check("inspect")}
	if answer.Err == nil {
		answer.Holders = a.model.Inspect(ctx.Now(), m.Names)
	}
	ctx.Send(m.ReplyTo, answer)
}

// look tells the audience which of the names are vacant, and sees to it that the
// alarm goes off when the first of the others may become so by expiry.
func (a *arbiter) look(ctx actor.Context, names []string) {
	now := ctx.Now()
	vacant, next := a.model.Vacant(now, names)
	a.audience.Notify(ctx, vacant...)
	switch {
	case next == actor.MaxInstant:
		return
	case a.alarm == nil:
	case next.Before(a.next):
		a.alarm.Stop()
	default:
		return
	}
	a.next = next
	a.alarm = ctx.After(next.Sub(now), expiry{})
}
