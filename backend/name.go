package backend

import "fmt"

// MaxName is the length of the longest name, in bytes.
const MaxName = 128

// NameError says Why something cannot be the Name of a lease.
type NameError struct {
	Name string
	Why  string
}

// Error says what is wrong with the name, and what a name may be.
func (e *NameError) Error() string {
	return fmt.Sprintf("simba: invalid name %q: %s; a name has 1 to %d characters of A-Z a-z 0-9 . _ : - and is not \".\" or \"..\"",
		e.Name, e.Why, MaxName)
}

// CheckName returns a [*NameError] unless name can be the name of a lease. It is
// checked before any backend sees the name, so that each store can use it as it
// is: in a path, a key or a statement.
func CheckName(name string) error {
	switch {
	case name == "":
		return &NameError{name, "it is empty"}
	case len(name) > MaxName:
		return &NameError{name[:MaxName] + "...", fmt.Sprintf("it has %d characters", len(name))}
	case name == "." || name == "..":
		return &NameError{name, "it means a folder"}
	}
	for _, r := range name {
		if !nameRune(r) {
			return &NameError{name, fmt.Sprintf("it contains %q", r)}
		}
	}
	return nil
}

func nameRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return r == '.' || r == '_' || r == ':' || r == '-'
}
