package scenario

import (
	"os"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/simba-go/simba/sim"
)

// Span is how long something takes: a distribution. At most one field is set. In a
// file, a duration alone is a constant one.
type Span struct {
	Constant    time.Duration   `yaml:"constant"`    // always that
	Uniform     []time.Duration `yaml:"uniform"`     // from the first to the second
	Exponential time.Duration   `yaml:"exponential"` // the mean, without a memory
	Pareto      *Pareto         `yaml:"pareto"`      // with a heavy tail
	// File has samples, one a line. In a scenario that was read from a file, its path
	// starts at the folder of that.
	File string `yaml:"file"`

	samples []time.Duration
}

// Pareto is the distribution of [sim.Pareto].
type Pareto struct {
	Least time.Duration `yaml:"least"` // the shortest
	Shape float64       `yaml:"shape"` // the smaller, the heavier its tail
}

// UnmarshalYAML takes a duration, or one of the fields.
func (s *Span) UnmarshalYAML(node ast.Node) error {
	if _, fields := node.(ast.MapNode); !fields {
		return yaml.NodeToValue(node, &s.Constant)
	}
	type plain Span
	return yaml.NodeToValue(node, (*plain)(s))
}

// given says which fields are set.
func (s *Span) given() (fields []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"constant", s.Constant != 0}, {"uniform", s.Uniform != nil}, {"exponential", s.Exponential != 0},
		{"pareto", s.Pareto != nil}, {"file", s.File != ""},
	} {
		if f.set {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// distribution is nil for no time.
func (s *Span) distribution() sim.Distribution {
	switch {
	case s.Uniform != nil:
		return sim.Uniform(s.Uniform[0], s.Uniform[1])
	case s.Exponential > 0:
		return sim.Exponential(s.Exponential)
	case s.Pareto != nil:
		return sim.Pareto(s.Pareto.Least, s.Pareto.Shape)
	case s.File != "":
		return sim.Empirical(s.samples)
	case s.Constant > 0:
		return sim.Constant(s.Constant)
	}
	return nil
}

// load reads the samples of a span from a file.
func (s *Span) load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s.samples, err = sim.ReadSamples(f)
	return err
}
