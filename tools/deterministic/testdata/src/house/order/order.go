// Package order lets the order of maps show.
package order

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

type names map[string]int

type mapping interface{ map[string]int }

func loops[M ~map[string]int, N interface{ names | map[string]int }, O interface{ mapping }](a map[string]int, b names, c M, d N, e O) (all []string) {
	for k := range a { // want `range over a map: its order is never the same; sort the keys first, or say behind it why that does not show: //simba:unordered why`
		all = append(all, k)
	}
	for k := range b { // want `range over a map`
		all = append(all, k)
	}
	for k := range c { // want `range over a map`
		all = append(all, k)
	}
	for k := range d { // want `range over a map`
		all = append(all, k)
	}
	for k := range e { // want `range over a map`
		all = append(all, k)
	}
	for k := range all { // not a map
		all = append(all, all[k])
	}
	return all
}

func excused(m map[string]int) (all []string) {
	for k := range m { //simba:unordered the caller sorts
		all = append(all, k)
	}
	for k := range maps.Keys(m) { //simba:unordered the caller sorts
		all = append(all, k)
	}
	for k := range m { //simba:unordered // want `//simba:unordered: say why the order does not show`
		all = append(all, k)
	}
	//simba:unordered on a line of its own // want `//simba:unordered: nothing on this line needs it`
	for k := range m { // want `range over a map`
		all = append(all, k)
	}
	for k := range m { //simba:unorderd a slip // want `//simba:unorderd: there is no such comment; there is //simba:unordered` `range over a map`
		all = append(all, k)
	}
	n := 0
	for range m { //simba:unordered it counts // want `//simba:unordered: nothing on this line needs it`
		n++
	}
	return all[:n]
}

func iterators(m map[string]int) {
	_ = slices.Collect(maps.Keys(m))                                           // want `maps.Keys: its order is never the same`
	_ = slices.Collect(maps.Values(m))                                         // want `maps.Values`
	maps.All(m)(func(string, int) bool { return false })                       // want `maps.All`
	maps.DeleteFunc(m, func(string, int) bool { return true })                 // want `maps.DeleteFunc`
	maps.EqualFunc(m, m, func(int, int) bool { return true })                  // want `maps.EqualFunc`
	var keys func(map[string]int) iter.Seq[string] = maps.Keys[map[string]int] // want `maps.Keys`
	for range keys(m) {
	}

	_ = slices.Sorted(maps.Keys(m))
	_ = slices.SortedFunc(maps.Values(m), cmp.Compare)
	_ = slices.SortedStableFunc(maps.Keys[map[string]int](m), cmp.Compare)
	_ = maps.Collect(maps.All(m))
	maps.Insert(m, maps.All(m))
	_, _ = maps.Clone(m), maps.Equal(m, m)
}
