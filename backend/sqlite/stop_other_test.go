//go:build !unix

package sqlite

// pause does nothing: the process waits for a command anyway.
func pause(*process) {}
