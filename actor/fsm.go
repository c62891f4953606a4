package actor

import "github.com/looplab/fsm"

// FSM builds the table's twin in looplab/fsm: a second opinion for tests, and a
// door to that library's tools. It is not meant for hot paths, and its Event must
// be given a context that is never cancelled: v1.0.3 stays locked for ever after
// one that is.
func (t *Table[S, E]) FSM() *fsm.FSM {
	var events fsm.Events
	for _, row := range t.rows {
		d := fsm.EventDesc{Name: row.On.String(), Dst: row.To.String()}
		for _, from := range row.From {
			d.Src = append(d.Src, from.String())
		}
		events = append(events, d)
	}
	return fsm.NewFSM(t.initial.String(), events, nil)
}
