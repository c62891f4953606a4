package main

import (
	"go/types"
	"slices"
	"strings"
)

// A library is a package that checked code may import.
type library struct {
	path string
	// only lists the names that may be used, separated by spaces; none means all.
	only string
	// except lists the names that may not. A method is written Type.Method.
	except string
	// instead says what a behaviour does in place of the rest.
	instead string
}

const askContext = "a behaviour asks its context"

// libraries are the packages known to be pure, as far as they are: what they return depends on the arguments alone.
var libraries = []library{
	{path: "bufio"},
	{path: "bytes"},
	{path: "cmp"},
	{path: "container/heap"},
	{path: "context", except: "WithTimeout WithTimeoutCause WithDeadline WithDeadlineCause AfterFunc Context.Deadline",
		instead: "a timer of the context ends things in time"},
	{path: "encoding/json"},
	{path: "errors"},
	{path: "fmt", except: "Scan Scanf Scanln", instead: "a behaviour is told what it needs"},
	{path: "hash/fnv"},
	{path: "io"},
	{path: "iter"},
	{path: "maps"},
	{path: "math"},
	{path: "math/big"},
	{path: "math/bits"},
	{path: "math/rand/v2", only: "New NewChaCha8 NewPCG ChaCha8 PCG Rand Source", instead: askContext},
	// What it returns is shown to people after a panic, and decides nothing.
	{path: "runtime/debug", only: "Stack", instead: askContext},
	{path: "reflect", only: "Type TypeFor TypeOf", instead: "values may show where they are in memory"},
	{path: "slices"},
	{path: "sort"},
	{path: "strconv"},
	{path: "strings"},
	{path: "sync/atomic"}, // plain memory on one thread
	{path: "time", only: "Duration ParseDuration Nanosecond Microsecond Millisecond Second Minute Hour", instead: askContext},
	{path: "unicode"},
	{path: "unicode/utf8"},
}

func findLibrary(path string) *library {
	if i := slices.IndexFunc(libraries, func(l library) bool { return l.path == path }); i >= 0 {
		return &libraries[i]
	}
	return nil
}

// allows judges what a package declares: its names, and the methods of its types.
func (l library) allows(obj types.Object) bool {
	name := nameOf(obj)
	if slices.Contains(strings.Fields(l.except), name) {
		return false
	}
	return l.only == "" || strings.Contains(name, ".") || slices.Contains(strings.Fields(l.only), name)
}

// nameOf is the object's name, behind that of its type for a method.
func nameOf(obj types.Object) string {
	if f, ok := obj.(*types.Func); ok {
		if recv := f.Signature().Recv(); recv != nil {
			return typeName(recv.Type()) + "." + f.Name()
		}
	}
	return obj.Name()
}

// typeName is the name of a type, or of what it points to.
func typeName(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return t.String()
}
