package report

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/simba-go/simba/sim"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// teller writes down the story of a world that nobody ran.
type teller struct {
	entries []sim.Entry
	random  *rand.Rand
}

func newTeller() *teller { return &teller{random: rand.New(rand.NewPCG(1, 2))} }

func (t *teller) add(e sim.Entry) { t.entries = append(t.entries, e) }

func (t *teller) of(at time.Duration, node string, kind sim.Kind, name string, token uint64, state, text string) {
	t.add(sim.Entry{At: at, Node: node, Kind: kind, Name: name, Token: token, State: state, Text: text})
}

// call is a request to the store and its answer, some time apart.
func (t *teller) call(at time.Duration, node, what string) time.Duration {
	there := at + 4*ms + time.Duration(t.random.Int64N(int64(9*ms)))
	back := there + 4*ms + time.Duration(t.random.Int64N(int64(9*ms)))
	t.message(at, there, node, "store", "sent", what)
	t.message(there, back, "store", node, "sent", what+": done")
	return back
}

func (t *teller) message(at, until time.Duration, from, to, state, what string) {
	text := map[string]string{"sent": "%s sends to %s: %s.", "lost": "What %s sends to %s is lost: %s.",
		"late": "What %s sends to %s comes late: %s.", "doubled": "What %s sends to %s comes twice: %s."}[state]
	t.add(sim.Entry{At: at, Node: from, Kind: sim.KindMessage, State: state, To: to, Until: until, Text: fmt.Sprintf(text, from, to, what)})
}

func (t *teller) open(at time.Duration, node string) time.Duration {
	t.of(at, node, sim.KindSession, "", 0, "OPENING", node+" opens a session.")
	at = t.call(at, node, "open a session for 10s")
	t.of(at, node, sim.KindSession, "", 0, "LIVE", node+"'s session is live.")
	return at
}

func (t *teller) win(at time.Duration, node, name string, token uint64) {
	t.of(at, node, sim.KindTerm, name, token, "begun", fmt.Sprintf("%s holds %s: term %d begins.", node, name, token))
	t.of(at, node, sim.KindElection, name, token, "LEADER", fmt.Sprintf("%s leads %s.", node, name))
	t.of(at+ms, node, sim.KindCallback, name, token, "elected", node+"'s OnElected is called.")
	t.of(at+3*ms, node, sim.KindTask, name, token, "running", node+"'s task runs.")
}

func (t *teller) write(at time.Duration, node, name string, token uint64, state string) {
	text := fmt.Sprintf("The resource accepts a write of %s with token %d.", node, token)
	if state == "refused" {
		text = fmt.Sprintf("The resource refuses a write of %s: its token %d is older than one it has seen.", node, token)
	}
	t.add(sim.Entry{At: at, Node: node, Kind: sim.KindWrite, Name: name, Token: token, State: state, To: "resource", Text: text})
}

// longPause is the classical story: a leader is paused past its lease, another takes over, and the first wakes and writes.
func longPause() Story {
	t := newTeller()
	a, b, name := "client-1", "client-2", "orders"
	for i, node := range []string{a, b} {
		at := t.open(time.Duration(i)*300*ms, node)
		t.of(at, node, sim.KindElection, name, 0, "CANDIDATE", node+" wants to lead orders.")
	}
	t.win(t.call(50*ms, a, "acquire orders"), a, name, 1)
	t.call(400*ms, b, "acquire orders")
	for at := 2 * s; at < 40*s; at += 3 * s {
		if at < 9*s || at > 24*s {
			t.call(at, a, "renew")
		}
		t.call(at+700*ms, b, "renew")
		if at < 21*s {
			t.call(at+710*ms, b, "acquire orders")
		}
	}
	t.message(8*s+600*ms, 0, a, "store", "lost", "renew")
	for at := s; at < 9*s; at += 900 * ms {
		t.write(at, a, name, 1, "accepted")
	}
	t.of(9*s, a, sim.KindFault, "", 0, "paused", "client-1 stands still: a garbage collection of 15s.")
	t.of(18*s, a, sim.KindTerm, name, 1, "ended", "Term 1 of orders ends: its deadline passed, and client-1 does not know.")
	t.win(t.call(20*s+720*ms, b, "acquire orders"), b, name, 2)
	for at := 21500 * ms; at < 39*s; at += 1300 * ms {
		t.write(at, b, name, 2, "accepted")
	}
	t.of(24*s, a, sim.KindFault, "", 0, "resumed", "client-1 goes on as if nothing had happened.")
	t.write(24*s+20*ms, a, name, 1, "refused")
	t.of(24*s+40*ms, a, sim.KindElection, name, 0, "CANDIDATE", "client-1 sees that its term has ended: deadline passed.")
	t.of(24*s+40*ms, a, sim.KindSession, "", 0, "OPENING", "client-1's session is over.")
	t.of(24*s+41*ms, a, sim.KindCallback, name, 1, "revoked", "client-1's OnRevoked is called.")
	t.of(24*s+60*ms, a, sim.KindTask, name, 1, "cancelled", "client-1's task is told to stop.")
	t.of(t.call(24*s+50*ms, a, "open a session for 10s"), a, sim.KindSession, "", 0, "LIVE", "client-1 has a new session.")
	t.write(26*s, a, name, 1, "refused")
	t.of(28*s+500*ms, a, sim.KindTask, name, 1, "exited", "client-1's task ends, at last.")
	t.message(27*s, 31*s, "store", a, "late", "renew: done")
	t.message(33*s, 33*s+30*ms, b, "store", "doubled", "renew")
	return Story{
		Title: "The long pause", Command: "go run ./cmd/simba-sim replay scenarios/long-pause.yaml",
		Params:  []Param{{"seed", "42"}, {"lease", "10s"}, {"drift", "1%"}, {"clients", "2"}, {"latency", "4ms to 13ms"}},
		Length:  40 * s,
		Entries: t.entries,
	}
}

