//go:build unix

package servers

import "syscall"

// Pause stops the server's process until Resume: it keeps what it has, and does and says nothing.
func (s *Server) Pause() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets the server go on.
func (s *Server) Resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
