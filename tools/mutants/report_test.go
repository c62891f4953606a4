package main

import (
	"strings"
	"testing"
)

func TestHowManyMustShrink(t *testing.T) {
	small := result{Catchers: []int{1, 2}, Shrunk: &violation{Invariant: 2, Decisions: few}}
	large := result{Catchers: []int{1, 2}, Shrunk: &violation{Invariant: 2, Decisions: few + 1}}
	other := result{Catchers: []int{1, 2}, Shrunk: &violation{Invariant: 3, Decisions: 1}}
	never := result{Catchers: []int{1, 2}}
	for name, test := range map[string]struct {
		results []result
		part    bool // of all mutants
		ok      bool
	}{
		"three in four":         {[]result{small, small, large, small}, false, true},
		"two in three":          {[]result{small, small, large}, false, false},
		"to another invariant":  {[]result{small, small, other, other}, false, false},
		"not found by rapid":    {[]result{small, small, never}, false, false},
		"all":                   {[]result{small}, false, true},
		"none of a part of all": {[]result{large}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := summary{results: test.results, whole: !test.part}
			if s.ok() != test.ok || strings.Contains(s.line(), "must be") == test.ok {
				t.Errorf("ok %v, want %v: %s", s.ok(), test.ok, s.line())
			}
		})
	}
}

func TestOneProblemIsEnough(t *testing.T) {
	small := result{Catchers: []int{1}, Shrunk: &violation{Invariant: 1}}
	bad := result{Name: "m", Catchers: []int{1}, Problem: "survives 7 seeds"}
	s := summary{results: []result{small, small, small, bad}, whole: true}
	var out strings.Builder
	if err := s.write(&out, false); err != nil || s.ok() || !strings.Contains(out.String(), "\nm survives 7 seeds\n3 of 4 bugs ") {
		t.Errorf("ok %v, %v:\n%s", s.ok(), err, out.String())
	}
}
