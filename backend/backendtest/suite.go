// Package backendtest is the conformance suite for backends: what every
// implementation of [backend.Driver] must pass, whoever wrote it.
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, backendtest.Config{
//			Open: func(tb testing.TB) backendtest.Store {
//				return backendtest.Store{Driver: mystore.Open(tb.TempDir())}
//			},
//		})
//	}
//
// It consists of checks of one promise each, and of a comparison of random
// sequences of operations with the reference model of package memory. A backend
// that speaks the protocol's messages as an actor is tested through [FromActor].
//
// The suite never sleeps in the hope that something has happened by then: it waits
// for conditions. A store whose time can be moved by hand is tested without
// waiting and in more depth; see [Store].
package backendtest

import (
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// Config says what to test.
type Config struct {
	// Open opens a new and empty store: a new file, schema or key prefix. It is
	// called for each check. What has to be closed is closed by tb.Cleanup.
	Open func(tb testing.TB) Store
	// Lease is the lease of those sessions that the suite lets expire, 500 ms by
	// default. If the store's time is real, it should be as short as the store
	// can do and long enough for a few calls. Other sessions ask for a minute,
	// and must be granted enough to do without a renewal for some seconds.
	Lease time.Duration
	// Patience is how long a call may take, or what must come true soon, 10 s by
	// default. A healthy store needs a small part of it; it decides only when
	// something hangs.
	Patience time.Duration
}

// Store is a Driver together with what the suite can do to its store. All but the
// driver may be nil; then, what needs it is skipped.
type Store struct {
	// Driver is what is tested.
	Driver backend.Driver
	// Peer returns another driver over the same store, like that of another
	// process. The suite then spreads its sessions over both.
	Peer func(tb testing.TB) backend.Driver
	// Advance moves the store's time, which must otherwise stand still, and
	// sessions must expire exactly when what they were granted is over. If it is
	// nil, the store's time is real.
	Advance func(d time.Duration)
	// Reopen closes the driver and opens the store again with its data, like a
	// restart.
	Reopen func(tb testing.TB) backend.Driver
	// Wipe closes the driver and opens the store again without its data. It is
	// for stores whose tokens stay ahead of those that are lost.
	Wipe func(tb testing.TB) backend.Driver
}

// check is one promise.
type check struct {
	name string
	run  func(s *suite)
}

// Run tests a backend.
func Run(t *testing.T, c Config) {
	for _, check := range checks() {
		t.Run(check.name, func(t *testing.T) { check.run(newSuite(t, c)) })
	}
	t.Run(modelCheck, func(t *testing.T) { compareWithModel(t, c) })
}

func checks() []check {
	return []check{
		{"OpenGrantsALease", openGrantsALease},
		{"SessionIDsAreUnique", sessionIDsAreUnique},
		{"LabelsAreKept", labelsAreKept},
		{"RenewalListsTheLeases", renewalListsTheLeases},
		{"RevisionTellsOfChanges", revisionTellsOfChanges},
		{"RenewalKeepsTheSession", renewalKeepsTheSession},
		{"UnknownSessionHasExpired", unknownSessionHasExpired},
		{"CloseFreesEverything", closeFreesEverything},
		{"ClosedIsFinal", closedIsFinal},

		{"ExpiryFreesEverything", expiryFreesEverything},
		{"ExpiredIsFinal", expiredIsFinal},
		{"ExpiredTakesNothing", expiredTakesNothing},
		{"ExpiredReleasesNothing", expiredReleasesNothing},
		{"ExpiryIsNeverEarly", expiryIsNeverEarly},

		{"AcquireAnswersForEachName", acquireAnswersForEachName},
		{"AcquireAgainKeepsTheToken", acquireAgainKeepsTheToken},
		{"AllOrNone", allOrNone},
		{"TokensRise", tokensRise},
		{"ReleaseComparesTheToken", releaseComparesTheToken},
		{"ReleaseComparesTheSession", releaseComparesTheSession},
		{"ReleaseTakesMany", releaseTakesMany},
		{"NamesAreExact", namesAreExact},
		{"LargestBatch", largestBatch},

		{"InspectTellsTheHolder", inspectTellsTheHolder},
		{"InspectKeepsTheOrder", inspectKeepsTheOrder},

		{"CancelledCallsReturn", cancelledCallsReturn},
		{"UnknownOutcomesCanBeFound", unknownOutcomesCanBeFound},
		{"OneWinner", oneWinner},
		{"OneOwnerAtATime", oneOwnerAtATime},
		{"AllOrNoneUnderContention", allOrNoneUnderContention},
		{"AcquireAgainUnderContention", acquireAgainUnderContention},
		{"RenewalIsNotStarved", renewalIsNotStarved},

		{"WatchTellsOfReleases", watchTellsOfReleases},
		{"WatchTellsOfClosedSessions", watchTellsOfClosedSessions},
		{"WatchLooksAtNewNames", watchLooksAtNewNames},
		{"WatchEnds", watchEnds},

		{"NotesAreTheOwners", notesAreTheOwners},
		{"NotesOnlyGrow", notesOnlyGrow},
		{"NotesOnlyGrowAtOnce", notesOnlyGrowAtOnce},
		{"NotesOutliveTheLease", notesOutliveTheLease},
		{"NotesNeedALivingSession", notesNeedALivingSession},
		{"NotesSurviveARestart", notesSurviveARestart},

		{"TokensSurviveARestart", tokensSurviveARestart},
		{"DeathSurvivesARestart", deathSurvivesARestart},
		{"TokensSurviveLoss", tokensSurviveLoss},
	}
}
