package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/simba-go/simba"
)

// holderJSON is a holder for programs. A vacant name has empty fields.
type holderJSON struct {
	Name        string `json:"name"`
	Held        bool   `json:"held"`
	Holder      string `json:"holder"`
	Token       uint64 `json:"token"`
	Session     string `json:"session"`
	RemainingMS int64  `json:"remaining_ms"`
}

func toJSON(h simba.Holder) holderJSON {
	return holderJSON{
		Name: h.Name, Held: h.Held, Holder: h.Label, Token: h.Token, Session: h.Session,
		RemainingMS: h.Remaining.Milliseconds(),
	}
}

// writeArray writes holders as one array, in a form that people can read too.
func writeArray(w io.Writer, holders []simba.Holder) error {
	array := make([]holderJSON, len(holders))
	for i, h := range holders {
		array[i] = toJSON(h)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(array)
}

// writeObject writes a holder in one line.
func writeObject(w io.Writer, h simba.Holder) error { return json.NewEncoder(w).Encode(toJSON(h)) }

const header = "NAME\tHOLDER\tTOKEN\tSESSION\tREMAINING"

func row(h simba.Holder) string {
	if !h.Held {
		return h.Name + "\t(vacant)\t-\t-\t-"
	}
	return fmt.Sprintf("%s\t%s\t%d\t%s\t%v", h.Name, printable(h.Label), h.Token, h.Session, h.Remaining.Round(100*time.Millisecond))
}

// writeTable writes holders for people.
func writeTable(w io.Writer, holders []simba.Holder) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, header)
	for _, h := range holders {
		fmt.Fprintln(t, row(h))
	}
	return t.Flush()
}

// printable keeps labels, which anybody can choose, from moving the cursor.
func printable(label string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, label)
}
