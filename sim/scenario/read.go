package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Load reads a scenario from a file. What is wrong with it are [*Error]s, joined.
func Load(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(path, text)
}

// Parse reads a scenario from the text of a file. Files of samples that it names are
// sought in the folder of that.
func Parse(file string, text []byte) (*Scenario, error) {
	root, err := parse(text)
	if err != nil {
		return nil, locate(file, err)
	}
	if err := known(root, reflect.TypeFor[Scenario](), ""); err != nil {
		err.File = file
		return nil, err
	}
	s := &Scenario{}
	if err := yaml.NodeToValue(root, s, yaml.Strict()); err != nil {
		return nil, locate(file, err)
	}
	s.resolve(filepath.Dir(file))
	var errs []error
	for _, e := range s.problems() {
		e.File, e.Line = file, lineOf(root, e.Path)
		errs = append(errs, e)
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// parse returns the one document of a text.
func parse(text []byte) (ast.Node, error) {
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	if len(f.Docs) > 1 {
		return nil, &Error{What: fmt.Sprintf("has %d YAML documents; it must have one", len(f.Docs))}
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil, &Error{What: "is empty; it must have at least title, lasts, params and clients"}
	}
	return f.Docs[0].Body, nil
}

// locate says in which line an error of the parser is.
func locate(file string, err error) error {
	var at yaml.Error
	if own := (*Error)(nil); errors.As(err, &own) {
		own.File = file
		return own
	}
	if errors.As(err, &at) && at.GetToken() != nil {
		t := at.GetToken()
		return &Error{File: file, Line: t.Position.Line, What: fmt.Sprintf("is no YAML at %q: %s", t.Value, at.GetMessage())}
	}
	return &Error{File: file, What: err.Error()}
}

// lineOf returns the line of the value at a path, or of the nearest around it that
// there is.
func lineOf(root ast.Node, path string) int {
	for ; path != ""; path = parent(path) {
		p, err := yaml.PathString("$." + path)
		if err != nil {
			continue
		}
		if n, err := p.FilterNode(root); err == nil && n != nil {
			return n.GetToken().Position.Line
		}
	}
	return root.GetToken().Position.Line
}

// parent is the path without its last step.
func parent(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// resolve makes the paths of samples start at a folder.
func (s *Scenario) resolve(folder string) {
	at := func(spans ...*Span) {
		for _, sp := range spans {
			if sp.File != "" && !filepath.IsAbs(sp.File) {
				sp.File = filepath.Join(folder, sp.File)
			}
		}
	}
	at(&s.Network.Delay, &s.Network.Stall, &s.Backend.Slow)
	for i := range s.Clients {
		for _, e := range s.Clients[i].Elections {
			if e.Listener != nil {
				at(&e.Listener.Lasts)
			}
			if e.Task != nil {
				at(&e.Task.Lasts, &e.Task.Tidies)
			}
		}
	}
	for i := range s.Events {
		at(&s.Events[i].For)
	}
}
