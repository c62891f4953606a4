//go:build !unix

package main

import "errors"

var errSystem = errors.New("this example needs a system that can stop a process: Linux, macOS or another Unix")

func (p *process) stop() error   { return errSystem }
func (p *process) resume() error { return errSystem }
