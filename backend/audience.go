package backend

import (
	"maps"
	"slices"

	"github.com/simba-go/simba/actor"
)

// Audience is who wants to hear of which names: what an actor keeps that answers
// [WatchRequest]s. Its zero value is empty. It belongs to one actor, so it is not
// safe for concurrent use.
type Audience struct{ byName map[string][]actor.Ref }

// Update applies a request. It returns the names that somebody wants now and
// nobody wanted before, and the other way round.
func (a *Audience) Update(r *WatchRequest) (joined, left []string) {
	if a.byName == nil {
		a.byName = make(map[string][]actor.Ref)
	}
	for _, name := range r.Remove {
		refs, wanted := a.byName[name]
		i := slices.Index(refs, r.ReplyTo)
		switch {
		case !wanted || i < 0:
		case len(refs) == 1:
			delete(a.byName, name)
			left = append(left, name)
		default:
			a.byName[name] = slices.Delete(refs, i, i+1)
		}
	}
	for _, name := range r.Add {
		refs, wanted := a.byName[name]
		if slices.Contains(refs, r.ReplyTo) {
			continue
		}
		a.byName[name] = append(refs, r.ReplyTo)
		if !wanted {
			joined = append(joined, name)
		}
	}
	return joined, left
}

// Has reports whether somebody wants to hear of name.
func (a *Audience) Has(name string) bool {
	_, ok := a.byName[name]
	return ok
}

// Names returns the names that somebody wants to hear of, in order.
func (a *Audience) Names() []string { return slices.Sorted(maps.Keys(a.byName)) }

// Notify sends each of the audience one [*Vacated] notice of those names that it
// wants to hear of, and nothing to the others. The order of the notices depends on
// the order of names and of the requests alone.
func (a *Audience) Notify(ctx actor.Context, names ...string) {
	var order []actor.Ref
	notices := make(map[actor.Ref]*Vacated)
	for _, name := range names {
		for _, ref := range a.byName[name] {
			notice := notices[ref]
			if notice == nil {
				notice = &Vacated{}
				notices[ref] = notice
				order = append(order, ref)
			}
			notice.Names = append(notice.Names, name)
		}
	}
	for _, ref := range order {
		ctx.Send(ref, notices[ref])
	}
}
