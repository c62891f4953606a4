package sim

import (
	"fmt"
	"math/bits"
	"reflect"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// hash sums up the course of a world: when which actor was told what. It is quick,
// so that every world has one, and goes by what messages say, and never by where
// they are in memory.
type hash struct {
	sum   uint64
	kinds map[reflect.Type]uint64
}

func newHash() hash { return hash{kinds: make(map[reflect.Type]uint64)} }

// number mixes x in: the multiply-and-fold step of wyhash.
func (h *hash) number(x uint64) {
	hi, lo := bits.Mul64(h.sum^0x9e3779b97f4a7c15, x^0xd1b54a32d192ed03)
	h.sum = hi ^ lo ^ bits.RotateLeft64(h.sum, 23)
}

// text mixes s in.
func (h *hash) text(s string) {
	x := uint64(len(s))
	for i := range len(s) {
		x = x*0x100000001b3 ^ uint64(s[i])
	}
	h.number(x)
}

// id mixes the id of a session in: its first characters say all.
func (h *hash) id(s string) { h.text(s[:min(len(s), 24)]) }

func (h *hash) texts(ss []string) {
	h.number(uint64(len(ss)))
	for _, s := range ss {
		h.text(s)
	}
}

func (h *hash) flag(b bool) {
	if b {
		h.number(1)
	} else {
		h.number(0)
	}
}

func (h *hash) err(err error) {
	if err != nil {
		h.text(err.Error())
	}
}

func (h *hash) terms(ts ...*term.Term) {
	for _, t := range ts {
		h.text(t.Name())
		h.number(t.Token())
	}
}

func (h *hash) leases(ls []backend.Lease) {
	h.number(uint64(len(ls)))
	for _, l := range ls {
		h.text(l.Name)
		h.number(l.Token)
	}
}

func (h *hash) note(n backend.Note) {
	h.number(n.Version)
	h.text(n.Text)
}

// kind mixes the type of a message in.
func (h *hash) kind(msg actor.Message) {
	t := reflect.TypeOf(msg)
	k, known := h.kinds[t]
	if !known {
		for _, c := range []byte(fmt.Sprint(t)) {
			k = k*0x100000001b3 ^ uint64(c)
		}
		h.kinds[t] = k
	}
	h.number(k)
}

// message mixes in what kind of a message it is, and what it says. The most frequent
// kinds have numbers.
func (h *hash) message(msg actor.Message) {
	switch m := msg.(type) {
	case *actor.Request:
		h.number(1)
		h.message(m.Message)
	case *backend.OpenRequest:
		h.number(2)
		h.number(m.ID)
		h.number(uint64(m.Lease))
	case *backend.OpenAnswer:
		h.number(3)
		h.number(m.ID)
		h.id(m.Grant.Session)
		h.number(uint64(m.Grant.Remaining))
		h.err(m.Err)
	case *backend.RenewRequest:
		h.number(4)
		h.number(m.ID)
		h.id(m.Session)
		h.number(m.Known)
		h.flag(m.Full)
	case *backend.RenewAnswer:
		h.number(5)
		h.number(m.ID)
		h.number(uint64(m.Renewal.Remaining))
		h.number(m.Renewal.Revision)
		h.leases(m.Renewal.Leases)
		h.err(m.Err)
	case *backend.AcquireRequest:
		h.number(6)
		h.number(m.ID)
		h.id(m.Session)
		h.texts(m.Names)
		h.flag(m.All)
	case *backend.AcquireAnswer:
		h.number(7)
		h.number(m.ID)
		for _, o := range m.Outcomes {
			h.text(o.Name)
			h.flag(o.Won)
			h.number(o.Token)
			h.id(o.Holder.Session)
		}
		h.err(m.Err)
	case *backend.ReleaseRequest:
		h.number(8)
		h.number(m.ID)
		h.id(m.Session)
		h.leases(m.Leases)
	case *backend.ReleaseAnswer:
		h.number(9)
		h.number(m.ID)
		h.err(m.Err)
	case *backend.Vacated:
		h.number(10)
		h.texts(m.Names)
	case session.Won:
		h.number(11)
		h.number(m.Candidacy)
		h.terms(m.Terms...)
	case session.Lost:
		h.number(12)
		h.number(m.Candidacy)
		h.err(m.Err)
	case session.Ended:
		h.number(13)
		h.number(uint64(m.Reason))
		h.terms(m.Term)
	case session.Release:
		h.number(14)
		h.terms(m.Term)
	case election.StartTask:
		h.number(15)
		h.terms(m.Term)
	case election.TaskExited:
		h.number(16)
		h.terms(m.Term)
		h.err(m.Err)
	case Write:
		h.number(17)
		h.text(m.Name)
		h.number(m.Token)
	default:
		h.kind(msg)
		h.rare(msg)
	}
}

// rare mixes in what the less frequent kinds say.
func (h *hash) rare(msg actor.Message) {
	switch m := msg.(type) {
	case *backend.CloseRequest:
		h.number(m.ID)
		h.id(m.Session)
	case *backend.CloseAnswer:
		h.number(m.ID)
		h.err(m.Err)
	case *backend.WatchRequest:
		h.texts(m.Add)
		h.texts(m.Remove)
	case *backend.NoteRequest:
		h.number(m.ID)
		h.leases([]backend.Lease{m.Lease})
		h.note(m.Note)
	case *backend.NoteAnswer:
		h.number(m.ID)
		h.note(m.Note)
		h.flag(m.Held)
		h.err(m.Err)
	case session.Settled:
		h.terms(m.Term)
	case election.RunElected:
		h.terms(m.Term)
	case election.RunRevoked:
		h.number(uint64(m.Reason))
		h.terms(m.Term)
	case election.CancelTask:
		h.number(uint64(m.Reason))
		h.terms(m.Term)
	case election.CallbackDone:
		h.terms(m.Term)
		h.err(m.Err)
	case election.CallbackRefused:
		h.terms(m.Term)
		h.err(m.Err)
	}
}

// record adds a step to the hash, and to the trace that somebody reads.
func (w *World) record(e *event) {
	w.hash.number(uint64(w.now))
	w.hash.number(e.to.id)
	w.hash.message(e.msg)
	if w.trace != nil {
		_, _ = fmt.Fprintf(w.trace, "%d %s %s\n", w.now, e.to.name, describe(e.msg))
	}
}
