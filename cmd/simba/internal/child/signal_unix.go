//go:build linux || darwin

package child

import "syscall"

// Signal sends a signal to the command's group, with no further consequence. Once the group is gone, it does nothing.
func (p *Process) Signal(sig syscall.Signal) {
	p.signals.Lock()
	defer p.signals.Unlock()
	if !p.over {
		p.group.signal(sig)
	}
}
