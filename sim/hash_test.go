package sim

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// messages has one message of each kind that the trace says something of.
func messages() []actor.Message {
	const id = "0123456789abcdef0123456789abcdef"
	tm := term.New("x", id, 7, nil)
	leases := []backend.Lease{{Name: "x", Token: 7}}
	names := []string{"x", "y"}
	call := backend.Call{ID: 1, Timeout: time.Second}
	boom := errors.New("boom")
	return []actor.Message{
		&backend.OpenRequest{Call: call, Lease: time.Second, Label: "me"},
		&backend.OpenAnswer{ID: 1, Err: boom, Grant: backend.Grant{Session: id, Remaining: time.Second}},
		&backend.RenewRequest{Call: call, Session: id, Known: 1, Full: true},
		&backend.RenewAnswer{ID: 1, Err: boom, Renewal: backend.Renewal{Remaining: time.Second, Revision: 1, Complete: true, Leases: leases}},
		&backend.AcquireRequest{Call: call, Session: id, Names: names, All: true},
		&backend.AcquireAnswer{ID: 1, Err: boom, Outcomes: []backend.Outcome{
			{Name: "x", Won: true, Token: 7}, {Name: "y", Holder: backend.Holder{Name: "y", Held: true, Session: id, Token: 7, Remaining: time.Second}},
		}},
		&backend.ReleaseRequest{Call: call, Session: id, Leases: leases},
		&backend.ReleaseAnswer{ID: 1, Err: boom},
		&backend.CloseRequest{Call: call, Session: id},
		&backend.CloseAnswer{ID: 1, Err: boom},
		&backend.WatchRequest{Add: names, Remove: names},
		&backend.Vacated{Names: names},
		session.Won{Candidacy: 1, Terms: []*term.Term{tm}},
		session.Lost{Candidacy: 1, Err: boom},
		session.Ended{Term: tm, Reason: term.Stopped},
		session.Settled{Term: tm},
		session.Release{Term: tm},
		election.RunElected{Term: tm},
		election.RunRevoked{Term: tm, Reason: term.Stopped},
		election.StartTask{Term: tm},
		election.CancelTask{Term: tm, Reason: term.Stopped},
		election.CallbackDone{Term: tm, Err: boom},
		election.CallbackRefused{Term: tm, Err: boom},
		election.TaskExited{Term: tm, Err: boom},
		session.Done{},
		election.Start{},
		Write{Name: "x", Token: 7},
	}
}

func hashOf(msg actor.Message) uint64 {
	h := newHash()
	h.message(msg)
	return h.sum
}

// TestHashSeesWhatTheTraceSays: two messages that differ in the trace differ in the
// hash, so that worlds with the same hash have the same trace.
func TestHashSeesWhatTheTraceSays(t *testing.T) {
	differ := func(what string, a, b actor.Message) {
		if describe(a) != describe(b) && hashOf(a) == hashOf(b) {
			t.Errorf("%s: %q and %q have the same hash", what, describe(a), describe(b))
		}
	}
	for i, msg := range messages() {
		if hashOf(msg) != hashOf(messages()[i]) {
			t.Errorf("%T at another place in memory has another hash", msg)
		}
		if asked := actor.NewRequest(msg, nil); hashOf(asked) == hashOf(msg) {
			t.Errorf("%T has the same hash when it is asked for", msg)
		}
		for _, other := range messages()[:i] {
			differ("two kinds", msg, other)
		}
		shown := false
		vary(msg, func(field string, changed actor.Message) {
			shown = shown || describe(msg) != describe(changed)
			differ(reflect.TypeOf(msg).String()+field, msg, changed)
			differ(reflect.TypeOf(msg).String()+field, actor.NewRequest(msg, nil), actor.NewRequest(changed, nil))
		})
		if _, isWrite := msg.(Write); !shown && !isWrite && reflect.Indirect(reflect.ValueOf(msg)).NumField() > 0 {
			t.Errorf("the trace shows nothing of %T: %q", msg, describe(msg))
		}
	}
	differ("what is added and what is removed", &backend.WatchRequest{Add: []string{"x"}}, &backend.WatchRequest{Remove: []string{"x"}})
}

// vary calls f with copies of a message, each of which differs in one field.
func vary(msg actor.Message, f func(field string, changed actor.Message)) {
	v := reflect.ValueOf(msg)
	pointer := v.Kind() == reflect.Pointer
	changed := reflect.New(reflect.Indirect(v).Type())
	changed.Elem().Set(reflect.Indirect(v))
	varyField(changed.Elem(), "", func(field string) {
		if pointer {
			f(field, changed.Interface())
		} else {
			f(field, changed.Elem().Interface())
		}
	})
}

