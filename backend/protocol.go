// Package backend is the border between Simba and the store that arbitrates.
//
// The session's actor talks to its backend by the messages of this file. A store
// joins in one of two ways: it implements the small blocking [Driver], which
// [Serve] turns into an actor that speaks them, or it is such an actor itself.
//
// # What a backend promises
//
// A lease is good if and only if its session's record is alive. Session ids are
// never reused. Before anything is taken from a session that has expired, the
// session is ended for ever. So death is monotone: ending a session is one small
// write however many leases it holds, and no late renewal can bring it back.
//
// # Messages
//
// Every message is sent as a pointer: a [*RenewRequest], answered by a
// [*RenewAnswer], and a [*Vacated] notice. Neither side touches it, or what it
// refers to, after it was sent.
//
// Requests may be carried out in any order, also those of one sender: whoever
// needs an order waits for the answer in between.
package backend

import (
	"errors"
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
)

// ErrExpired is the answer for a session that the backend has let expire, or that
// was closed: it is final. A [Driver] returns it, or an error that wraps it, and
// for nothing else. A session that the backend has never heard of has expired.
var ErrExpired = errors.New("simba: the session has expired at the backend")

// ErrNoNotes is the answer of a backend that keeps no notes.
var ErrNoNotes = errors.New("simba: this backend keeps no notes with its leases")

// Lease is a backend's record that a session owns Name.
type Lease struct {
	Name string
	// Token is above zero and below 2^53, so that it survives a detour through a
	// floating-point number. Each new owner of a name gets a greater one than any
	// before, whether the lease was released, its session closed or expired, or
	// the store restarted: the last token of a name is kept for good.
	Token uint64
}

// Grant is a backend's answer to opening a session.
type Grant struct {
	// Session names this incarnation. It is never used again.
	Session string
	// Remaining is for how long the session lives from the moment at which the
	// backend handled the request, by the backend's clock. It may be less than
	// what was asked for.
	Remaining time.Duration
}

// Renewal is a backend's answer to renewing a session. Remaining is as in [Grant],
// and Leases are those that the session owns.
type Renewal struct {
	Remaining time.Duration
	// Revision changes whenever the session's set of leases does, and never comes
	// back: within a session, no two sets have the same one. It is above zero.
	Revision uint64
	// Complete says that Leases is the whole set of the session's leases, in any
	// order. It may be false only if the caller knows this Revision and did not
	// insist; Leases is then empty.
	Complete bool
	Leases   []Lease
}

// Note is a short text that a backend keeps with a name: see [NoteRequest].
type Note struct {
	// Version says which of two notes of a name is the newer one: it has the greater
	// one. It is above zero and below 2^53; 0 means that there is no note.
	Version uint64
	Text    string // at most [MaxNote] bytes of UTF-8
}

// Outcome is a backend's answer for one Name that a session tried to acquire.
type Outcome struct {
	Name string
	// Won says that the session owns the lease, whether since now or before. What
	// it owned before it keeps, also if all of the request's names had to be free
	// and were not.
	Won   bool
	Token uint64 // if Won
	// Holder is who owns the lease otherwise. It is vacant for a name that was not
	// taken because all names of the request had to be free.
	Holder Holder
}

// Holder is who owns Name, for people who watch: the Session, with a Token.
type Holder struct {
	Name string
	// Held is false for a vacant name; the rest is then zero.
	Held    bool
	Session string
	Label   string // as the session gave it when it was opened
	Token   uint64
	// Remaining is for how long the holder's session lives if it is not renewed.
	Remaining time.Duration
}

