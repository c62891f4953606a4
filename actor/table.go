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

// Row says where an event leads from each of some states.
type Row[S, E Enum] struct {
	From []S
	On   E
	To   S
}

// Table is the single source of a state machine: what is not in it cannot
// happen. It is immutable after [NewTable] and safe for concurrent use.
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
type UndefinedError struct{ Machine, State, Event string }

func (e *UndefinedError) Error() string {
	return fmt.Sprintf("actor: machine %s has no event %s in state %s", e.Machine, e.Event, e.State)
}

// NewTable returns the table of the named machine. It panics when two rows
// disagree about where an event leads from a state.
func NewTable[S, E Enum](name string, initial S, rows ...Row[S, E]) *Table[S, E] {
	t := &Table[S, E]{name: name, initial: initial, rows: rows, next: make(map[edge[S, E]]S)}
	for _, row := range rows {
		for _, from := range row.From {
			k := edge[S, E]{from, row.On}
			if to, dup := t.next[k]; dup {
				panic(fmt.Sprintf("actor: machine %s: event %s in state %s leads to both %s and %s",
					name, row.On, from, to, row.To))
			}
			t.next[k] = row.To
		}
	}
	return t
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

// Machine is a state that moves through a [Table].
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
