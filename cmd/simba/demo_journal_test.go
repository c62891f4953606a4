package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replay is what the journal makes of some lines. A line "asked 1" is what simba
// demo says before it asks the leader with that token to end.
func replay(t *testing.T, lines string) (*journal, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.close)
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		switch line {
		case "":
			continue
		case "asked 1":
			j.asked(1)
			continue
		}
		// In two pieces, as a reader may see them.
		for _, piece := range []string{line[:4], line[4:] + "\n"} {
			if _, err := w.WriteString(piece); err != nil {
				t.Fatal(err)
			}
			if err := j.read(); err != nil {
				return j, err
			}
		}
	}
	return j, nil
}

func TestJournal(t *testing.T) {
	j, err := replay(t, `
		begin 1 a 100
		work 1 a 110
		work 1 a 120
		begin 2 b 300
		work 2 b 310
		end 2 b 320
		begin 5 a 400
		work 5 a 410`)
	if err != nil {
		t.Fatal(err)
	}
	now := j.current()
	if now.label != "a" || now.token != 5 || now.works != 1 || now.began.UnixNano() != 400 || !now.ended.IsZero() {
		t.Errorf("got %+v", now)
	}
	if j.records != 8 || j.find(2).ended.UnixNano() != 320 || j.tokens() != "1 < 2 < 5" {
		t.Errorf("got %+v", j)
	}
}

// What must never be is found, and what is wrong with it is said.
func TestJournalFinds(t *testing.T) {
	for _, c := range []struct{ lines, finds string }{
		{"begin 1 a 1\nasked 1\nbegin 2 b 2", "b began with token 2 before a had ended its work under token 1, as it was asked to"},
		{"begin 1 a 1\nbegin 2 b 2\nwork 1 a 3", "two leaders at once: a wrote under token 1 after b had begun with token 2"},
		{"begin 1 a 1\nend 1 a 2\nbegin 2 b 2\nend 1 a 3", "two leaders at once: a wrote under token 1"},
		{"begin 1 a 1\nend 1 a 2\nwork 1 a 3", "a wrote under token 1 after it had ended its work"},
		{"begin 2 a 1\nend 2 a 2\nbegin 2 b 3", "b leads with token 2 after a had led with token 2: tokens must grow"},
		{"begin 2 a 1\nend 2 a 2\nbegin 1 b 3", "b leads with token 1 after a had led with token 2: tokens must grow"},
		{"begin 0 a 1", "tokens must grow"},
		{"work 1 a 1", "two leaders at once: a wrote under token 1"},
		{"begin one a 1", `the journal has the line "begin one a 1\n"`},
	} {
		_, err := replay(t, c.lines)
		if err == nil || !strings.Contains(err.Error(), c.finds) {
			t.Errorf("%q: got %v, want %s", c.lines, err, c.finds)
		}
	}
}
