// Package report draws the timeline of a simulated world as one HTML file. The file needs nothing but a browser: it holds
// its own style, script and data, and asks no server for anything.
package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/simba-go/simba/sim"
)

// Story is a world that has been run: what happened in it, and what a reader needs to run it again.
type Story struct {
	Title     string         // such as the scenario's name
	Command   string         // that replays the world
	Params    []Param        // in the order in which the page shows them
	Length    time.Duration  // of the world, in true time
	Entries   []sim.Entry    // in any order
	Violation *sim.Violation // that ended the world, nil if none did
}

// Param is a setting of the world, such as its seed, the lease or the drift, as a person would write it.
type Param struct {
	Name  string // such as "lease"
	Value string // such as "10s"
}

//go:embed page
var files embed.FS

var page = template.Must(template.ParseFS(files, "page/page.html"))

// scripts are the parts of the page's one script, in their order.
var scripts = []string{"page/words.js", "page/looks.js", "page/timeline.js", "page/list.js", "page/input.js"}

// Write writes the page of a story. The same story always gives the same bytes.
func Write(w io.Writer, s Story) error {
	css, js := mustRead("page/page.css"), script()
	return page.Execute(w, map[string]any{
		"Story":  s,
		"Data":   layOut(s),
		"Style":  template.CSS(css),
		"Script": template.JS(js),
		// With its policy the page itself forbids the browser to load anything, and to run any script but ours.
		"Policy": "default-src 'none'; img-src data:; style-src '" + hash(css) + "'; script-src '" + hash(js) + "'",
	})
}

func script() string {
	var all strings.Builder
	for _, name := range scripts {
		all.WriteString(mustRead(name))
	}
	return "'use strict';\n(() => {\n" + all.String() + "})();\n"
}

func mustRead(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// hash names a style or a script in a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
