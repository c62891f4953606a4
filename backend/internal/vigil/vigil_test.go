package vigil

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A change of the set alone makes it look at what is new.
func TestAskForWhatIsNew(t *testing.T) {
	var tr Tracker
	for _, step := range []struct {
		names, joined []string
		all           bool
		want          []string
	}{
		{[]string{"a", "b"}, nil, false, []string{"a", "b"}},
		{[]string{"a", "b", "c"}, nil, false, []string{"c"}},
		{[]string{"c"}, nil, false, nil},
		{[]string{"c", "a"}, nil, false, []string{"a"}}, // a had left meanwhile
		{[]string{"c", "a"}, []string{"c"}, false, []string{"c"}},
		{[]string{"c", "a"}, nil, true, []string{"c", "a"}},
	} {
		ask := tr.Ask(step.names, step.joined, step.all)
		if !slices.Equal(ask, step.want) {
			t.Errorf("of %v it asks for %v in place of %v", step.names, ask, step.want)
		}
		var leases []Lease
		for _, name := range ask {
			leases = append(leases, Lease{Name: name, Token: 1})
		}
		tr.Vacant(leases)
	}
}

// Of each vacancy it is told once.
func TestVacantOnce(t *testing.T) {
	var tr Tracker
	tr.Ask([]string{"a"}, nil, true)
	for i, step := range []struct {
		lease Lease
		want  bool
	}{
		{Lease{Name: "a"}, true},
		{Lease{Name: "a"}, false},
		{Lease{Name: "a", Held: true, Token: 1}, false},
		{Lease{Name: "a", Token: 1}, true},
		{Lease{Name: "a", Token: 1}, false},
		{Lease{Name: "a", Token: 2}, true}, // taken and freed between two looks
	} {
		if got := len(tr.Vacant([]Lease{step.lease})) > 0; got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
}

// store is what a watch looks at.
type store struct {
	mu     sync.Mutex
	leases map[string]Lease
	looks  int
	err    error
}

func (s *store) look(_ context.Context, names []string) ([]Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	leases := make([]Lease, len(names))
	for i, name := range names {
		leases[i] = s.leases[name]
		leases[i].Name = name
	}
	return leases, s.err
}

func (s *store) set(name string, l Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[name] = l
}

// watching runs a watch in virtual time.
func watching(t *testing.T, s Source, names ...string) (set *backend.NameSet, told func() []string, end func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	set = backend.NewNameSet()
	set.Update(names, nil)
	var heard []string
	ended := make(chan error, 1)
	go func() {
		ended <- Watch(ctx, s, set, func(names ...string) { heard = append(heard, names...) })
	}()
	return set, func() []string {
			synctest.Wait()
			h := heard
			heard = nil
			return h
		}, func() error {
			cancel()
			return <-ended
		}
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: told of %v in place of %v", what, got, want)
	}
}

// With hints it looks only when names join, and when an owner should expire.
func TestWatchWithHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{leases: map[string]Lease{
			"held":  {Held: true, Remaining: time.Minute},
			"dying": {Held: true, Remaining: time.Second},
		}}
		hints := make(chan []string)
		set, told, end := watching(t, Source{Look: s.look, Hints: hints}, "held", "dying", "free")
		expect(t, "at first", told(), "free")
		hints <- []string{"held", "nobody's"}
		expect(t, "a hint", told(), "held")
		s.set("held", Lease{Token: 7})
		hints <- nil
		expect(t, "a gap", told(), "held")
		set.Update([]string{"new"}, nil)
		expect(t, "a new name", told(), "new")
		time.Sleep(999 * time.Millisecond)
		expect(t, "before the expiry", told())
		s.set("dying", Lease{Token: 8})
		time.Sleep(time.Millisecond)
		expect(t, "the expiry", told(), "dying")
		looks := s.looks
		time.Sleep(time.Hour)
		if s.looks != looks {
			t.Errorf("it looked %d times at what nobody holds", s.looks-looks)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// Without hints it looks at all names now and then, while there are any.
func TestWatchByLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{leases: map[string]Lease{"held": {Held: true, Remaining: time.Hour}}}
		set, told, end := watching(t, Source{Look: s.look, Every: time.Second}, "held")
		expect(t, "at first", told())
		s.set("held", Lease{Token: 1})
		time.Sleep(time.Second)
		expect(t, "a release", told(), "held")
		set.Update(nil, []string{"held"})
		synctest.Wait()
		looks := s.looks
		time.Sleep(time.Hour)
		if s.looks != looks {
			t.Errorf("it looked %d times for nobody", s.looks-looks)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// An owner that is always about to expire does not make it look all the time.
func TestWatchDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{leases: map[string]Lease{"held": {Held: true}}}
		_, told, end := watching(t, Source{Look: s.look}, "held")
		time.Sleep(time.Second)
		expect(t, "it is held", told())
		if s.looks > int(time.Second/minPause)+1 {
			t.Errorf("it looked %d times in a second", s.looks)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// It ends with the error of a look, or that of the hints.
func TestWatchFails(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		_, _, end := watching(t, Source{Look: (&store{err: broken}).look}, "name")
		synctest.Wait()
		if err := end(); err != nil && !errors.Is(err, broken) {
			t.Error(err)
		}
		failed := make(chan error, 1)
		failed <- broken
		set := backend.NewNameSet()
		s := &store{}
		if err := Watch(t.Context(), Source{Look: s.look, Failed: failed}, set, nil); err != broken {
			t.Errorf("got %v", err)
		}
		set.Update([]string{"name"}, nil)
		s.err = broken
		if err := Watch(t.Context(), Source{Look: s.look}, set, nil); err != broken {
			t.Errorf("got %v", err)
		}
	})
}