// The requests. Each carries an ID that its answer repeats, ReplyTo as the address
// for that answer, and how long the asker waits for it: a backend gives up then,
// for nobody listens any more. No answer within Timeout means that the outcome is
// unknown. Session names the session that asks.
type (
	// Call is what all requests have in common.
	Call struct {
		ID      uint64
		ReplyTo actor.Ref
		// Timeout is above zero. A request without one is not carried out, and is
		// answered with a [*TimeoutError].
		Timeout time.Duration
	}
	// OpenRequest opens a session. It is answered by [OpenAnswer].
	OpenRequest struct {
		Call
		Lease time.Duration // how long the session should live without a renewal
		Label string        // shown to people as the holder of its leases
	}
	// RenewRequest renews a session. It is answered by [RenewAnswer].
	RenewRequest struct {
		Call
		Session string
		Known   uint64 // the revision of the last complete list that the session saw, 0 for none
		Full    bool   // the list is wanted even if that is still its revision
	}
	// AcquireRequest tries to acquire names, each by itself, or all or none. It is
	// answered by [AcquireAnswer]. A name that the session owns already is won,
	// with the token that it has. For a session that has expired, nothing changes.
	AcquireRequest struct {
		Call
		Session string
		Names   []string // valid ones, without repetition, at most [MaxBatch]
		All     bool     // take none unless afterwards the session owns all
	}
	// ReleaseRequest frees leases. Those that the session does not own with just
	// this token are left alone, silently. It is answered by [ReleaseAnswer].
	ReleaseRequest struct {
		Call
		Session string
		Leases  []Lease // at most [MaxBatch]
	}
	// CloseRequest ends a session, and with it all of its leases. It is answered
	// by [CloseAnswer]; that the session has expired already is no error.
	CloseRequest struct {
		Call
		Session string
	}
	// InspectRequest asks who owns names, or for no names, who owns which. It is
	// answered by [InspectAnswer].
	InspectRequest struct {
		Call
		Names []string // at most [MaxBatch]
	}
	// NoteRequest replaces the note of a lease, if Note is newer, and asks for what is
	// kept then. Only the owner may: whoever does not own the lease with just this token
	// is told so, and changes nothing. It is answered by [NoteAnswer].
	//
	// A note belongs to the name. It outlives the lease, and whoever owns the name next
	// finds what the last owner has left. It is as durable as tokens are. Its version
	// only grows, whoever owns the name: a request that is late, or comes twice, undoes
	// nothing. Of two notes with one version, the first one stays. Backends need not keep
	// notes: those that do not answer [ErrNoNotes].
	NoteRequest struct {
		Call
		Session string
		Lease   Lease // whose note it is
		Note    Note  // without a version, it replaces none
	}
	// WatchRequest changes for which names ReplyTo wants a [Vacated] notice:
	// without those in Remove, then with those in Add. It has no answer. A backend
	// that cannot tell ignores it: notices save time, and nothing depends on them.
	WatchRequest struct {
		ReplyTo actor.Ref
		Add     []string
		Remove  []string
	}
)

// TimeoutError says that a request was not carried out because its Timeout was
// not positive: nobody waits for it.
type TimeoutError struct {
	Request string // "renew", for example
	Timeout time.Duration
}

// Error names the request and its timeout.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("simba: the %s request has the timeout %v; it must be above zero", e.Request, e.Timeout)
}

// Check returns a [*TimeoutError] if the call, named by what it asks for, must not
// be carried out.
func (c Call) Check(request string) error {
	if c.Timeout > 0 {
		return nil
	}
	return &TimeoutError{Request: request, Timeout: c.Timeout}
}

// MaxBatch is how many names or leases one request carries at most.
const MaxBatch = 1000

// MaxNote is how long the text of a note is at most, in bytes.
const MaxNote = 1000

// The answers. ID is that of the request, and the rest is what was asked for. Err is
// [ErrExpired] if the session has ended for good, and any other error means that
// the outcome is unknown.
type (
	// OpenAnswer answers [OpenRequest] with a Grant.
	OpenAnswer struct {
		ID    uint64
		Err   error
		Grant Grant
	}
	// RenewAnswer answers [RenewRequest] with a Renewal.
	RenewAnswer struct {
		ID      uint64
		Err     error
		Renewal Renewal
	}
	// AcquireAnswer answers [AcquireRequest]: Outcomes has one for each name, in order.
	AcquireAnswer struct {
		ID       uint64
		Err      error
		Outcomes []Outcome
	}
	// ReleaseAnswer answers [ReleaseRequest].
	ReleaseAnswer struct {
		ID  uint64
		Err error
	}
	// CloseAnswer answers [CloseRequest].
	CloseAnswer struct {
		ID  uint64
		Err error
	}
	// InspectAnswer answers [InspectRequest]: Holders has one for each name, in order, or
	// for no names, one for each lease that is held, in the byte order of names.
	InspectAnswer struct {
		ID      uint64
		Err     error
		Holders []Holder
	}
	// NoteAnswer answers [NoteRequest]: Held is whether the session owns the lease, and
	// Note what is kept now, if it does.
	NoteAnswer struct {
		ID   uint64
		Err  error
		Held bool
		Note Note
	}
	// Vacated is a notice: Names may be free now. It may be late, repeated,
	// wrong or lost.
	Vacated struct{ Names []string }
)
