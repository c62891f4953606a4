//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if label := os.Getenv(roleVariable); label != "" {
		exit(write(label, os.Args[1]))
	}
	goleak.VerifyTestMain(m)
}

// The story is told with real processes, and the fenced row is right at the end.
func TestStory(t *testing.T) {
	var out bytes.Buffer
	err := show(&out, t.TempDir())
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"first process", "owns the lease", "about to write", "SIGSTOP", "second process", "owns the lease", "has written both rows",
		"SIGCONT", "first process", "is refused: fence: \"fenced 1\" refuses the stale token", "valid no more (false)",
		"without a guard is by the first process", "fenced row is by the second process",
	} {
		next := strings.Index(out.String()[at:], want)
		if next < 0 {
			t.Fatalf("there is no %q after what came before it", want)
		}
		at += next + len(want)
	}
}