// violated is a world in which two terms are valid at once.
func violated() Story {
	story := longPause()
	t := newTeller()
	for _, e := range story.Entries {
		if e.At < 16*s && e.State != "paused" {
			t.add(e)
		}
	}
	t.of(9*s, "client-1", sim.KindFault, "", 0, "clock jumped", "client-1's clock jumps back by 6s.")
	t.message(11*s, 0, "client-1", "store", "lost", "renew")
	t.of(12*s, "client-1", sim.KindSession, "", 0, "SUSPENDED", "client-1's renewal was not answered.")
	t.of(12*s, "store", sim.KindFault, "", 0, "outage", "The store is out of order.")
	t.of(13*s, "store", sim.KindFault, "", 0, "restored", "The store is back.")
	t.of(13*s+500*ms, "client-1", sim.KindFault, "", 0, "cut", "client-1 is cut off from the store.")
	t.entries[len(t.entries)-1].To = "store"
	t.win(15*s+300*ms, "client-2", "orders", 2)
	t.of(15*s+300*ms, "client-2", sim.KindViolation, "orders", 2, "",
		"Invariant 1 is broken: client-1 with token 1 and client-2 with token 2 both have a valid term of orders.")
	story.Title, story.Command = "Seed 4711", "go run ./cmd/simba-sim run --seed 4711"
	story.Entries, story.Length = t.entries, 15*s+304*ms
	story.Violation = &sim.Violation{
		Invariant: sim.OneValidTerm, At: 15*s + 300*ms,
		What: "orders: the term with token 1 of client-1 is valid for another 4.2s, and client-2 begins one with token 2.",
	}
	return story
}

// crowded is a world of very many entries.
func crowded(n int) Story {
	t := newTeller()
	states := []string{"CANDIDATE", "LEADER", "STEPPING_DOWN", "CANDIDATE"}
	fates := []string{"sent", "sent", "sent", "sent", "sent", "sent", "late", "lost", "doubled"}
	token := map[string]uint64{}
	at := time.Duration(0)
	for len(t.entries) < n {
		at += time.Duration(t.random.Int64N(int64(30 * ms)))
		node := fmt.Sprintf("client-%d", 1+t.random.IntN(12))
		name := fmt.Sprintf("shard-%d", 1+t.random.IntN(3))
		if state := fates[t.random.IntN(len(fates))]; state == "lost" {
			t.message(at, 0, node, "store", state, "renew")
		} else if state != "sent" {
			t.message(at, at+40*ms, node, "store", state, "renew")
		}
		t.call(at, node, "renew")
		if t.random.IntN(8) > 0 {
			continue
		}
		switch state := states[t.random.IntN(4)]; state {
		case "LEADER":
			token[name]++
			t.win(at, node, name, token[name])
			t.write(at+20*ms, node, name, token[name], []string{"accepted", "accepted", "accepted", "refused"}[t.random.IntN(4)])
		case "CANDIDATE":
			t.of(at, node, sim.KindTerm, name, 0, "ended", "The term ends.")
			t.of(at, node, sim.KindElection, name, 0, state, node+" contends.")
			t.of(at+9*ms, node, sim.KindTask, name, 0, "exited", "The task ends.")
		default:
			fault := [][2]string{{"paused", "resumed"}, {"crashed", "started"}, {"cut", "healed"}}[t.random.IntN(3)]
			t.of(at, node, sim.KindFault, "", 0, fault[t.random.IntN(2)], "A fault of "+node+".")
		}
	}
	return Story{Title: fmt.Sprintf("%d entries", n), Command: "go run ./cmd/simba-sim run --seed 7", Length: at, Entries: t.entries}
}

// hostile is a story of names and texts that try to get out of where they are put.
func hostile() Story {
	const evil = `</script><img src="https://evil.example/x" onerror="alert(1)"><!-- ` + "`${alert(2)}`\u2028 {{.}} \x00\xff"
	return Story{
		Title: evil, Command: evil, Params: []Param{{evil, evil}}, Length: 2 * s,
		Entries: []sim.Entry{
			{At: s, Node: evil, Kind: sim.KindTerm, Name: evil, Token: 1, State: "begun", Text: evil, To: evil},
			{At: s, Node: "__proto__", Kind: sim.KindMessage, State: "constructor", Text: evil, To: "toString"},
			{At: s, Node: "client-1", Kind: sim.Kind(evil), State: evil, Text: evil},
		},
		Violation: &sim.Violation{Invariant: sim.Invariant{Number: 1, Name: evil, Says: evil}, What: evil, At: s},
	}
}
