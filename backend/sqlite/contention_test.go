package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// crowd is how many processes compete in these tests.
const crowd = 16

// A file that does not exist yet is created once, however many processes open it at
// the same moment.
func TestManyProcessesOpenANewFile(t *testing.T) {
	manyOpen(t, filepath.Join(t.TempDir(), "leases.db"))
}

// So is one of an earlier format upgraded.
func TestManyProcessesUpgradeAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	old := formatOne(t, path)
	manyOpen(t, path)
	if missing, err := old.state(); len(missing) > 0 || err != nil {
		t.Errorf("%d statements are missing, %v", len(missing), err)
	}
}

func manyOpen(t *testing.T, path string) {
	t.Helper()
	processes := make([]*process, crowd)
	for i := range processes {
		processes[i] = start(t, "first", path, fmt.Sprintf("name-%d", i))
	}
	for _, p := range processes {
		p.expect("ready")
	}
	for _, p := range processes {
		p.tell("go")
	}
	for _, p := range processes {
		if line := p.hear(); !strings.HasPrefix(line, "token ") {
			t.Errorf("a process says %q", line)
		}
	}
	s := opened(t, path, system())
	if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) != crowd {
		t.Errorf("%d leases are held in place of %d: %v", len(held), crowd, err)
	}
}

// Processes that take turns under one lease lose nothing of what they do meanwhile.
func TestProcessesCountTogether(t *testing.T) {
	const each = 6
	dir := t.TempDir()
	counter := filepath.Join(dir, "counter")
	if err := os.WriteFile(counter, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	processes := make([]*process, crowd)
	for i := range processes {
		processes[i] = start(t, "count", filepath.Join(dir, "leases.db"), counter, each)
	}
	for _, p := range processes {
		p.expect("done")
	}
	if got, err := os.ReadFile(counter); err != nil || string(got) != fmt.Sprint(crowd*each) {
		t.Errorf("the counter is at %s in place of %d: %v", got, crowd*each, err)
	}
}

// countRole: PATH COUNTER N. It adds N to the number in a file, one by one, each
// under the lease.
func countRole(p *player) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*bound)
	defer cancel()
	s, err := open(ctx, p.args[0], system())
	if err != nil {
		return err
	}
	defer s.Close()
	grant, err := s.Open(ctx, time.Hour, "counter")
	if err != nil {
		return err
	}
	vacated := watched(ctx, s, "counter")
	for range p.number(2) {
		token, err := waitFor(ctx, s, grant.Session, "counter", vacated)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(p.args[1])
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.args[1], []byte(strconv.Itoa(n+1)), 0o600); err != nil {
			return err
		}
		if err := s.Release(ctx, grant.Session, []backend.Lease{{Name: "counter", Token: token}}); err != nil {
			return err
		}
	}
	p.say("done")
	return nil
}

// watched returns a channel that has a value when name may have become vacant.
func watched(ctx context.Context, s *Store, name string) <-chan struct{} {
	set := backend.NewNameSet()
	set.Update([]string{name}, nil)
	vacated := make(chan struct{}, 1)
	go s.Watch(ctx, set, func(...string) {
		select {
		case vacated <- struct{}{}:
		default:
		}
	})
	return vacated
}

// waitFor acquires a name, and tries again when it has become vacant.
func waitFor(ctx context.Context, s *Store, session, name string, vacated <-chan struct{}) (token uint64, err error) {
	for {
		outcomes, err := s.Acquire(ctx, session, []string{name}, false)
		if err != nil {
			return 0, err
		}
		if outcomes[0].Won {
			return outcomes[0].Token, nil
		}
		select {
		case <-vacated:
		case <-time.After(time.Second): // notices are a help, and polling is underneath
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Each process gets its share while all of them write as fast as they can. The
// measure is not time, which is up to the machine, but how many calls of others
// were served while one waited.
func TestNobodyStarves(t *testing.T) {
	const each = 40
	path := filepath.Join(t.TempDir(), "leases.db")
	opened(t, path, system())
	processes := make([]*process, crowd)
	for i := range processes {
		processes[i] = start(t, "traffic", path, fmt.Sprintf("name-%d", i), each)
	}
	for _, p := range processes {
		p.expect("ready")
	}
	for _, p := range processes {
		p.tell("go")
	}
	type call struct{ begin, end actor.Instant }
	var all []call
	for _, p := range processes {
		for range 2 * each {
			var c call
			if _, err := fmt.Sscan(p.hear(), &c.begin, &c.end); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b call) int { return int(a.end - b.end) })
	worst := 0
	for i, c := range all {
		overtaken := 0
		for _, other := range all[:i] { // those that ended before it
			if other.begin > c.begin {
				overtaken++
			}
		}
		worst = max(worst, overtaken)
	}
	t.Logf("one of %d calls was overtaken by %d that began later", len(all), worst)
	if limit := len(all) / 10; worst > limit {
		t.Errorf("a call was overtaken by %d that began later, more than %d of %d", worst, limit, len(all))
	}
}

// trafficRole: PATH NAME N. On command it acquires and releases a name N times, and
// then says when each of these calls began and ended.
func trafficRole(p *player) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*bound)
	defer cancel()
	s, err := open(ctx, p.args[0], system())
	if err != nil {
		return err
	}
	defer s.Close()
	grant, err := s.Open(ctx, time.Hour, "traffic")
	if err != nil {
		return err
	}
	p.say("ready")
	p.await()
	var report strings.Builder
	measured := func(f func() error) error {
		begin := s.clock.Now()
		err := f()
		fmt.Fprintln(&report, int64(begin), int64(s.clock.Now()))
		return err
	}
	for range p.number(2) {
		var token uint64
		err := measured(func() error {
			outcomes, err := s.Acquire(ctx, grant.Session, p.args[1:2], false)
			if err == nil {
				token = outcomes[0].Token
			}
			return err
		})
		if err != nil {
			return err
		}
		err = measured(func() error {
			return s.Release(ctx, grant.Session, []backend.Lease{{Name: p.args[1], Token: token}})
		})
		if err != nil {
			return err
		}
	}
	fmt.Print(report.String())
	return nil
}
