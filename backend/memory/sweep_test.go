package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
)

// Clients that crash leave sessions behind that nobody asks about again. They do
// not pile up, and neither do what they held.
func TestDeadSessionsAreForgotten(t *testing.T) {
	m := NewModel(Config{})
	const lease = time.Second
	for i := range 20_000 {
		now := actor.Instant(i) * actor.Instant(lease/100) // so that a hundred live at a time
		id := fmt.Sprint(i)
		if _, err := m.Open(now, id, lease, ""); err != nil {
			t.Fatal(err)
		}
		if o, err := m.Acquire(now, id, []string{fmt.Sprint(i % 500)}, false); err != nil || !o[0].Won {
			t.Fatalf("%+v, %v", o, err)
		}
		if n := len(m.sessions); n > 4*100 {
			t.Fatalf("after %d sessions, of which 100 live, %d are kept", i, n)
		}
	}
	if n := len(m.leases); n != 500 { // R19: these are kept for good
		t.Errorf("%d names are kept of 500", n)
	}
}
