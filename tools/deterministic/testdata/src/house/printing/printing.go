// Package printing shows addresses in memory.
package printing

import (
	"fmt"
	"io"
	"strconv"
)

type node struct {
	Name string
	Next *node
}

type hidden struct{ inner named }

type named struct{ p *int }

func (named) String() string { return "a name" }

type pair struct{ A, B int }

type message any

type tree []tree

func show(w io.Writer, n *node, h hidden, c chan int, f func(), m map[*int]bool, e error, a message) {
	fmt.Printf("%p", n)         // want `%p: an address in memory is not the same twice` `printing a \*node: it shows an address`
	fmt.Printf("%-20p", e)      // want `%p: an address`
	fmt.Printf("100%%%[1]p", e) // want `%p: an address`
	_ = fmt.Sprintf("%v", n)    // want `printing a \*node: it shows an address`
	_ = fmt.Sprint(*n)          // want `printing a node: it shows an address`
	fmt.Fprintln(w, "x", c)     // want `printing a chan int`
	_ = fmt.Errorf("%v", f)     // want `printing a func\(\)`
	fmt.Println(m)              // want `printing a map\[\*int\]bool`
	fmt.Println([]*pair{})      // want `printing a \[\]\*pair`
	fmt.Println([1]**pair{})    // want `printing a \[1\]\*\*pair`
	fmt.Println(h)              // want `printing a hidden`
	fmt.Println(new(int))       // want `printing a \*int`
	logf("%v", n)               // want `printing a \*node`
	logf("%p", 5)               // want `%p: an address`

	fmt.Println("%p", 100, &pair{}, named{}, []named{}, e, a, true)
	fmt.Printf("100%%p %s %5.2f", strconv.Itoa(5), 2.5)
	all("x", n)
	fmt.Println(tree{})
	fmt.Println([]any{n}...)
}

func logf(format string, args ...any) { fmt.Printf(format, args...) }

func all(name string, nodes ...*node) {}
