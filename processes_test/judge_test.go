package processes_test

import (
	"fmt"
	"strings"
	"testing"
)

// verdict is what a journal tells.
type verdict struct {
	begins, inTime int
	late           int // ends that came when the term was over, or not at all
	overlaps       int // begins with a higher token before an end, late or not
}

// judge reads a journal, and returns an error for what must not be: a token that comes twice, and a begin with a higher
// token before the end of a piece of work that ended in time.
func judge(text string) (v verdict, err error) {
	type work struct {
		begin, end int    // lines
		overlap    uint64 // the token of who began between them
	}
	works := make(map[uint64]*work)
	var begun []uint64
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var what string
		var token uint64
		if _, err := fmt.Sscanf(line, "%s %d", &what, &token); err != nil {
			return v, fmt.Errorf("line %d is %q: %w", n+1, line, err)
		}
		w := works[token]
		switch {
		case what == "begin" && w != nil:
			return v, fmt.Errorf("line %d: the token %d begins twice", n+1, token)
		case what == "begin":
			v.begins++
			works[token], begun = &work{begin: n}, append(begun, token)
		case w == nil:
			return v, fmt.Errorf("line %d: the token %d has not begun", n+1, token)
		case what == "end":
			w.end = n
			for _, other := range begun {
				if other > token {
					v.overlaps++
					w.overlap = other
				}
			}
		case what == "intime" && w.overlap > 0:
			return v, fmt.Errorf("line %d: the token %d begins before the end of %d, in line %d", works[w.overlap].begin+1, w.overlap, token, w.end+1)
		case what == "intime":
			v.inTime++
		}
	}
	v.late = v.begins - v.inTime
	return v, nil
}

// judgeFenced reads the file that refuses stale tokens, and returns an error if one is there out of order.
func judgeFenced(text string) (lines int, last uint64, err error) {
	for line := range strings.Lines(text) {
		lines++
		var token uint64
		if _, err := fmt.Sscan(line, &token); err != nil {
			return lines, last, fmt.Errorf("line %d is %q: %w", lines, line, err)
		}
		if token < last {
			return lines, last, fmt.Errorf("line %d: the token %d comes after %d", lines, token, last)
		}
		last = token
	}
	return lines, last, nil
}

func TestJudge(t *testing.T) {
	for text, wrong := range map[string]string{
		"begin 1\nend 1\nintime 1\nbegin 2\nend 2\nintime 2\n": "",
		"begin 1\nend 1\nbegin 2\nintime 1\n":                  "", // it has not looked at once
		"begin 1\nbegin 2\nend 2\nintime 2\nend 1\n":           "", // stopped or killed
		"begin 2\nbegin 1\nend 2\nintime 2\n":                  "", // stopped before it had written anything
		"begin 1\nbegin 2\nend 1\nintime 1\n":                  "line 2: the token 2 begins before the end of 1, in line 3",
		"begin 1\nbegin 1\n":                                   "line 2: the token 1 begins twice",
		"end 1\n":                                              "line 1: the token 1 has not begun",
		"begin\n":                                              `line 1 is "begin": EOF`,
	} {
		_, err := judge(text)
		if got := fmt.Sprint(err); err != nil && got != wrong || err == nil && wrong != "" {
			t.Errorf("%q: %v, want %q", text, err, wrong)
		}
	}
	if v, err := judge("begin 1\nend 1\nintime 1\nbegin 2\nend 2\nbegin 3\n"); err != nil || v != (verdict{3, 1, 2, 0}) {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := judge("begin 1\nbegin 2\nend 2\nintime 2\nend 1\n"); err != nil || v != (verdict{2, 1, 1, 1}) {
		t.Errorf("%+v, %v", v, err)
	}
	if n, last, err := judgeFenced("1 5\n1 5\n3 6\n3 6\n"); err != nil || n != 4 || last != 3 {
		t.Errorf("%d, %d, %v", n, last, err)
	}
	if _, _, err := judgeFenced("1 5\n3 6\n1 5\n"); err == nil || err.Error() != "line 3: the token 1 comes after 3" {
		t.Error(err)
	}
}
