// Package processes_test lets real processes lead by turns, over a SQLite file, and looks at what they have written: a
// journal, in which each piece of work has a begin and an end, and a file that refuses stale tokens. Some of the processes
// end in good order, some step down, some are killed, and some are stopped for longer than their lease.
package processes_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes this test binary one of the processes.
const roleVariable = "SIMBA_TEST_PLAYER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(roleVariable); dir != "" {
		if err := play(dir, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
