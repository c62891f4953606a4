package backend

import (
	"context"
	"time"

	"github.com/simba-go/simba/actor"
)

// Driver is a store that arbitrates, as blocking calls. [Serve] makes an actor of
// it that speaks the protocol. All methods are safe for concurrent use, return
// soon after their context is done, and treat the arguments as read-only. They may
// rely on what the requests promise: names are valid by [CheckName], there are at
// most [MaxBatch] of them, and a call of Acquire has each once.
//
// An error is [ErrExpired] exactly when the session has ended for good. Every
// other error means that the outcome is unknown, so a driver never repeats a call
// by itself, and never reports a failure as an outcome.
//
// Renew must not have to wait for the other calls: it keeps everything alive.
type Driver interface {
	// Open begins a session that lives for lease unless it is renewed. The store
	// may grant less. Label is any text, also none.
	Open(ctx context.Context, lease time.Duration, label string) (Grant, error)
	// Renew lets the session live for its lease from now on, and never for less than
	// an earlier answer said: a call that was delayed may be carried out after a
	// later one, and its client counts on what it was told last. See [RenewRequest]
	// for known and full.
	Renew(ctx context.Context, session string, known uint64, full bool) (Renewal, error)
	// Acquire tries to take each name by itself or, with all, all or none, and
	// returns an outcome for each, in order. See [AcquireRequest].
	Acquire(ctx context.Context, session string, names []string, all bool) ([]Outcome, error)
	// Release frees those of the leases that the session owns with just this
	// token. Others are no error, nor is a session that has ended.
	Release(ctx context.Context, session string, leases []Lease) error
	// CloseSession ends the session and with it all of its leases, at once. One
	// that has ended already is no error.
	CloseSession(ctx context.Context, session string) error
	// Inspect returns a holder for each name, in order, or for no names, one for
	// each lease that is held, in the byte order of names.
	Inspect(ctx context.Context, names []string) ([]Holder, error)
}

// Watcher is the capability of a [Driver] that can tell sooner than by polling
// that a name has become free.
type Watcher interface {
	// Watch calls vacated for names in set that may have become free, until ctx is
	// done. It returns nil then, and an error if it cannot go on; the caller
	// calls it again after a pause. After every gap in what it can see, it looks
	// at the names anew and reports those that are free: at all in set when it
	// begins, or has been cut off, and at a name when that joins the set, for
	// which there is [NameSet.Joined]. The set may become empty meanwhile.
	//
	// vacated never blocks, keeps nothing of what it is given, and is safe for
	// concurrent use.
	Watch(ctx context.Context, set *NameSet, vacated func(names ...string)) error
}

// Noter is the capability of a [Driver] that keeps notes with its leases; see
// [NoteRequest]. If the driver is not the [Store] itself, the store should have this
// method as well: clients look there for the capability.
type Noter interface {
	// KeepNote replaces the note of a lease by one whose version is greater, and returns
	// what is kept then, all in one step. It does so if the session owns the lease with
	// just this token, and returns whether it does. The zero note replaces none. What
	// it returns survives whatever tokens survive.
	KeepNote(ctx context.Context, session string, lease Lease, note Note) (kept Note, held bool, err error)
}

// Store is what a client opens.
type Store interface {
	// Backend returns a new actor behaviour that speaks the protocol for one
	// client. A store with a [Driver] returns Serve of it.
	Backend() actor.Behavior
}
