// Package variables keeps things outside of its actors.
package variables

import (
	"house/variables/other"
	"sync/atomic"
)

type counter struct{ n int }

func (c *counter) inc()    { c.n++ }
func (c counter) get() int { return c.n }

var (
	total   int
	byName  = map[string]int{}
	one     counter
	pointer = new(counter)
	list    [5]int
	steps   atomic.Int64
	table   = []int{1, 2}
)

func change() {
	total = 1             // want `change of total: a variable of the package outlives the actor, and all worlds share it`
	total++               // want `change of total`
	total += 2            // want `change of total`
	byName["x"] = 1       // want `change of byName`
	delete(byName, "x")   // want `change of byName`
	clear(byName)         // want `change of byName`
	copy(list[1:], table) // want `change of list`
	one.n = 1             // want `change of one`
	one.inc()             // want `change of one`
	pointer.n = 1         // want `change of pointer`
	*pointer = one        // want `change of pointer`
	list[1]++             // want `change of list`
	steps.Add(1)          // want `change of steps`
	_ = &total            // want `change of total`
	other.Exported = 1    // want `change of Exported`
	for total = range 3 { // want `change of total`
	}

	var local counter
	local.n = total + table[0] + one.get()
	local.inc()
	pointer.inc() // a table is behind a pointer as well, and never changes
	list := list
	list[1] = 5
	_ = &list
}
