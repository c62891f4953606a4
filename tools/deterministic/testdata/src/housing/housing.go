// Package housing is of another module.
package housing

// F does nothing.
func F() {}
