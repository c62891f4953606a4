package session

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/term"
)

// What others ask of a session, each as an [actor.Request]. Names are those of
// leases, and Owner is the actor that is told what becomes of them.
type (
	// Join takes names for one owner of this client, until it leaves. They are
	// valid ones, without repetition, 1 to [backend.MaxBatch]. The answer is
	// [Done], an [*InUseError] if one of the names has an owner, or a
	// [*ClosedError].
	Join struct {
		Names []string
		Owner actor.Ref
	}
	// AwaitOpen is answered by [Done] once there is a session, and by
	// [*ClosedError] if there never will be.
	AwaitOpen struct{}
	// Inspect asks the backend who holds names, or for no names, who holds which.
	// It is answered by [*backend.InspectAnswer], or by [*ClosedError].
	Inspect struct{ Names []string }
	// Close ends the session and all of its terms at once, and is answered by
	// [Done] when the backend knows, or cannot learn it before it would have
	// found out by itself. The other requests are answered by [*ClosedError] from
	// then on, those that were made before included.
	Close struct{}
)

// What an owner tells its session. Name is the first of its names, and Term one of
// its terms. The names of an owner are told apart by the
// first of those with which it joined.
type (
	// Contend enters the owner's names into the competition until they are won,
	// all of them in one answer. Candidacy is a number of the owner's own, and
	// greater than those before, which it replaces.
	Contend struct {
		Name      string
		Candidacy uint64
		// Report asks for a [Lost] after each attempt that did not win.
		Report bool
	}
	// Withdraw ends the owner's candidacy. A win that is under way is released.
	Withdraw struct{ Name string }
	// Release frees the lease of a term, which must have ended. Its owner, which
	// must not have left, is told [Settled] when the backend has confirmed, or the
	// session has ended.
	Release struct{ Term *term.Term }
	// Leave gives the owner's names back. A candidacy is withdrawn, and a term
	// that has not been released is ended and released. The names can be joined
	// again at once: attempts are held back while a release is pending. Owner is the
	// one that joined. Names that are another's by now stay with that one.
	Leave struct {
		Name  string
		Owner actor.Ref
	}
)

// What a session tells an owner. Candidacy is the one that it is about, Term or
// Terms what was won or has ended, and Reason why.
type (
	// Won says that a candidacy has succeeded: one term for each name, in order.
	Won struct {
		Candidacy uint64
		Terms     []*term.Term
	}
	// Lost says that an attempt did not succeed; the candidacy goes on. Err is set
	// if its outcome is unknown, and Holders otherwise: who holds the names.
	Lost struct {
		Candidacy uint64
		Holders   []backend.Holder
		Err       error
	}
	// Ended says that a term has ended against the owner's will.
	Ended struct {
		Term   *term.Term
		Reason term.Reason
	}
	// Settled says that nothing of a released term is left to do. An owner ignores
	// it for terms that it has not released.
	Settled struct{ Term *term.Term }
	// Done is the answer to a request that needs no other.
	Done struct{}
)

// What those tell a session who only watch a Name, to be told by a Watcher.
type (
	// Watch asks for [*backend.Vacated] notices about a name, sent to Watcher.
	Watch struct {
		Name    string
		Watcher actor.Ref
	}
	// Unwatch ends it.
	Unwatch struct {
		Name    string
		Watcher actor.Ref
	}
	// Check makes the session look at its deadline now. It is sent when the
	// machine may have been asleep, for timers do not count that time.
	Check struct{}
)

// InUseError says that this client has an election or lock of that Name already.
type InUseError struct{ Name string }

// Error names the lease and says what frees its name.
func (e *InUseError) Error() string {
	return fmt.Sprintf("simba: this client already has an election or lock named %q; stop or release that one first", e.Name)
}

// ClosedError says that the client was closed.
type ClosedError struct{}

// Error is always the same.
func (e *ClosedError) Error() string { return "simba: the client is closed" }

// Snapshot is what people see of a session: its State, and more. It is immutable.
type Snapshot struct {
	Session  string // empty while there is none
	State    State
	Deadline *term.Deadline // of Session; nil while there is none
	Interval time.Duration  // the effective renew interval
	Leases   int            // held by the session
	LastErr  error          // why the last call of the session failed, nil if it did not
}
