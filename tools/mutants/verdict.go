package main

import (
	"regexp"
	"strconv"
)

// A violation is what a test binary says about the invariant that does not hold.
type violation struct {
	Invariant int    `json:"invariant"`
	Name      string `json:"name,omitempty"` // of the invariant
	Message   string `json:"message,omitempty"`
	Seeds     int    `json:"seeds,omitempty"`     // that it took to find it
	Decisions int    `json:"decisions,omitempty"` // other than the calm one, in the world that shows it
}

// What a test binary prints. TestSafety takes the seeds from 0 on and stops at the first violation. TestWorld reports one
// violation after the other while rapid shrinks it.
var (
	swept  = regexp.MustCompile(`violation: seed (\d+) invariant (\d+) ("(?:[^"\\]|\\.)*"): (.*)`)
	shrunk = regexp.MustCompile(`invariant (\d+)\b.*?\b(\d+) decisions?\b`)
)

// sweepVerdict returns the violation that TestSafety has found, or nil.
func sweepVerdict(output string) *violation {
	m := swept.FindStringSubmatch(output)
	if m == nil {
		return nil
	}
	name, err := strconv.Unquote(m[3])
	if err != nil {
		name = m[3]
	}
	return &violation{Seeds: number(m[1]) + 1, Invariant: number(m[2]), Name: name, Message: m[4]}
}

// shrinkVerdict returns the last violation that TestWorld has found, which is the smallest, or nil.
func shrinkVerdict(output string) *violation {
	all := shrunk.FindAllStringSubmatch(output, -1)
	if all == nil {
		return nil
	}
	m := all[len(all)-1]
	return &violation{Invariant: number(m[1]), Decisions: number(m[2])}
}

// number reads digits; of more than an int has room for, it returns the largest one.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
