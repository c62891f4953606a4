package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// try opens a store that should not open.
func try(tb testing.TB, path string, env environment) error {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	s, err := open(ctx, path, env)
	if err == nil {
		tb.Errorf("%q was opened", path)
		s.Close()
		return nil
	}
	if !strings.HasPrefix(err.Error(), "simba: sqlite: ") {
		tb.Errorf("the error does not say whose it is: %v", err)
	}
	return err
}

// What cannot be a store is refused, with a reason, and left as it is.
func TestRefusedPaths(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	link := func(make func(old, new string) error, old, new string) string {
		if err := make(old, at(new)); err != nil {
			t.Fatal(err)
		}
		return at(new)
	}
	database := func(name string, statements ...string) string {
		c := dialled(t, at(name))
		c.do(t, statements...)
		return at(name)
	}
	ours := fmt.Sprintf("PRAGMA application_id = %d", applicationID)
	long := at(strings.Repeat(strings.Repeat("x", 200)+"/", 3))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	long += "/leases.db"
	ok := fresh(t, system())
	for _, c := range []struct {
		name, path string
		want       error
		text       string
	}{
		{"nothing", "", nil, "the path is empty"},
		{"a NUL", "a\x00b", nil, "NUL"},
		{"a folder", dir, nil, "it is a folder"},
		{"no folder", at("missing/leases.db"), os.ErrNotExist, "the folder does not exist; create it"},
		{"a file for a folder", write("text", "Dear diary") + "/leases.db", nil, "not a directory"},
		{"a long path", long, nil, "SQLite allows"},
		{"a long name", at(strings.Repeat("x", 500)), nil, "file name too long"},
		{"a dangling link", link(os.Symlink, "nowhere", "dangling"), nil, "symbolic link to nothing"},
		{"a second name", link(os.Link, ok.path, "hard"), nil, "several names"},
		{"a device", os.DevNull, nil, "special file"},
		{"a short text", at("text"), ErrNotDatabase, "move it away"},
		{"a long text", write("long", strings.Repeat("Dear diary. ", 10_000)), ErrNotDatabase, ""},
		{"another application's tables", database("foreign", "CREATE TABLE t (x)"), ErrForeign, "choose another path"},
		{"another application's mark", database("marked", "PRAGMA application_id = 7", "CREATE TABLE t (x)"), ErrForeign, ""},
		{"another application's version", database("version", "PRAGMA user_version = 1"), ErrForeign, ""},
		{"a later version", database("later", ours, "PRAGMA user_version = 3"), ErrVersion, "format 3, and this version reads 2"},
		{"an earlier version", database("earlier", ours, "PRAGMA user_version = 0", "CREATE TABLE t (x)"), ErrVersion, "format 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := os.ReadFile(c.path)
			err := try(t, c.path, system())
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("got %v", err)
			}
			if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			for _, ending := range []string{"-queue", "-next"} {
				if _, err := os.Stat(c.path + ending); err == nil {
					t.Errorf("there is a new file %s", c.path+ending)
				}
			}
		})
	}
}

// A file of format 1, which has no notes, gets them, and keeps what it has. Processes
// that have it open with the earlier version go on.
func TestUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	old := formatOne(t, path)
	s := opened(t, path, system())
	other := opened(t, path, system())
	id := s.session(time.Minute)
	outcomes, err := s.Acquire(s.ctx, id, []string{"a"}, false)
	if err != nil || !outcomes[0].Won || outcomes[0].Token != 1900000000000001 {
		t.Fatalf("got %+v, %v", outcomes, err)
	}
	lease := backend.Lease{Name: "a", Token: outcomes[0].Token}
	note := backend.Note{Version: 1, Text: "new"}
	for _, c := range []struct {
		*store
		asks backend.Note
	}{{s, note}, {other, backend.Note{}}} {
		if kept, held, err := c.KeepNote(s.ctx, id, lease, c.asks); kept != note || !held || err != nil {
			t.Fatalf("kept is %+v, held %t, %v", kept, held, err)
		}
	}
	old.do(t, "UPDATE sessions SET revision = revision + 1")
	if _, err := s.Renew(s.ctx, id, 0, true); err != nil {
		t.Error(err)
	}
	if missing, err := old.state(); len(missing) > 0 || err != nil {
		t.Errorf("%d statements are missing, %v", len(missing), err)
	}
}

