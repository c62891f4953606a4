//go:build unix

package fencefile

import (
	"errors"
	"os"
)

// syncFolder makes a rename last.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
