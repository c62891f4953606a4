// Package user uses the edges of another package.
package user

import (
	"house/edges"
	"house/unlisted" // want `import of "unlisted", which is not checked itself`
	"housing"        // want `import of "housing", which is not known to be deterministic`
)

func use(g edges.Generic[int]) {
	_ = edges.Now() // want `edges.Now: it is of edges/edge.go`
	_ = edges.Epoch // want `edges.Epoch: it is of`
	c := edges.New(1)
	_ = c.Elapsed() // want `edges.Clock.Elapsed: it is of`
	f := c.Elapsed  // want `edges.Clock.Elapsed: it is of`
	f()
	g.Read() // want `edges.Generic.Read: it is of`
	_ = c.Base()
	_ = edges.Limit
	unlisted.F()
	housing.F()
}
