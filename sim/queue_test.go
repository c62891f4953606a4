package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
)

// A queue gives what a sorted slice gives, also after times were changed.
func TestQueueIsSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			q    queue
			want []slot
			seq  uint64
		)
		at := rapid.Map(rapid.Int64Range(0, 20), func(n int64) actor.Instant { return actor.Instant(n) })
		sort := func() {
			slices.SortFunc(want, func(a, b slot) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "how many") {
					seq++
					s := slot{at: at.Draw(t, "at"), seq: seq, event: &event{}}
					q.push(s)
					want = append(want, s)
				}
				sort()
			},
			"push an old one again": func(t *rapid.T) {
				if len(want) > 0 {
					s := q.pop()
					s.at = at.Draw(t, "at")
					q.push(s)
					want[0] = s
					sort()
				}
			},
			"pop": func(t *rapid.T) {
				for range min(len(want), rapid.IntRange(1, 10).Draw(t, "how many")) {
					if got := q.pop(); got != want[0] {
						t.Fatalf("popped %v/%d, want %v/%d", got.at, got.seq, want[0].at, want[0].seq)
					}
					want = want[1:]
				}
			},
			"change times": func(t *rapid.T) {
				for i := range q {
					if rapid.Bool().Draw(t, "change") {
						q[i].at = at.Draw(t, "at")
					}
				}
				q.order()
				want = slices.Clone(q)
				sort()
			},
			"": func(t *rapid.T) {
				if len(q) != len(want) || len(q) > 0 && q[0] != want[0] {
					t.Fatalf("%d are queued, want %d", len(q), len(want))
				}
			},
		})
	})
}
