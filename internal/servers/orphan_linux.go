package servers

import "syscall"

// endWithUs ends the server also if the test is killed.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
