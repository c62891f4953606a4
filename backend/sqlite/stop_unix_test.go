//go:build unix

package sqlite

import "syscall"

// pause stops a process, as a debugger or an overloaded machine does.
func pause(p *process) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		p.tb.Fatal(err)
	}
}
