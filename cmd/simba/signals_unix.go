//go:build unix

package main

import (
	"os"
	"syscall"

	"github.com/simba-go/simba/cmd/simba/internal/child"
)

// passedOn are the signals that mean something to CMD only.
var passedOn = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2}

func pass(s os.Signal, p *child.Process) { p.Signal(s.(syscall.Signal)) }
