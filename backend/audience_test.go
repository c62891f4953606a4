package backend_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// mailbox is an address that keeps what it is sent.
type mailbox struct {
	name string
	got  []actor.Message
}

func (m *mailbox) Tell(msg actor.Message) { m.got = append(m.got, msg) }
func (m *mailbox) String() string         { return m.name }

// postman is a context that does nothing but send.
type postman struct {
	actor.Context
	order []string
}

func (p *postman) Send(to actor.Ref, msg actor.Message) {
	p.order = append(p.order, to.String())
	to.Tell(msg)
}

func TestAudienceNotifiesInOrder(t *testing.T) {
	a, b := &mailbox{name: "a"}, &mailbox{name: "b"}
	var audience backend.Audience
	audience.Update(&backend.WatchRequest{ReplyTo: b, Add: []string{"2", "3"}})
	audience.Update(&backend.WatchRequest{ReplyTo: a, Add: []string{"1", "2"}})
	post := &postman{}
	audience.Notify(post, "3", "nobody's", "2", "1")
	if !slices.Equal(post.order, []string{"b", "a"}) {
		t.Errorf("notices went to %q", post.order)
	}
	for box, want := range map[*mailbox][]string{a: {"2", "1"}, b: {"3", "2"}} {
		if len(box.got) != 1 || !slices.Equal(box.got[0].(*backend.Vacated).Names, want) {
			t.Errorf("%s got %+v in place of one notice of %q", box, box.got, want)
		}
	}
	if names := audience.Names(); !slices.Equal(names, []string{"1", "2", "3"}) {
		t.Errorf("the names are %q", names)
	}
}

// An audience is like a set of names for each address.
func TestAudienceIsASetForEachAddress(t *testing.T) {
	all := []string{"a", "b", "c"}
	some := rapid.SliceOfN(rapid.SampledFrom(all), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		var audience backend.Audience
		boxes := []*mailbox{{name: "0"}, {name: "1"}, {name: "2"}}
		wants := map[string]bool{} // "address name"
		wanted := func(name string) bool {
			return slices.ContainsFunc(boxes, func(m *mailbox) bool { return wants[m.name+" "+name] })
		}
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				box := rapid.SampledFrom(boxes).Draw(t, "address")
				r := &backend.WatchRequest{ReplyTo: box, Add: some.Draw(t, "add"), Remove: some.Draw(t, "remove")}
				before := map[string]bool{}
				for _, name := range all {
					before[name] = wanted(name)
				}
				for _, name := range r.Remove {
					delete(wants, box.name+" "+name)
				}
				between := map[string]bool{}
				for _, name := range all {
					between[name] = wanted(name)
				}
				for _, name := range r.Add {
					wants[box.name+" "+name] = true
				}
				joined, left := audience.Update(r)
				for _, name := range all {
					if got, want := slices.Contains(left, name), before[name] && !between[name]; got != want {
						t.Fatalf("%+v: %q left: %t", r, name, got)
					}
					if got, want := slices.Contains(joined, name), !between[name] && wanted(name); got != want {
						t.Fatalf("%+v: %q joined: %t", r, name, got)
					}
				}
			},
			"notify": func(t *rapid.T) {
				names := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 3, rapid.ID).Draw(t, "names")
				audience.Notify(&postman{}, names...)
				for _, box := range boxes {
					var want []string
					for _, name := range names {
						if wants[box.name+" "+name] {
							want = append(want, name)
						}
					}
					got := fmt.Sprint(box.got)
					switch {
					case len(want) == 0 && len(box.got) != 0:
						t.Fatalf("%s got %s", box, got)
					case len(want) > 0 && (len(box.got) != 1 || !slices.Equal(box.got[0].(*backend.Vacated).Names, want)):
						t.Fatalf("%s got %s in place of %q", box, got, want)
					}
					box.got = nil
				}
			},
			"": func(t *rapid.T) {
				for _, name := range all {
					if audience.Has(name) != wanted(name) || slices.Contains(audience.Names(), name) != wanted(name) {
						t.Fatalf("Has(%q) is %t", name, audience.Has(name))
					}
				}
			},
		})
	})
}
