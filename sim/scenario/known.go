package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// known looks through a text before it is decoded, for what the decoder would not
// explain to a person: fields that there are not, and values of the wrong kind.
func known(node ast.Node, t reflect.Type, path string) *Error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, fields := node.(ast.MapNode)
	list, isList := node.(*ast.SequenceNode)
	switch {
	case t == reflect.TypeFor[Span]() && !fields:
		return leaf(node, reflect.TypeFor[time.Duration](), path)
	case t.Kind() == reflect.Struct && fields:
		return knownFields(node.(ast.MapNode), t, path)
	case t.Kind() == reflect.Struct:
		return wrong(node, path, "must have fields: "+strings.Join(fieldNames(t), ", "))
	case t.Kind() == reflect.Map && fields:
		for it := node.(ast.MapNode).MapRange(); it.Next(); {
			if err := known(it.Value(), t.Elem(), join(path, it.Key().String())); err != nil {
				return err
			}
		}
		return nil
	case t.Kind() == reflect.Slice && isList:
		for i, n := range list.Values {
			if err := known(n, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	return leaf(node, t, path)
}

func knownFields(node ast.MapNode, t reflect.Type, path string) *Error {
	names := fieldNames(t)
	for it := node.MapRange(); it.Next(); {
		name := it.Key().String()
		i := slices.Index(names, name)
		if i < 0 {
			return &Error{Line: it.Key().GetToken().Position.Line, Path: join(path, name), What: "is not known; there are " + strings.Join(names, ", ")}
		}
		if err := known(it.Value(), t.Field(i).Type, join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// leaf requires a value that has the type.
func leaf(node ast.Node, t reflect.Type, path string) *Error {
	if _, empty := node.(*ast.NullNode); empty {
		return wrong(node, path, "must have a value, or be left out")
	}
	if t == reflect.TypeFor[time.Duration]() {
		if _, err := time.ParseDuration(node.GetToken().Value); err != nil {
			return wrong(node, path, "must be a duration, such as 1.5s or 20ms")
		}
		return nil
	}
	if err := yaml.NodeToValue(node, reflect.New(t).Interface(), yaml.Strict()); err != nil {
		return wrong(node, path, "must be "+kinds[t.Kind()])
	}
	return nil
}

// kinds are what values must be, for people.
var kinds = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Float64: "a number",
	reflect.String: "a text", reflect.Slice: "a list", reflect.Map: "a list of names with their values",
}

func wrong(node ast.Node, path, right string) *Error {
	return &Error{Line: node.GetToken().Position.Line, Path: path, What: fmt.Sprintf("is %q; it %s", node.GetToken().Value, right)}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fieldNames are the names of a struct's fields in a file, as far as they have one.
func fieldNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			names = append(names, name)
		}
	}
	return names
}
