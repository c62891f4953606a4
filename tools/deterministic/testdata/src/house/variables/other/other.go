// Package other has a variable.
package other

// Exported is for all to change.
var Exported int
