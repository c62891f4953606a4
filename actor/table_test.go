package actor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/internal/tables"
)

type door uint8

const (
	open door = iota
	closed
	locked
	walled
)

func (d door) String() string { return [...]string{"OPEN", "CLOSED", "LOCKED", "WALLED_UP"}[d] }

type handle uint8

const (
	push handle = iota
	pull
	turnKey
	knock
	wallUp
)

func (h handle) String() string {
	return [...]string{"push", "pull", "turn the key", "knock", "wall up"}[h]
}

type doorRow = actor.Row[door, handle]

var doorTable = actor.NewTable("door", closed,
	doorRow{From: []door{closed}, On: push, To: open},
	doorRow{From: []door{open}, On: pull, To: closed},
	doorRow{From: []door{closed}, On: turnKey, To: locked},
	doorRow{From: []door{locked}, On: turnKey, To: closed},
	doorRow{From: []door{closed, locked}, On: knock, To: locked},
	doorRow{From: []door{open, closed, locked}, On: wallUp, To: walled},
	doorRow{From: []door{walled}, On: knock, To: walled},
	doorRow{From: []door{walled}, On: push, To: walled},
)

func TestMachineMovesThroughItsTable(t *testing.T) {
	m := actor.NewMachine(doorTable)
	if m.State() != closed || doorTable.Initial() != closed || doorTable.Name() != "door" {
		t.Errorf("machine %s starts in %s", doorTable.Name(), m.State())
	}
	for _, step := range []struct {
		on handle
		to door
	}{{push, open}, {pull, closed}, {turnKey, locked}, {knock, locked}, {turnKey, closed}, {wallUp, walled}, {push, walled}} {
		if err := m.Step(step.on); err != nil || m.State() != step.to {
			t.Errorf("%s leads to %s, %v; want %s", step.on, m.State(), err, step.to)
		}
	}
}

func TestUndefinedEventIsReportedAndChangesNothing(t *testing.T) {
	m := actor.NewMachine(doorTable)
	err := m.Step(pull)
	var undefined *actor.UndefinedError
	if !errors.As(err, &undefined) || *undefined != (actor.UndefinedError{Machine: "door", State: "CLOSED", Event: "pull"}) {
		t.Errorf("got %#v", err)
	}
	if err.Error() != "actor: machine door has no event pull in state CLOSED" {
		t.Errorf("the error reads %q", err)
	}
	if m.State() != closed {
		t.Errorf("the state is %s, want CLOSED", m.State())
	}
	if to, err := doorTable.Next(walled, pull); to != walled || !errors.As(err, &undefined) {
		t.Errorf("Next: %s, %v", to, err)
	}
}

func TestTableNamesItsStatesAndEvents(t *testing.T) {
	if got, want := doorTable.States(), []door{open, closed, locked, walled}; !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	if got, want := doorTable.Events(), []handle{push, pull, turnKey, knock, wallUp}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestNewTableRefusesRowsThatMakeNoMachine(t *testing.T) {
	opens := doorRow{From: []door{closed}, On: push, To: open}
	tests := []struct {
		name string
		rows []doorRow
		want string
	}{
		{"two ways", []doorRow{opens, {From: []door{open, closed}, On: push, To: locked}},
			"event push in state CLOSED leads to OPEN in one row and to LOCKED in another"},
		{"twice the same", []doorRow{opens, opens}, "leads to OPEN in one row and to OPEN in another"},
		{"from nowhere", []doorRow{opens, {On: pull, To: closed}}, "event pull to CLOSED comes from no state"},
		{"unreachable", []doorRow{opens, {From: []door{locked}, On: turnKey, To: closed}},
			"no events lead from CLOSED to LOCKED"},
		{"unreachable circle", []doorRow{opens,
			{From: []door{locked}, On: turnKey, To: walled}, {From: []door{walled}, On: turnKey, To: locked}},
			"no events lead from CLOSED to LOCKED"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "actor: machine door: ") || !strings.Contains(got, test.want) {
					t.Errorf("it panics with %q, want %q", got, test.want)
				}
			}()
			actor.NewTable("door", closed, test.rows...)
		})
	}
}

func TestTableKeepsItsRowsToItself(t *testing.T) {
	rows := []doorRow{{From: []door{closed}, On: push, To: open}}
	table := actor.NewTable("door", closed, rows...)
	rows[0].From[0] = locked
	rows[0].To = locked
	if got, want := table.States(), []door{open, closed}; !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
}

func TestTwinAgreesOnTheDoor(t *testing.T) { tables.Check(t, doorTable) }

// letter is the states and the events of random tables.
type letter uint8

func (l letter) String() string { return string('A' + rune(l)) }

// randomTable draws a table whose states can all be reached, as they must.
func randomTable(rt *rapid.T) *actor.Table[letter, letter] {
	const states, events = 5, 4
	letters := func(below int) *rapid.Generator[letter] {
		return rapid.Map(rapid.IntRange(0, below-1), func(i int) letter { return letter(i) })
	}
	reached := []letter{letters(states).Draw(rt, "initial")}
	initial := reached[0]
	taken := make(map[[2]letter]bool)
	var rows []actor.Row[letter, letter]
	for range rapid.IntRange(1, 12).Draw(rt, "rows") {
		row := actor.Row[letter, letter]{On: letters(events).Draw(rt, "on"), To: letters(states).Draw(rt, "to")}
		for _, from := range rapid.SliceOfNDistinct(rapid.SampledFrom(reached), 0, len(reached), rapid.ID).Draw(rt, "from") {
			if k := [2]letter{from, row.On}; !taken[k] {
				taken[k] = true
				row.From = append(row.From, from)
			}
		}
		if len(row.From) > 0 {
			rows = append(rows, row)
			if !slices.Contains(reached, row.To) {
				reached = append(reached, row.To)
			}
		}
	}
	if len(rows) == 0 {
		rows = append(rows, actor.Row[letter, letter]{From: []letter{initial}, To: initial})
	}
	return actor.NewTable("random", initial, rows...)
}

func TestTwinAgreesOnAnyTable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { tables.Walk(rt, randomTable(rt)) })
}

func TestDiagram(t *testing.T) {
	const want = `stateDiagram-v2
    [*] --> CLOSED
    CLOSED --> OPEN: push
    OPEN --> CLOSED: pull
    CLOSED --> LOCKED: turn the key, knock
    LOCKED --> CLOSED: turn the key
    LOCKED --> LOCKED: knock
    OPEN --> WALLED_UP: wall up
    CLOSED --> WALLED_UP: wall up
    LOCKED --> WALLED_UP: wall up
    WALLED_UP --> WALLED_UP: knock, push
    WALLED_UP --> [*]
`
	if got := doorTable.Mermaid(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
