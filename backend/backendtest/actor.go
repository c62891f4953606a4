package backendtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// FromActor runs a backend that speaks the protocol as an actor, and returns a
// driver, which is a [backend.Watcher] and a [backend.Noter] as well, that talks to it
// by messages. The options are those of its [actor.System]. tb.Cleanup stops the actor;
// one that does not end fails the test, and so does an error that it reports.
func FromActor(tb testing.TB, b actor.Behavior, options ...actor.Option) backend.Driver {
	options = append(slices.Clone(options), actor.WithErrors(func(err error) { tb.Errorf("the backend reports: %v", err) }))
	system := actor.NewSystem(options...)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), long)
		defer cancel()
		if err := system.Shutdown(ctx); err != nil {
			tb.Errorf("the backend's actor does not end: %v", err)
		}
	})
	return &asker{backend: system.Spawn("backend", b)}
}

// asker turns calls into requests.
type asker struct {
	backend actor.Ref
	ids     atomic.Uint64
}

// reply is where the answer to one request goes. It has room for one.
type reply chan actor.Message

// Tell implements [actor.Ref].
func (r reply) Tell(msg actor.Message) {
	select {
	case r <- msg:
	default:
	}
}

func (r reply) String() string { return "reply" }

// ask sends what request makes of the call and returns the answer's three parts.
func ask[A, T any](ctx context.Context, a *asker, request func(backend.Call) any, parts func(A) (uint64, T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	timeout := long
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(time.Until(deadline), 1)
	}
	answers := make(reply, 1)
	id := a.ids.Add(1)
	a.backend.Tell(request(backend.Call{ID: id, ReplyTo: answers, Timeout: timeout}))
	select {
	case <-ctx.Done():
		return result, ctx.Err()
	case msg := <-answers:
		answer, ok := msg.(A)
		if !ok {
			return result, fmt.Errorf("the backend answered with a %T, and not with a %T", msg, answer)
		}
		repeated, result, err := parts(answer)
		if repeated != id {
			return result, fmt.Errorf("the backend's answer has the id %d in place of %d", repeated, id)
		}
		return result, err
	}
}

func (a *asker) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	return ask(ctx, a,
		func(c backend.Call) any { return &backend.OpenRequest{Call: c, Lease: lease, Label: label} },
		func(r *backend.OpenAnswer) (uint64, backend.Grant, error) { return r.ID, r.Grant, r.Err })
}

func (a *asker) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	return ask(ctx, a,
		func(c backend.Call) any {
			return &backend.RenewRequest{Call: c, Session: session, Known: known, Full: full}
		},
		func(r *backend.RenewAnswer) (uint64, backend.Renewal, error) { return r.ID, r.Renewal, r.Err })
}

func (a *asker) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	return ask(ctx, a,
		func(c backend.Call) any {
			return &backend.AcquireRequest{Call: c, Session: session, Names: slices.Clone(names), All: all}
		},
		func(r *backend.AcquireAnswer) (uint64, []backend.Outcome, error) { return r.ID, r.Outcomes, r.Err })
}

func (a *asker) Release(ctx context.Context, session string, leases []backend.Lease) error {
	_, err := ask(ctx, a,
		func(c backend.Call) any {
			return &backend.ReleaseRequest{Call: c, Session: session, Leases: slices.Clone(leases)}
		},
		func(r *backend.ReleaseAnswer) (uint64, struct{}, error) { return r.ID, struct{}{}, r.Err })
	return err
}

func (a *asker) CloseSession(ctx context.Context, session string) error {
	_, err := ask(ctx, a,
		func(c backend.Call) any { return &backend.CloseRequest{Call: c, Session: session} },
		func(r *backend.CloseAnswer) (uint64, struct{}, error) { return r.ID, struct{}{}, r.Err })
	return err
}

func (a *asker) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	return ask(ctx, a,
		func(c backend.Call) any { return &backend.InspectRequest{Call: c, Names: slices.Clone(names)} },
		func(r *backend.InspectAnswer) (uint64, []backend.Holder, error) { return r.ID, r.Holders, r.Err })
}

// KeepNote implements [backend.Noter].
func (a *asker) KeepNote(ctx context.Context, session string, l backend.Lease, note backend.Note) (kept backend.Note, held bool, err error) {
	answer, err := ask(ctx, a,
		func(c backend.Call) any {
			return &backend.NoteRequest{Call: c, Session: session, Lease: l, Note: note}
		},
		func(r *backend.NoteAnswer) (uint64, backend.NoteAnswer, error) { return r.ID, *r, r.Err })
	return answer.Note, answer.Held, err
}

// notices is where the notices of one Watch go.
type notices struct {
	mu      sync.Mutex
	vacated func(names ...string)
}

// Tell implements [actor.Ref].
func (n *notices) Tell(msg actor.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := msg.(*backend.Vacated); ok && n.vacated != nil {
		n.vacated(v.Names...)
	}
}

func (n *notices) String() string { return "notices" }

func (n *notices) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.vacated = nil
}

// Watch implements [backend.Watcher] by watch requests, one for each change of set.
func (a *asker) Watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	to := &notices{vacated: vacated}
	defer to.end()
	var before []string
	for serial := uint64(0); ; {
		fresh, now, changed := set.Joined(serial)
		serial = now
		names, _ := set.Names()
		// What has left and joined again is in both.
		a.backend.Tell(&backend.WatchRequest{ReplyTo: to, Add: fresh, Remove: append(without(before, names), fresh...)})
		before = names
		select {
		case <-changed:
		case <-ctx.Done():
			a.backend.Tell(&backend.WatchRequest{ReplyTo: to, Remove: before})
			return nil
		}
	}
}

// without returns those of names that are not in others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
