package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The kinds of records.
const (
	recordBegin = "begin"
	recordWork  = "work"
	recordEnd   = "end"
)

// record is what a leader writes into the journal. All write to the end of one
// file, so the order of records needs no clock.
type record struct {
	kind  string
	token uint64
	label string
	at    int64 // by the wall clock, in nanoseconds, to measure with and not to judge by
}

const recordFormat = "%s %d %s %d\n"

func (r record) String() string { return fmt.Sprintf(recordFormat, r.kind, r.token, r.label, r.at) }

func parseRecord(line string) (r record, err error) {
	_, err = fmt.Sscanf(line, recordFormat, &r.kind, &r.token, &r.label, &r.at)
	if err != nil {
		return r, fmt.Errorf("the journal has the line %q: %w", line, err)
	}
	return r, nil
}

// reign is what the journal knows of one term.
type reign struct {
	label string
	token uint64
	began time.Time
	ended time.Time // zero until it has ended in good order
	asked bool      // it must end in good order
	works int
}

// journal reads what leaders write, and finds whether two were leaders at once.
type journal struct {
	file    *os.File
	rest    []byte // of a line that is not complete
	reigns  []reign
	records int
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: f}, nil
}

func (j *journal) close() { j.file.Close() }

// read takes what is new, and returns an error for what must not be.
func (j *journal) read() error {
	more, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(append(j.rest, more...), []byte("\n"))
	j.rest = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		r, err := parseRecord(string(line))
		if err != nil {
			return err
		}
		if err := j.add(r); err != nil {
			return err
		}
	}
	return nil
}

// add checks a record against those before it.
func (j *journal) add(r record) error {
	j.records++
	if r.kind == recordBegin {
		return j.begin(r)
	}
	last := j.last()
	switch {
	case r.token != last.token:
		return fmt.Errorf("two leaders at once: %s wrote under token %d after %s had begun with token %d",
			r.label, r.token, last.label, last.token)
	case !last.ended.IsZero():
		return fmt.Errorf("%s wrote under token %d after it had ended its work", r.label, r.token)
	case r.kind == recordEnd:
		last.ended = time.Unix(0, r.at)
	default:
		last.works++
	}
	return nil
}

func (j *journal) begin(r record) error {
	last := j.last()
	switch {
	case r.token <= last.token:
		return fmt.Errorf("%s leads with token %d after %s had led with token %d: tokens must grow",
			r.label, r.token, last.label, last.token)
	case last.asked && last.ended.IsZero():
		return fmt.Errorf("%s began with token %d before %s had ended its work under token %d, as it was asked to",
			r.label, r.token, last.label, last.token)
	}
	j.reigns = append(j.reigns, reign{label: r.label, token: r.token, began: time.Unix(0, r.at)})
	return nil
}

// last is the newest reign, an empty one before the first.
func (j *journal) last() *reign {
	if len(j.reigns) == 0 {
		return &reign{}
	}
	return &j.reigns[len(j.reigns)-1]
}

// current is the newest reign.
func (j *journal) current() reign { return *j.last() }

// find returns the reign under a token, an empty one if there is none.
func (j *journal) find(token uint64) *reign {
	for i := range j.reigns {
		if j.reigns[i].token == token {
			return &j.reigns[i]
		}
	}
	return &reign{}
}

// asked notes that a leader was asked to end: nobody may begin before it has. One
// that is killed, or whose lease runs out, ends without a word.
func (j *journal) asked(token uint64) { j.find(token).asked = true }

func (j *journal) tokens() string {
	tokens := make([]string, len(j.reigns))
	for i, r := range j.reigns {
		tokens[i] = fmt.Sprint(r.token)
	}
	return strings.Join(tokens, " < ")
}
