package sqlite

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// network says that a folder is on a network drive or under a network path.
func network(folder string) (kind string, err error) {
	volume := filepath.VolumeName(folder)
	if strings.HasPrefix(volume, `\\`) {
		return "a network path", nil
	}
	root, err := windows.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return "", err
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "a network drive", nil
	}
	return "", nil
}

// mountedAlone is false: only folders can be mounted.
func mountedAlone(string) (bool, error) { return false, nil }
