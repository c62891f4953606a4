package main

import (
	"reflect"
	"testing"
)

func TestSweepVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   *violation
	}{
		"a violation": {
			"=== RUN TestSafety\n    props_test.go:12: violation: seed 41 invariant 7 \"end before release\": the term of \"a\" with token 3\n--- FAIL: TestSafety (0.31s)\nFAIL\n",
			&violation{Invariant: 7, Name: "end before release", Message: `the term of "a" with token 3`, Seeds: 42},
		},
		"the first seed": {`violation: seed 0 invariant 22 "x": y`, &violation{Invariant: 22, Name: "x", Message: "y", Seeds: 1}},
		"a quoted quote": {`violation: seed 1 invariant 2 "the \"one\"": y`, &violation{Invariant: 2, Name: `the "one"`, Message: "y", Seeds: 2}},
		"the first of two": {
			"violation: seed 1 invariant 2 \"a\": b\nviolation: seed 3 invariant 4 \"c\": d\n",
			&violation{Invariant: 2, Name: "a", Message: "b", Seeds: 2},
		},
		"none":              {"ok\nPASS\n", nil},
		"another failure":   {"panic: test timed out after 5m0s\n", nil},
		"without a seed":    {`violation: invariant 2 "a": b`, nil},
		"split by a line":   {"violation: seed 1\ninvariant 2 \"a\": b", nil},
		"without its name":  {"violation: seed 1 invariant 2: b", nil},
		"a word in its way": {`violation: seed one invariant 2 "a": b`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sweepVerdict(test.output); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestShrinkVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   *violation
	}{
		"the last counts": {
			"    world_test.go:9: invariant 7 does not hold, after 120 decisions: x\n    world_test.go:9: invariant 3 does not hold, after 4 decisions: y\n--- FAIL",
			&violation{Invariant: 3, Decisions: 4},
		},
		"one decision":      {"invariant 1 \"one valid term\", 1 decision: x", &violation{Invariant: 1, Decisions: 1}},
		"no decision":       {"invariant 1: 0 decisions", &violation{Invariant: 1}},
		"one line each":     {"invariant 1\n7 decisions", nil},
		"the other way":     {"7 decisions, invariant 1", nil},
		"none":              {"[rapid] OK, passed 5000 tests (12s)\nPASS\n", nil},
		"a part of a word":  {"invariant 12: 120 decisionsmaking", nil},
		"digits in between": {"invariant 14 says that 2 tasks overlap; shrunk to 6 decisions", &violation{Invariant: 14, Decisions: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shrinkVerdict(test.output); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
