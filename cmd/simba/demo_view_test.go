package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestViewOfAFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := newView(f)
	v.title("three of %d", 3)
	v.draw([]string{"a board"})
	v.event("it happens")
	v.verdict("it is so")
	v.done()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	if strings.Contains(got, "\x1b") || strings.Contains(got, "a board") {
		t.Errorf("a file gets what only a terminal can show: %q", got)
	}
	for _, want := range []string{"three of 3\n", "s  it happens\n", "✓  it is so\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

// On a terminal, lines go above the board, which is replaced as a whole.
func TestViewOfATerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := newView(f)
	v.live = true
	v.draw([]string{"one", "two"})
	v.lines("above")
	v.draw([]string{"three"})
	v.done()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	const want = "one\ntwo\n" + "\x1b[2A\x1b[J" + "above\none\ntwo\n" + "\x1b[2A\x1b[J" + "three\n" + "\x1b[1A\x1b[J"
	if string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"abc", 0, "abc"},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"██░░", 3, "██░"},
		{"\x1b[31mred\x1b[0m and more", 5, "\x1b[31mred\x1b[0m a"},
		{"\x1b[31mred and\x1b[0m more", 3, "\x1b[31mred\x1b[0m"},
	} {
		if got := cut(c.line, c.width); got != c.want {
			t.Errorf("%q at %d: got %q, want %q", c.line, c.width, got, c.want)
		}
	}
}
