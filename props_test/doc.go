// Package props holds the properties that take more than one package to state:
// the rules that a backend arbitrates by, the deadline between a client's clock and
// the backend's, and what must always hold in the simulated world. All of it is
// tests.
package props
