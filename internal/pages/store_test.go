package pages

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pages-0.db")
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, page("https://example.org/", 1, "kept"))
		id := s.Identity()
		s.Close()
		if _, err := os.Stat(path + ".owner"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("owner note after Close: %v", err)
		}
		r, err := OpenReadOnly(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, ok, _ := r.Get("https://example.org/"); !ok || r.Identity() != id || r.Stats().Pages != 1 {
			t.Errorf("reopened: ok %v, identity %s want %s, %+v", ok, r.Identity(), id, r.Stats())
		}
		r2, err := OpenReadOnly(path) // readers do not shut one another out
		if err != nil {
			t.Fatal(err)
		}
		r2.Close()
		if _, err := Open(path, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "reads it") {
			t.Errorf("Open beside a reader: %v", err)
		}
	})
}

func TestInUseNamesTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t)
		_, err := Open(s.Path(), Options{})
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", os.Getpid())) {
			t.Errorf("Open = %v", err)
		}
		if _, err := OpenReadOnly(s.Path()); !errors.Is(err, ErrInUse) {
			t.Errorf("OpenReadOnly = %v", err)
		}
	})
}

func TestFormatIsRefused(t *testing.T) {
	for name, about := range map[string][]byte{"newer": append([]byte{Format + 1, 1}, make([]byte, 16)...),
		"canon": append([]byte{Format, 99}, make([]byte, 16)...), "none": {1}} {
		path := filepath.Join(t.TempDir(), "pages-0.db")
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketAbout).Put(keyFormat, about) })
		s.Close()
		if _, err := Open(path, Options{}); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: Open = %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "pages-0.db")
	os.WriteFile(path, []byte(strings.Repeat("not a database ", 4096)), 0o644)
	if _, err := Open(path, Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("garbage: Open = %v", err)
	}
	os.WriteFile(path, nil, 0o644)
	if _, err := OpenReadOnly(path); !errors.Is(err, ErrFormat) {
		t.Errorf("empty: OpenReadOnly = %v", err)
	}
}

// URLs in the spelling of an earlier canonicaliser stay where they are.
func TestFormatOfAnEarlierCanonicaliser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages-0.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketAbout).Put(keyFormat, append([]byte{Format, canon.OldestVersion}, make([]byte, 16)...))
	})
	s.Close()
	if s, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// A killed process leaves what the file contained at that moment. Copies that are made between
// commits can be opened and contain what was put before.
func TestCopyOfAnOpenFileOpens(t *testing.T) {
	s := openTemp(t)
	for i := range 5 {
		for j := range 50 {
			put(t, s, page(fmt.Sprintf("https://h%d.example/%d", i, j), 1, strings.Repeat("x", 100*j)))
		}
		path := filepath.Join(t.TempDir(), "pages-0.db")
		copyFile(t, s.Path(), path)
		left, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := left.Stats().Pages; n != int64(50*(i+1)) {
			t.Errorf("%d pages, want %d", n, 50*(i+1))
		}
		if err := left.Check(); err != nil {
			t.Error(err)
		}
		left.Close()
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
}

// A full disk loses only the batch, which the queue brings again.
func TestNoRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages-0.db")
	s, err := Open(path, Options{MaxSize: 20 << 20})
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1<<20)
	stored := 0
	for i := range 40 {
		p := page(fmt.Sprintf("https://example.org/%02d", i), 1, "")
		p.Encoding, p.Body, p.Size = 0, noise, int64(len(noise))
		if _, err = s.Put([]Page{p}); err != nil {
			break
		}
		stored++
	}
	if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), s.Path()) {
		t.Fatalf("Put past the limit: %v after %d pages", err, stored)
	}
	if st := s.Stats(); st.Pages != int64(stored) {
		t.Errorf("%d pages in the counters, %d were stored", st.Pages, stored)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	s.Close()
	if s, err = Open(path, Options{}); err != nil { // room again
		t.Fatal(err)
	}
	defer s.Close()
	if st := s.Stats(); st.Pages != int64(stored) {
		t.Errorf("%d pages after reopening, want %d", st.Pages, stored)
	}
	put(t, s, page("https://example.org/more", 1, "more"))
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
