package backend_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/backend"
)

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestNameSetTellsOfChanges(t *testing.T) {
	set := backend.NewNameSet()
	names, changed := set.Names()
	if len(names) != 0 || closed(changed) {
		t.Fatalf("a new set has %q, changed %t", names, closed(changed))
	}
	set.Update([]string{"a"}, nil)
	if !closed(changed) {
		t.Error("the change is not told")
	}
	if _, changed = set.Names(); closed(changed) {
		t.Error("the next change is told before it happens")
	}
	fresh, serial, changed := set.Joined(0)
	if !slices.Equal(fresh, []string{"a"}) || closed(changed) {
		t.Errorf("joined are %q", fresh)
	}
	// A name that leaves and comes back looks as if nothing had happened.
	set.Update(nil, []string{"a"})
	set.Update([]string{"a"}, nil)
	if !closed(changed) {
		t.Error("the change is not told")
	}
	if fresh, _, _ = set.Joined(serial); !slices.Equal(fresh, []string{"a"}) {
		t.Errorf("a name that came back is not among %q", fresh)
	}
}

// A set is like a map from its names to the number of the update by which they joined.
func TestNameSetIsASet(t *testing.T) {
	some := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		set, want := backend.NewNameSet(), map[string]int{}
		serials := []uint64{0} // what Joined returned after each update
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				add, remove := some.Draw(t, "add"), some.Draw(t, "remove")
				set.Update(add, remove)
				for _, name := range remove {
					delete(want, name)
				}
				for _, name := range add {
					if _, ok := want[name]; !ok {
						want[name] = len(serials)
					}
				}
				_, serial, _ := set.Joined(0)
				serials = append(serials, serial)
			},
			"": func(t *rapid.T) {
				names, _ := set.Names()
				if len(names) != len(want) || set.Len() != len(want) {
					t.Fatalf("the set has %q (%d) in place of %v", names, set.Len(), want)
				}
				for _, name := range []string{"a", "b", "c", "d"} {
					if _, ok := want[name]; set.Has(name) != ok || slices.Contains(names, name) != ok {
						t.Fatalf("Has(%q) is %t", name, set.Has(name))
					}
				}
			},
			"joined": func(t *rapid.T) {
				update := rapid.IntRange(0, len(serials)-1).Draw(t, "since update")
				fresh, _, _ := set.Joined(serials[update])
				for name, joined := range want {
					if slices.Contains(fresh, name) != (joined > update) {
						t.Fatalf("%q, which joined by update %d, is wrong in %q, since update %d", name, joined, fresh, update)
					}
				}
				for _, name := range fresh {
					if _, ok := want[name]; !ok {
						t.Fatalf("%q is not in the set", name)
					}
				}
			},
		})
	})
}

func TestNameSetIsSafeForConcurrentUse(t *testing.T) {
	set := backend.NewNameSet()
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			name := fmt.Sprint(i)
			for range 200 {
				set.Update([]string{name}, nil)
				names, _ := set.Names()
				fresh, _, _ := set.Joined(0)
				if !set.Has(name) || !slices.Contains(names, name) || !slices.Contains(fresh, name) || set.Len() == 0 {
					t.Errorf("%q is not in the set", name)
				}
				set.Update(nil, []string{name})
			}
		})
	}
	running.Wait()
	if set.Len() != 0 {
		t.Errorf("%d names are left", set.Len())
	}
}