func varyField(v reflect.Value, path string, f func(path string)) {
	with := func(others ...any) {
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		for _, o := range others {
			v.Set(reflect.ValueOf(o).Convert(v.Type()))
			f(path)
		}
		v.Set(before)
	}
	switch x := v.Interface().(type) {
	case *term.Term:
		with(term.New(x.Name(), x.Session(), x.Token()+1, nil), term.New(x.Name()+"x", x.Session(), x.Token(), nil))
		return
	case error:
		with(errors.New("bomb"), errors.New("simba: the backend did not answer in time"), errors.New("simba: the backend did not answer in tide"))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			varyField(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Slice:
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		v.Set(before.Slice(0, max(0, before.Len()-1)))
		f(path + " with one less")
		for i := range before.Len() {
			v.Set(reflect.MakeSlice(v.Type(), before.Len(), before.Len()))
			reflect.Copy(v, before)
			varyField(v.Index(i), path+"[]", f)
		}
		v.Set(before)
	case reflect.Bool:
		with(!v.Bool())
	case reflect.String:
		if s := v.String(); s != "" {
			with("z"+s[1:], s[:len(s)-1]+"z")
		}
		with(v.String() + "x")
	case reflect.Int64:
		with(v.Int() + 1)
	case reflect.Uint64, reflect.Uint8:
		with(v.Uint() + 1)
	}
}

// TestHashSeesWhenAndWho: the same message at another time, or to another actor, is
// another course.
func TestHashSeesWhenAndWho(t *testing.T) {
	course := func(after time.Duration, who int) uint64 {
		w := NewWorld(Calm())
		n := w.NewNode("n", 0, 1)
		actors := []actor.Ref{n.Spawn("a", actor.BehaviorFunc(func(actor.Context, actor.Message) {})), n.Spawn("b", actor.BehaviorFunc(func(actor.Context, actor.Message) {}))}
		w.In(after, func() { actors[who].Tell("message") })
		w.RunFor(time.Minute)
		return w.Hash()
	}
	first := course(time.Second, 0)
	if again := course(time.Second, 0); again != first {
		t.Errorf("the same course has the hashes %x and %x", first, again)
	}
	if course(time.Second+1, 0) == first || course(time.Second, 1) == first {
		t.Error("another course has the same hash")
	}
}

// TestSentences: each message says what it is, in the trace and in a story.
func TestSentences(t *testing.T) {
	said := make(map[string]actor.Message)
	for _, msg := range messages() {
		for _, s := range []string{describe(msg), sentence(msg)} {
			if s == "" || strings.Contains(s, "%!") || strings.Contains(s, "0x") {
				t.Errorf("%T says %q", msg, s)
			}
			if other, known := said[s]; known && !strings.HasPrefix(s, "fails: ") && reflect.TypeOf(other) != reflect.TypeOf(msg) {
				t.Errorf("%T and %T both say %q", msg, other, s)
			}
			said[s] = msg
		}
	}
	for want, msg := range map[string]actor.Message{
		"asks for a session of 1s":                      &backend.OpenRequest{Lease: time.Second},
		"grants session 012345 for 1s":                  &backend.OpenAnswer{Grant: backend.Grant{Session: "0123456789", Remaining: time.Second}},
		"fails: boom":                                   &backend.OpenAnswer{Err: errors.New("boom")},
		"keeps the session for 1s":                      &backend.RenewAnswer{Renewal: backend.Renewal{Remaining: time.Second}},
		"keeps the session for 1s, which has no leases": &backend.RenewAnswer{Renewal: backend.Renewal{Remaining: time.Second, Complete: true}},
		"keeps the session for 0s, which has x=7":       &backend.RenewAnswer{Renewal: backend.Renewal{Complete: true, Leases: []backend.Lease{{Name: "x", Token: 7}}}},
		"wants x, y":                                    &backend.AcquireRequest{Names: []string{"x", "y"}},
		"answers: x=7 y held by s":                      &backend.AcquireAnswer{Outcomes: []backend.Outcome{{Name: "x", Won: true, Token: 7}, {Name: "y", Holder: backend.Holder{Held: true, Session: "s"}}}},
		"answers: x held by ":                           &backend.AcquireAnswer{Outcomes: []backend.Outcome{{Name: "x"}}},
		"gives back x=7":                                &backend.ReleaseRequest{Leases: []backend.Lease{{Name: "x", Token: 7}}},
		"says that x, y became free":                    &backend.Vacated{Names: []string{"x", "y"}},
		"session.Done":                                  session.Done{},
		"closes session s":                              &backend.CloseRequest{Session: "s"},
		"renews session s":                              &backend.RenewRequest{Session: "s"},
		"fails: " + backend.ErrExpired.Error():          &backend.RenewAnswer{Err: backend.ErrExpired},
		"asked for " + describe(&backend.CloseRequest{Session: ""}): actor.NewRequest(&backend.CloseRequest{}, nil),
	} {
		if got := sentence(msg); got != want {
			t.Errorf("%T says %q, want %q", msg, got, want)
		}
	}
}
