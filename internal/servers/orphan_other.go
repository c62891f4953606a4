//go:build unix && !linux

package servers

import "syscall"

// endWithUs needs Linux: elsewhere a server outlives a test that is killed.
func endWithUs(*syscall.SysProcAttr) {}
