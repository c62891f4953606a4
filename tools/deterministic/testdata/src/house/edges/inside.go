package edges

func inside(c *Clock) {
	_ = Now() // want `edges.Now: it is of edges/edge.go, where the deterministic world ends`
	_ = c.Base()
}
