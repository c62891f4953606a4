package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// extension is that of the files which plant one bug each. The rest of such a file's name is the bug's.
const extension = ".mutant"

// A mutant is one planted bug.
type mutant struct {
	name     string
	bug      string // what is wrong, and why that is dangerous
	catchers []int  // the invariants that may catch it: one, unless two of them really say the same about it
	hunks    []hunk
}

// A hunk replaces some whole lines of one file of the module.
type hunk struct {
	file     string // slash-separated, relative to the module's root
	old, new string // lines, each with its end
}

// load reads the mutants of a folder, in the order of their names.
func load(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no %s files in %s", extension, dir)
	}
	var mutants []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(strings.TrimSuffix(filepath.Base(file), extension), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		mutants = append(mutants, m)
	}
	return mutants, nil
}

// choose returns the mutants of those names, or all of them for no names.
func choose(mutants []mutant, names []string) ([]mutant, error) {
	if len(names) == 0 {
		return mutants, nil
	}
	var chosen []mutant
	for _, name := range names {
		i := slices.IndexFunc(mutants, func(m mutant) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q; -list shows them", name)
		}
		chosen = append(chosen, mutants[i])
	}
	return chosen, nil
}

// parse reads a mutant: what is wrong, in a paragraph; a line that says which invariants may catch it; and then hunks like
// those of a diff, but with the name of a file instead of line numbers.
func parse(name, text string) (mutant, error) {
	head, tail, _ := strings.Cut(text, "\n@@ ")
	bug, by, found := strings.Cut(strings.TrimSpace(head), "\ncaught by: ")
	if !found {
		return mutant{}, errors.New(`the line "caught by: NUMBER" is missing above the first hunk`)
	}
	m := mutant{name: name, bug: strings.Join(strings.Fields(bug), " ")}
	if m.bug == "" {
		return mutant{}, errors.New("it does not say what is wrong")
	}
	for _, field := range strings.Split(by, " or ") {
		number, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || number < 1 {
			return mutant{}, fmt.Errorf(`"caught by: %s" must be the number of an invariant, or several with "or" between them`, by)
		}
		m.catchers = append(m.catchers, number)
	}
	if tail == "" {
		return mutant{}, errors.New(`it has no hunk, which starts with "@@ FILE"`)
	}
	for _, part := range strings.Split(tail, "\n@@ ") {
		h, err := parseHunk(part)
		if err != nil {
			return mutant{}, err
		}
		m.hunks = append(m.hunks, h)
	}
	return m, nil
}

// parseHunk reads a file's name and, below that, lines that start with '-' if they go, '+' if they come, and ' ' if they stay.
func parseHunk(text string) (hunk, error) {
	file, body, _ := strings.Cut(strings.TrimRight(text, "\n"), "\n")
	h := hunk{file: strings.TrimSpace(file)}
	if !filepath.IsLocal(h.file) {
		return hunk{}, fmt.Errorf("the file %q must be one of the module, relative to its root", h.file)
	}
	for _, line := range strings.Split(body, "\n") {
		switch {
		case line == "": // an empty line that stays, after an editor has trimmed it
			h.old, h.new = h.old+"\n", h.new+"\n"
		case line[0] == ' ':
			h.old, h.new = h.old+line[1:]+"\n", h.new+line[1:]+"\n"
		case line[0] == '-':
			h.old += line[1:] + "\n"
		case line[0] == '+':
			h.new += line[1:] + "\n"
		default:
			return hunk{}, fmt.Errorf("the line %q in a hunk of %s must start with '-', '+' or ' '", line, h.file)
		}
	}
	if strings.TrimSpace(h.old) == "" {
		return hunk{}, fmt.Errorf("a hunk of %s must say by old lines where it applies", h.file)
	}
	if h.old == h.new {
		return hunk{}, fmt.Errorf("a hunk of %s changes nothing", h.file)
	}
	return h, nil
}

// catches reports whether the mutant names the invariant.
func (m mutant) catches(invariant int) bool { return slices.Contains(m.catchers, invariant) }

// plant returns the texts of the files that the mutant changes, by their names. Each hunk must apply at exactly one place:
// one that does not apply any more has lost what it is about, and one that applies twice was never sure.
func (m mutant) plant(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, h := range m.hunks {
		text, changed := texts[h.file]
		if !changed {
			read, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(h.file)))
			if err != nil {
				return nil, fmt.Errorf("does not apply: %w", err)
			}
			text = string(read)
		}
		at := places(text, h.old)
		if len(at) != 1 {
			return nil, fmt.Errorf("does not apply: %s must have the old lines once, and has them %d times:\n%s", h.file, len(at), h.old)
		}
		texts[h.file] = text[:at[0]] + h.new + text[at[0]+len(h.old):]
	}
	return texts, nil
}

// places returns where whole lines occur in a text.
func places(text, lines string) []int {
	var at []int
	for start := 0; ; {
		i := strings.Index(text[start:], lines)
		if i < 0 {
			return at
		}
		if i += start; i == 0 || text[i-1] == '\n' {
			at = append(at, i)
		}
		start = i + 1
	}
}
