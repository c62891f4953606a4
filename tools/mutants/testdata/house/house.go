// Package house is what the tests of the command plant bugs in.
package house

// Open reports whether the door is open for whom it must not be.
func Open(visitor int) bool {
	return visitor < 0
}

// Rooms is how many rooms there are.
func Rooms() int {
	return 3
}

// Cellar is another one.
func Cellar() int {
	return 3
}
