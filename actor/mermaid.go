package actor

import (
	"fmt"
	"strings"
)

// Mermaid renders the table as a Mermaid state diagram. Arrows come in the order
// in which the rows declare them, one for each pair of states, with all the
// events that lead from the one to the other. A state that nothing leads out of
// ends the machine.
func (t *Table[S, E]) Mermaid() string {
	type arrow struct{ from, to S }
	var arrows []arrow
	events := make(map[arrow][]string)
	left := make(map[S]bool)
	for _, row := range t.rows {
		for _, from := range row.From {
			a := arrow{from, row.To}
			if events[a] == nil {
				arrows = append(arrows, a)
			}
			events[a] = append(events[a], row.On.String())
			left[from] = left[from] || from != row.To
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "stateDiagram-v2\n    [*] --> %s\n", t.initial)
	for _, a := range arrows {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", a.from, a.to, strings.Join(events[a], ", "))
	}
	for _, s := range t.States() {
		if !left[s] {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	return b.String()
}