// formatOne makes a file as an earlier version did, with a name whose token is ahead of
// today's.
func formatOne(t *testing.T, path string) *conn {
	t.Helper()
	c := dialled(t, path)
	for _, statement := range schema {
		if statement != createNotes && statement != markVersion {
			c.do(t, statement)
		}
	}
	c.do(t, "PRAGMA user_version = 1", "PRAGMA journal_mode = WAL",
		"INSERT INTO leases (name, session, token) VALUES ('a', NULL, 1900000000000000)")
	return c
}

func TestNetworkFileSystem(t *testing.T) {
	env := system()
	var asked []string
	env.network = func(path string) (string, error) {
		asked = append(asked, path)
		return "NFS", nil
	}
	path := filepath.Join(t.TempDir(), "leases.db")
	if err := try(t, path, env); !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "NFS") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was created: %v", err)
	}
	s := opened(t, path, system())
	if err := try(t, path, env); !errors.Is(err, ErrNetwork) {
		t.Errorf("got %v", err)
	}
	// An existing file may be on another file system than its folder.
	if want := []string{filepath.Dir(s.path), s.path}; fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked about %v in place of %v", asked, want)
	}
}

// All characters of a path stand for themselves.
func TestUnusualNames(t *testing.T) {
	for _, name := range []string{
		":memory:", "file:x", "a?mode=memory", "b#c", "50%", "%41", "two words", "x&y=z", "naïve", "-dash", `back\slash`, "'quote\"",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			s := opened(t, path, system())
			session := s.session(time.Hour)
			s.win(session, "name")
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("the database is not there: %v", err)
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if !strings.HasPrefix(e.Name(), name) {
					t.Errorf("there is a file %q", e.Name())
				}
			}
		})
	}
}

func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	a := opened(t, "leases.db", system())
	b := opened(t, "./x/../leases.db", system())
	token := a.win(a.session(time.Hour), "name")
	if h := b.holder("name"); h.Token != token {
		t.Errorf("the other store has %+v", h)
	}
	t.Chdir(t.TempDir()) // the store knows where its file is
	a.session(time.Hour)
}

// An empty file is a new one.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := opened(t, path, system())
	s.win(s.session(time.Hour), "name")
}

// A damaged file is an error, and not the end of the program.
func TestDamagedFile(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	for i := range 100 {
		s.win(session, fmt.Sprintf("name-%d", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for name, damage := range map[string]func(file []byte) []byte{
		"cut off": func(file []byte) []byte { return file[:2*page] },
		"noise": func(file []byte) []byte {
			return append(file[:page:page], bytes.Repeat([]byte{0xa5}, len(file)-page)...)
		},
		"zeros":    func(file []byte) []byte { return append(file[:page:page], make([]byte, len(file)-page)...) },
		"a schema": func(file []byte) []byte { return append(bytes.Repeat([]byte{0x5a}, 100), file[100:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			damaged := damage(bytes.Clone(whole))
			path := filepath.Join(t.TempDir(), "leases.db")
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), bound)
			defer cancel()
			s, err := open(ctx, path, system())
			if err == nil {
				defer s.Close()
				_, err = s.Acquire(ctx, session, []string{"name-5"}, false)
			}
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotDatabase) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A file system gives the number of a deleted file to the next one: another file all
// the same.
func TestSameNumberOfAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	is, err := stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		was, is int64
		same    bool
	}{{7, 7, true}, {7, 8, false}, {0, 8, true}, {7, 0, true}} {
		a, b := &identity{is.info, tt.was}, &identity{is.info, tt.is}
		if got := same(a, b); got != tt.same {
			t.Errorf("born at %d and at %d: the same file: %v", tt.was, tt.is, got)
		}
	}
	if runtime.GOOS == "linux" && is.born == 0 {
		t.Logf("the file system of %s does not say when a file was made", path)
	}
}

// Nothing that was held in a file that is not there any more can be renewed, and
// nothing can be won in it. A new session uses the file that is there now.
func TestReplacedFile(t *testing.T) {
	endings := []string{"", "-wal", "-shm"}
	for name, replace := range map[string]func(path string) error{
		"replaced": func(path string) error {
			other := fresh(t, system())
			if err := other.Close(); err != nil {
				return err
			}
			for _, ending := range endings[1:] {
				if err := os.Remove(path + ending); err != nil {
					return err
				}
			}
			return os.Rename(other.path, path)
		},
		"deleted": func(path string) error {
			for _, ending := range endings {
				if err := os.Remove(path + ending); err != nil {
					return err
				}
			}
			return nil
		},
		"moved": func(path string) error {
			for _, ending := range endings {
				if err := os.Rename(path+ending, path+".old"+ending); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t, system())
			session := s.session(time.Hour)
			s.win(session, "name")
			s.renew(session)
			if _, err := s.Inspect(s.ctx, nil); err != nil {
				t.Fatal(err)
			}
			if err := replace(s.path); err != nil {
				t.Fatal(err)
			}
			s.writer.trusted, s.renewer.trusted = time.Time{}, time.Time{} // a few milliseconds later
			_, err := s.Renew(s.ctx, session, 0, false)
			s.fails(err, ErrReplaced)
			if errors.Is(err, backend.ErrExpired) {
				t.Errorf("nobody knows whether the session has ended: %v", err)
			}
			_, err = s.Acquire(s.ctx, session, []string{"other"}, false)
			s.fails(err, ErrReplaced)
			_, err = s.Inspect(s.ctx, nil)
			s.fails(err, ErrReplaced)

			another := opened(t, s.path, system())
			again := s.session(time.Hour)
			token := s.win(again, "name")
			if h := another.holder("name"); h.Token != token {
				t.Errorf("the store that was opened since has %+v", h)
			}
			s.renew(again)
			_, err = s.Renew(s.ctx, session, 0, false)
			s.fails(err, backend.ErrExpired)
		})
	}
}

// Where the database was replaced and the files beside it were not, SQLite would
// mix the old one with the new one.
func TestReplacedButForTheFilesBeside(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			other := fresh(t, system())
			if err := other.Close(); err != nil {
				return err
			}
			return os.Rename(other.path, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t, system())
			session := s.session(time.Hour)
			s.win(session, "name")
			if err := replace(s.path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(s.path)
			s.writer.trusted = time.Time{} // a few milliseconds later
			_, err := s.Renew(s.ctx, session, 0, false)
			s.fails(err, ErrReplaced)
			_, err = s.Open(s.ctx, time.Hour, "label")
			s.fails(err, ErrReplaced)
			if !strings.Contains(err.Error(), "remove its -wal and -shm") {
				t.Errorf("the error does not help: %v", err)
			}
			if after, _ := os.ReadFile(s.path); !bytes.Equal(before, after) {
				t.Error("the new file was changed")
			}
			for _, ending := range endings[1:] {
				if err := os.Remove(s.path + ending); err != nil {
					t.Fatal(err)
				}
			}
			again := s.session(time.Hour)
			s.win(again, "name")
			s.renew(again)
		})
	}
}

