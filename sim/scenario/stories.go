package scenario

import (
	"embed"
	"path"
)

//go:embed stories/*.yaml outside/*.yaml
var files embed.FS

// Stories returns the scenarios that come with the package, sorted by their files:
// how leases go wrong where they are not thought through, and what becomes of that
// here. In all of them every invariant holds.
func Stories() []*Scenario { return all("stories") }

// Outside returns scenarios that break the assumptions on which leases rest. Two
// terms are valid at once in them, and what is left is a resource that checks tokens.
func Outside() []*Scenario { return all("outside") }

// all returns the scenarios of an embedded folder. They are tested.
func all(folder string) []*Scenario {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err)
	}
	var scenarios []*Scenario
	for _, e := range entries {
		file := path.Join(folder, e.Name())
		text, err := files.ReadFile(file)
		if err != nil {
			panic(err)
		}
		s, err := Parse(file, text)
		if err != nil {
			panic(err)
		}
		scenarios = append(scenarios, s)
	}
	return scenarios
}

// ByTitle returns the scenario with a title among those that come with the package,
// nil if there is none.
func ByTitle(title string) *Scenario {
	for _, s := range append(Stories(), Outside()...) {
		if s.Title == title {
			return s
		}
	}
	return nil
}
