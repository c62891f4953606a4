package actor

import (
	"fmt"
	"slices"
)

// Enum is what states and events are: small integers with a name.
type Enum interface {
	~uint8
	fmt.Stringer
}

// NameOf returns names[i], and for a value without a name what kind it is of, like
// State(7). It is for the String methods of states and events.
func NameOf(names []string, i uint8, kind string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

// Row says where an event leads from each of some states.
type Row[S, E Enum] struct {
	From []S // at least one
	On   E   // the event
	To   S   // may be the same state
}

// Table is the single source of a state machine: what is not in it cannot
// happen. It is immutable and safe for concurrent use.
type Table[S, E Enum] struct {
	name    string
	initial S
	rows    []Row[S, E]
	next    map[edge[S, E]]S
}

type edge[S, E Enum] struct {
	from S
	on   E
}

// UndefinedError is an event that a machine's table does not have in a state. It
// is always a bug of the machine's owner.
type UndefinedError struct {
	// Machine, State and Event are the names of what did not fit.
	Machine, State, Event string
}

// Error gives the three names.
func (e *UndefinedError) Error() string {
	return fmt.Sprintf("actor: machine %s has no event %s in state %s", e.Machine, e.Event, e.State)
}

// NewTable returns the table of the named machine. It panics if the rows make no
// machine: two say where an event leads from a state, one is for no state at all,
// or a state cannot be reached from initial.
func NewTable[S, E Enum](name string, initial S, rows ...Row[S, E]) *Table[S, E] {
	t := &Table[S, E]{name: name, initial: initial, next: make(map[edge[S, E]]S)}
	for _, row := range rows {
		if len(row.From) == 0 {
			panic(fmt.Sprintf("actor: machine %s: event %s to %s comes from no state", name, row.On, row.To))
		}
		row.From = slices.Clone(row.From)
		t.rows = append(t.rows, row)
		for _, from := range row.From {
			k := edge[S, E]{from, row.On}
			if to, dup := t.next[k]; dup {
				panic(fmt.Sprintf("actor: machine %s: event %s in state %s leads to %s in one row and to %s in another",
					name, row.On, from, to, row.To))
			}
			t.next[k] = row.To
		}
	}
	t.checkReachable()
	return t
}

func (t *Table[S, E]) checkReachable() {
	reached := map[S]bool{t.initial: true}
	for grown := true; grown; {
		grown = false
		for k, to := range t.next { //simba:unordered it is repeated until nothing more is reached
			if reached[k.from] && !reached[to] {
				reached[to], grown = true, true
			}
		}
	}
	for _, s := range t.States() {
		if !reached[s] {
			panic(fmt.Sprintf("actor: machine %s: no events lead from %s to %s", t.name, t.initial, s))
		}
	}
}

// Name returns the machine's name.
func (t *Table[S, E]) Name() string { return t.name }

// Initial returns the state in which a machine starts.
func (t *Table[S, E]) Initial() S { return t.initial }

// Next returns the state to which event leads from state, or an
// [*UndefinedError].
func (t *Table[S, E]) Next(state S, event E) (S, error) {
	to, ok := t.next[edge[S, E]{state, event}]
	if !ok {
		return state, &UndefinedError{Machine: t.name, State: state.String(), Event: event.String()}
	}
	return to, nil
}

// States returns every state that a row names, in ascending order.
func (t *Table[S, E]) States() []S {
	states := []S{t.initial}
	for _, row := range t.rows {
		states = append(states, row.From...)
		states = append(states, row.To)
	}
	slices.Sort(states)
	return slices.Compact(states)
}

// Events returns every event that a row names, in ascending order.
func (t *Table[S, E]) Events() []E {
	var events []E
	for _, row := range t.rows {
		events = append(events, row.On)
	}
	slices.Sort(events)
	return slices.Compact(events)
}

// Machine is a state that moves through a [Table]. It belongs to one actor.
type Machine[S, E Enum] struct {
	table *Table[S, E]
	state S
}

// NewMachine returns a machine in the table's initial state.
func NewMachine[S, E Enum](t *Table[S, E]) Machine[S, E] {
	return Machine[S, E]{table: t, state: t.initial}
}

// State returns the state that the machine is in.
func (m *Machine[S, E]) State() S { return m.state }

// Step moves the machine. An event that the table does not have here is returned
// as an [*UndefinedError] and leaves the state as it is.
func (m *Machine[S, E]) Step(event E) error {
	to, err := m.table.Next(m.state, event)
	m.state = to
	return err
}
