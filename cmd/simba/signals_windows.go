package main

import (
	"os"

	"github.com/simba-go/simba/cmd/simba/internal/child"
)

// passedOn are the signals that mean something to CMD only. Windows has none.
var passedOn []os.Signal

func pass(os.Signal, *child.Process) {}
