package main

// askToEnd does what SIGTERM does elsewhere: Windows has no signal for one process.
func askToEnd(n *node) error { return n.leash.Close() }
