//go:build unix

package servers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// substitute is who runs a server that refuses root, if this process is root's.
const substitute = "nobody"

// confine makes the command run as a user that is not root, if it has to.
func confine(cmd *exec.Cmd, unprivileged bool) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	endWithUs(cmd.SysProcAttr)
	if !unprivileged || os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := ids()
	if err != nil {
		return err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// give makes the folder belong to the user of confine.
func give(dir string, unprivileged bool) error {
	if !unprivileged || os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := ids()
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

func ids() (uid, gid int, err error) {
	u, err := user.Lookup(substitute)
	if err != nil {
		return 0, 0, fmt.Errorf("it refuses to run as root, and there is nobody else: %w", err)
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}
