package redis

import (
	"fmt"
	"strconv"
)

// reader takes the answer of a script apart. The first thing that is not what it should be is kept as the
// error, and all that follows is empty.
type reader struct{ err error }

func (r *reader) list(v any) []any {
	list, ok := v.([]any)
	if !ok {
		r.unexpected(v, "a list")
	}
	return list
}

func (r *reader) text(v any) string {
	text, ok := v.(string)
	if !ok {
		r.unexpected(v, "a text")
	}
	return text
}

// number reads what is above or below zero, also as a text.
func (r *reader) number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
	}
	r.unexpected(v, "a number")
	return 0
}

// fields reads a list of at least n elements, and returns nil if it is none.
func (r *reader) fields(v any, n int) []any {
	list := r.list(v)
	if r.err == nil && len(list) < n {
		r.unexpected(v, fmt.Sprintf("a list of %d", n))
	}
	if r.err != nil {
		return nil
	}
	return list
}

func (r *reader) unexpected(v any, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("the server answers with a %T in place of %s", v, want)
	}
}
