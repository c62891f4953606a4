// Command simba runs commands in one place at a time, under leases of a store that
// people already run. docs/cli.md is its manual.
package main

import (
	"os"

	"github.com/simba-go/simba/cmd/simba/internal/child"
)

func main() {
	child.RunGuard()
	app := &app{args: os.Args[1:], signals: listen()}
	os.Exit(report(os.Stderr, app.root().ExecuteContext(app.signals.asked)))
}
