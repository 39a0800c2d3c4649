package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody runs do as a user who has no rights beyond those of modes: root has all.
func asNobody(t *testing.T, uid int, do func()) {
	if os.Geteuid() != 0 {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setfsuid(uid); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}

func TestFilesWithoutPermission(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"frontier-0.db", "lock", "nats"} {
		path := filepath.Join(dir, name)
		if name == "nats" {
			if err := os.Mkdir(path, 0); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, nil, 0); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, 4711, 4711); err != nil {
				t.Fatal(err)
			}
		}
		asNobody(t, 4711, func() {
			if err := Check(dir, false); err != nil {
				t.Errorf("reading fails although nothing needs %s: %v", name, err)
			}
			err := Check(dir, true)
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "chmod u+rw "+path) && os.Geteuid() != 0 {
				t.Errorf("%s: %v", name, err)
			}
		})
		if os.Geteuid() == 0 {
			asNobody(t, 4712, func() {
				if err := Check(dir, true); err == nil || !strings.Contains(err.Error(), "belongs to user 4711") || !strings.Contains(err.Error(), "sudo chown") {
					t.Errorf("%s of another user: %v", name, err)
				}
			})
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever is in the place of a file of a crawl: the error names it and says what to type, and no
// opener follows it or waits for it.
func TestOddFiles(t *testing.T) {
	kinds := map[string]func(path, elsewhere string) error{
		"is a symbolic link, not a regular file": func(path, elsewhere string) error {
			return errors.Join(os.WriteFile(elsewhere, []byte("precious"), FileMode), os.Symlink(elsewhere, path))
		},
		"to a file that does not exist":    func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"to a file that does not exist; r": func(path, _ string) error { return os.Symlink(path, path) },
		"to something that is not a file": func(path, elsewhere string) error {
			return errors.Join(os.Mkdir(elsewhere, DirMode), os.Symlink(elsewhere, path))
		},
		"is a directory": func(path, _ string) error { return os.Mkdir(path, DirMode) },
		"is a pipe":      func(path, _ string) error { return unix.Mkfifo(path, uint32(FileMode)) },
		"":               func(path, _ string) error { return os.WriteFile(path, nil, FileMode) },
		"hard": func(path, elsewhere string) error {
			return errors.Join(os.WriteFile(elsewhere, nil, FileMode), os.Link(elsewhere, path))
		},
	}
	for _, name := range []string{"frontier-0.db", "pages-12.db", "pages-0.db.owner", "search-0.db", "spec.json", "nats.json", "crawl.jsonl",
		"crawl-0123456789abcdef-000000000000000.jsonl", "requests.journal", "reading.mark", "lock", "frontier.lock", "indexer.lock", "notes.txt"} {
		for want, make := range kinds {
			dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "x")
			path := filepath.Join(dir, name)
			if err := make(path, elsewhere); err != nil {
				t.Fatal(err)
			}
			f, opened := OpenRegular(path, os.O_RDWR)
			if opened == nil {
				f.Close()
			}
			for _, err := range []error{Check(dir, false), Check(dir, true), opened} {
				switch {
				case want == "" || want == "hard" || name == "notes.txt" && err != opened:
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				case err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) ||
					!strings.Contains(err.Error(), "mv ") && !strings.Contains(err.Error(), "rm "):
					t.Errorf("%s, which %s: %v", name, want, err)
				}
			}
		}
	}
	if err := Check(filepath.Join(t.TempDir(), "none"), true); err != nil {
		t.Errorf("a directory that does not exist: %v", err)
	}
}