// The files beside the database keep its users apart. Without one of them, those
// who come later would not know of those who are there.
func TestFilesBesideAreDeleted(t *testing.T) {
	for _, ending := range []string{"-wal", "-shm"} {
		t.Run(ending, func(t *testing.T) {
			s := fresh(t, system())
			session := s.session(time.Hour)
			if err := os.Remove(s.path + ending); err != nil {
				t.Fatal(err)
			}
			s.writer.trusted = time.Time{} // a few milliseconds later
			_, err := s.Renew(s.ctx, session, 0, false)
			s.fails(err, ErrReplaced)
			_, err = s.Acquire(s.ctx, session, []string{"name"}, false)
			s.fails(err, ErrReplaced)
			_, err = s.Inspect(s.ctx, nil)
			s.fails(err, ErrReplaced)
		})
	}
}

// When the database may not grow, calls fail, nothing is lost, and all goes on when
// there is space again.
func TestFullDatabase(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	token := s.win(session, "first")
	if n := s.writer.conn.number(t, "PRAGMA page_count"); n > 20 {
		t.Fatalf("a new database has %d pages", n)
	}
	s.writer.conn.do(t, "PRAGMA max_page_count = 20")
	names := make([]string, backend.MaxBatch)
	for i := range names {
		names[i] = fmt.Sprintf("%0*d", backend.MaxName, i)
	}
	_, err := s.Acquire(s.ctx, session, names, true)
	s.fails(err, ErrFull)
	r := s.renew(session)
	if len(r.Leases) != 1 || r.Leases[0] != (backend.Lease{Name: "first", Token: token}) {
		t.Errorf("the session has %v", r.Leases)
	}
	s.free(session, "first", token)
	if got := s.win(session, "first"); got <= token {
		t.Errorf("R19: the token %d came after %d", got, token)
	}
	s.writer.conn.do(t, "PRAGMA max_page_count = 1000")
	outcomes, err := s.Acquire(s.ctx, session, names, true)
	if err != nil || !outcomes[0].Won {
		t.Errorf("with space again: %v", err)
	}
}

// Between the two looks that resolve takes at a path, another process may have
// created the file.
func TestResolveMeetsACreation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := resolveNew(path); err != nil || got != want {
		t.Errorf("resolveNew of a file that is there by now: %q, %v; want %q", got, err, want)
	}
}
