package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, story Story) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, story); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// between is the text after one mark and before the next other one.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, text, found := strings.Cut(text, from)
	text, _, ended := strings.Cut(text, to)
	if !found || !ended {
		t.Fatalf("nothing between %q and %q", from, to)
	}
	return text
}

// data is what the page's script will read.
func data(t *testing.T, page string) (d struct {
	Length  time.Duration
	Lanes   []struct{ Node string }
	Entries []struct{ Text, Name, Token string }
}) {
	t.Helper()
	text := between(t, page, `<script type="application/json" id="data">`, "</script>")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPageTellsTheStory(t *testing.T) {
	story := violated()
	page := write(t, story)
	for _, want := range []string{
		"<title>" + story.Title + "</title>", "<h1>" + story.Title + "</h1>", `<code id="command">` + story.Command + "</code>",
		"<dt>lease</dt><dd>10s</dd>", "Invariant 1 is broken: one valid term", story.Violation.Says, story.Violation.What,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	d := data(t, page)
	if d.Length != story.Length || len(d.Entries) != len(story.Entries) {
		t.Fatalf("%d entries in %v, want %d in %v", len(d.Entries), d.Length, len(story.Entries), story.Length)
	}
	texts := map[string]int{}
	for i, e := range story.Entries {
		texts[e.Text]++
		texts[d.Entries[i].Text]--
	}
	for text, n := range texts {
		if n != 0 {
			t.Errorf("%q: %d in the story that the page lacks", text, n)
		}
	}
}

func TestPageWithoutViolation(t *testing.T) {
	page := write(t, Story{Title: "Nothing happened"})
	for _, unwanted := range []string{"is broken", `id="look"`, "Replay it", "<dl"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page of a world in which nothing happened has %q", unwanted)
		}
	}
	if d := data(t, page); d.Entries == nil || d.Lanes == nil {
		t.Errorf("entries %v and lanes %v, want empty lists, which the script can walk", d.Entries, d.Lanes)
	}
}

func TestPageEscapes(t *testing.T) {
	story := hostile()
	page := write(t, story)
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts begin, want 2: the data and ours", n)
	}
	if n := strings.Count(page, "</script"); n != 2 {
		t.Errorf("%d scripts end, want 2: the data and ours", n)
	}
	for _, unwanted := range []string{"<img", "<!--"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("%q has got into the page", unwanted)
		}
	}
	for _, e := range regexp.MustCompile(`<[^>]*\son\w+=[^>]*>`).FindAllString(page, -1) {
		t.Errorf("%s has a handler", e)
	}
	want := strings.ToValidUTF8(story.Title, "\ufffd")
	d := data(t, page)
	if got := d.Entries[0]; got.Text != want || got.Name != want {
		t.Errorf("the page's script reads %q of %q, want %q", got.Text, got.Name, want)
	}
	shown := html.UnescapeString(between(t, page, "<h1>", "</h1>"))
	if shown = strings.ToValidUTF8(shown, "\ufffd"); strings.ReplaceAll(shown, "\ufffd", "") != strings.NewReplacer("\ufffd", "", "\x00", "").Replace(want) {
		t.Errorf("the page's title reads %q, want %q", shown, want)
	}
}

// TestPageIsSelfContained looks for all ways in which a page can load something.
func TestPageIsSelfContained(t *testing.T) {
	page := write(t, longPause())
	loads := regexp.MustCompile(`(?i)https?:|["'(]//|\ssrc\s*=|\ssrcset|\saction\s*=|@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|\bimport\b|Worker\(|new Image|<iframe|<object|<embed|<base`)
	for _, found := range loads.FindAllString(page, -1) {
		t.Errorf("%q may load something", found)
	}
	links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, link := range links {
		if link[1] != "data:," {
			t.Errorf("a link to %q", link[1])
		}
	}
	if len(links) != 1 {
		t.Errorf("%d links, want the empty icon, without which a browser asks a server for one", len(links))
	}
}

// TestPolicy checks that the page's policy lets the browser run our script and use our style as they stand in the page.
func TestPolicy(t *testing.T) {
	page := write(t, hostile())
	policy := html.UnescapeString(between(t, page, `<meta http-equiv="Content-Security-Policy" content="`, `">`))
	want := fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'",
		hash(between(t, page, "<style>", "</style>")), hash(between(t, page, "<script>", "</script>")))
	if policy != want {
		t.Errorf("policy %s\nwant   %s", policy, want)
	}
}

func TestSameStorySamePage(t *testing.T) {
	first, second := write(t, crowded(2000)), write(t, crowded(2000))
	if first != second {
		t.Error("two pages of one story differ")
	}
}

// TestScriptIsWhole checks that no part of the script is left out, and that what the script looks up by id is there.
func TestScriptIsWhole(t *testing.T) {
	inFolder, err := files.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	if want := len(inFolder) - 2; len(scripts) != want {
		t.Errorf("the page uses %d scripts, and the folder has %d", len(scripts), want)
	}
	page := write(t, violated())
	for _, id := range regexp.MustCompile(`\$\('([a-z]+)'\)`).FindAllStringSubmatch(script(), -1) {
		if !strings.Contains(page, ` id="`+id[1]+`"`) {
			t.Errorf("the script looks for %q, which the page lacks", id[1])
		}
	}
}

// TestEveryKindHasALook checks that the script knows the states that entries say.
func TestEveryKindHasALook(t *testing.T) {
	looks := mustRead("page/looks.js")
	for _, state := range []string{"opening", "live", "suspended", "closed", "candidate", "leader", "stepping down", "stopped",
		"waiting", "held", "releasing", "over", "running", "cancelled", "paused", "crashed", "cut", "outage"} {
		if !regexp.MustCompile(`\t'?` + state + `'?: \{`).MatchString(looks) {
			t.Errorf("no look for %q", state)
		}
	}
	for _, fault := range ended {
		if !strings.Contains(between(t, looks, "const faults = {", "};"), "\t"+fault+": {") {
			t.Errorf("no look for the fault %q", fault)
		}
	}
}

type failing struct{}

var errFull = errors.New("the disk is full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWriteFails(t *testing.T) {
	if err := Write(failing{}, longPause()); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}

func BenchmarkWrite(b *testing.B) {
	story := crowded(20000)
	for b.Loop() {
		if err := Write(io.Discard, story); err != nil {
			b.Fatal(err)
		}
	}
}
