//go:build unix

package main

import "syscall"

func askToEnd(n *node) error { return n.cmd.Process.Signal(syscall.SIGTERM) }
