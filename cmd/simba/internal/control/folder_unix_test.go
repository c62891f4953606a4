//go:build unix

package control

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// stranger is a folder of somebody else.
type stranger struct{ fs.FileInfo }

func (s stranger) Sys() any {
	st := *s.FileInfo.Sys().(*syscall.Stat_t)
	st.Uid++
	return &st
}

// A folder in which others could put sockets, or listen to ours, is not used, neither to listen nor to ask.
func TestUnsafeFolder(t *testing.T) {
	for says, spoil := range map[string]func(dir string) error{
		"others may enter": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o750))
		},
		"is not a folder; remove it": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"is not a folder":            func(dir string) error { return os.Symlink(os.TempDir(), dir) },
	} {
		dir := folder(t)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		_, listening := Listen(dir, "x", &fake{})
		_, asking := StepDown(t.Context(), dir, "x", "A", 0)
		for _, err := range []error{listening, asking} {
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), FolderVar) {
				t.Errorf("got %v, want %q", err, says)
			}
		}
	}
	dir := folder(t)
	if err := prepare(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", info, err)
	}
	if err := private(dir, stranger{info}); err == nil || !strings.Contains(err.Error(), "belongs to the user") {
		t.Errorf("got %v", err)
	}
}
