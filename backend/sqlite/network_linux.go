package sqlite

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// network names the kind of the file system that a folder is on, if that is one
// which several kernels may share, or where one cannot tell: their clocks differ,
// and their locks may not know of each other. FUSE is among them because it hides
// whether there is a disk or sshfs behind it; so does what a virtual machine sees
// of its host's folders.
func network(folder string) (kind string, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return "", err
	}
	return networkKinds[uint32(s.Type)], nil
}

// The numbers are those of statfs(2), and where that has none, of the file system.
var networkKinds = map[uint32]string{
	unix.AFS_FS_MAGIC:       "AFS",
	unix.AFS_SUPER_MAGIC:    "AFS",
	unix.CEPH_SUPER_MAGIC:   "Ceph",
	unix.CIFS_SUPER_MAGIC:   "SMB",
	unix.CODA_SUPER_MAGIC:   "Coda",
	unix.FUSE_SUPER_MAGIC:   "FUSE",
	unix.HOSTFS_SUPER_MAGIC: "hostfs",
	unix.NCP_SUPER_MAGIC:    "NCP",
	unix.NFS_SUPER_MAGIC:    "NFS",
	unix.OCFS2_SUPER_MAGIC:  "OCFS2",
	unix.SMB2_SUPER_MAGIC:   "SMB",
	unix.SMB_SUPER_MAGIC:    "SMB",
	unix.V9FS_MAGIC:         "9P",
	0x01161970:              "GFS2",
	0x013111a8:              "IBRIX",
	0x0bd00bd0:              "Lustre",
	0x19830326:              "BeeGFS",
	0x20030528:              "OrangeFS",
	0x47504653:              "GPFS",
	0x61636673:              "ACFS",
	0x786f4256:              "VirtualBox's shared folders",
	0x7c7c6673:              "Parallels' shared folders",
	0xa501fcf5:              "VxFS",
	0xaad7aaea:              "PanFS",
	0xbacbacbc:              "VMware's shared folders",
	0xbeefdead:              "StorNext",
}

// mountedAlone reports whether a file is the root of a mount.
func mountedAlone(path string) (bool, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && unescape(f[4]) == path {
			return true, nil
		}
	}
	return false, nil
}

// unescape undoes what the kernel does to blanks and backslashes in mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
