package sim

import (
	"fmt"
	"strings"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// describe is how a message appears in the trace: with what it says, so that two
// worlds with the same trace are the same, and without addresses in memory, so that
// the same world always has the same trace.
func describe(msg actor.Message) string {
	switch m := msg.(type) {
	case *backend.OpenRequest:
		return fmt.Sprintf("open #%d lease %v", m.ID, m.Lease)
	case *backend.OpenAnswer:
		return fmt.Sprintf("open #%d: %s for %v%s", m.ID, short(m.Grant.Session), m.Grant.Remaining, failed(m.Err))
	case *backend.RenewRequest:
		return fmt.Sprintf("renew #%d %s revision %d full %v", m.ID, short(m.Session), m.Known, m.Full)
	case *backend.RenewAnswer:
		return fmt.Sprintf("renew #%d: for %v revision %d %v%s", m.ID, m.Renewal.Remaining, m.Renewal.Revision, m.Renewal.Leases, failed(m.Err))
	case *backend.AcquireRequest:
		return fmt.Sprintf("acquire #%d %s %v all %v", m.ID, short(m.Session), m.Names, m.All)
	case *backend.AcquireAnswer:
		return fmt.Sprintf("acquire #%d:%s%s", m.ID, outcomes(m.Outcomes), failed(m.Err))
	case *backend.ReleaseRequest:
		return fmt.Sprintf("release #%d %s %v", m.ID, short(m.Session), m.Leases)
	case *backend.ReleaseAnswer:
		return fmt.Sprintf("release #%d:%s", m.ID, failed(m.Err))
	case *backend.CloseRequest:
		return fmt.Sprintf("close #%d %s", m.ID, short(m.Session))
	case *backend.CloseAnswer:
		return fmt.Sprintf("close #%d:%s", m.ID, failed(m.Err))
	case *backend.WatchRequest:
		return fmt.Sprintf("watch +%v -%v", m.Add, m.Remove)
	case *backend.Vacated:
		return fmt.Sprintf("vacated %v", m.Names)
	case session.Won:
		return fmt.Sprintf("won, candidacy %d:%s", m.Candidacy, terms(m.Terms...))
	case session.Lost:
		return fmt.Sprintf("lost, candidacy %d%s", m.Candidacy, failed(m.Err))
	case session.Ended:
		return fmt.Sprintf("ended%s: %v", terms(m.Term), m.Reason)
	case session.Settled:
		return "settled" + terms(m.Term)
	case session.Release:
		return "release" + terms(m.Term)
	case election.RunElected:
		return "run OnElected" + terms(m.Term)
	case election.RunRevoked:
		return fmt.Sprintf("run OnRevoked%s: %v", terms(m.Term), m.Reason)
	case election.StartTask:
		return "start task" + terms(m.Term)
	case election.CancelTask:
		return fmt.Sprintf("cancel task%s: %v", terms(m.Term), m.Reason)
	case election.CallbackDone:
		return "callback done" + terms(m.Term) + failed(m.Err)
	case election.CallbackRefused:
		return "callback refused" + terms(m.Term) + failed(m.Err)
	case election.TaskExited:
		return "task exited" + terms(m.Term) + failed(m.Err)
	case *actor.Request:
		return "asked for " + describe(m.Message)
	}
	return fmt.Sprintf("%T", msg)
}

// short is enough of a session's id to tell it from others.
func short(id string) string { return id[:min(len(id), 6)] }

func failed(err error) string {
	if err == nil {
		return ""
	}
	return " failed: " + err.Error()
}

func terms(ts ...*term.Term) string {
	var b strings.Builder
	for _, t := range ts {
		fmt.Fprintf(&b, " %s=%d", t.Name(), t.Token())
	}
	return b.String()
}

func outcomes(os []backend.Outcome) string {
	var b strings.Builder
	for _, o := range os {
		if o.Won {
			fmt.Fprintf(&b, " %s=%d", o.Name, o.Token)
		} else {
			fmt.Fprintf(&b, " %s held by %s", o.Name, short(o.Holder.Session))
		}
	}
	return b.String()
}
