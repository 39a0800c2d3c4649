package pages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy that is made while pages are stored is the store of one moment, with its own identity.
func TestCopyAndRestore(t *testing.T) {
	s := openTemp(t)
	for i := range 300 {
		put(t, s, page(fmt.Sprintf("https://h%d.example/%d", i%7, i), 1, strings.Repeat("x", i)))
	}
	if err := s.SetMark("scope", "host"); err != nil {
		t.Fatal(err)
	}
	before := s.Stats()
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for i := range 50 {
			s.Put([]Page{page(fmt.Sprintf("https://later.example/%d", i), 1, "later")})
		}
	}()
	path := filepath.Join(t.TempDir(), "pages-0.db.new")
	os.WriteFile(path, []byte("half of another"), 0o644)
	identity, st, err := Restore(path, s.Copy)
	<-writing
	if err != nil {
		t.Fatal(err)
	}
	if identity == s.Identity() || len(identity) != len(s.Identity()) {
		t.Errorf("identity %s, of the copied %s", identity, s.Identity())
	}
	to := filepath.Join(filepath.Dir(path), "pages-0.db")
	if err := Rename(path, to); err != nil {
		t.Fatal(err)
	}
	c, err := Open(to, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if now := c.Stats(); c.Identity() != identity || now.Pages != st.Pages || now.LastSeq != st.LastSeq || now.Pages < before.Pages || now.Pages > before.Pages+50 {
		t.Errorf("restored %+v, said %+v, copied from %+v on", now, st, before)
	}
	if p, ok, err := c.Get("https://h2.example/100"); !ok || err != nil || len(p.Body) == 0 {
		t.Errorf("page %v, %v", ok, err)
	}
	if m, err := c.Mark("scope"); m != "host" || err != nil {
		t.Errorf("mark %q, %v", m, err)
	}
	put(t, c, page("https://h2.example/100", 2, "newer"))
}

// An incomplete copy is refused, and nothing of it is left.
func TestRestoreOfLess(t *testing.T) {
	s := openTemp(t)
	put(t, s, page("https://a.example/", 1, strings.Repeat("x", 1<<20)))
	var whole bytes.Buffer
	if err := s.Copy(&whole); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the connection ended")
	for name, fill := range map[string]func(w io.Writer) error{
		"nothing":  func(w io.Writer) error { return nil },
		"an error": func(w io.Writer) error { w.Write(whole.Bytes()); return broken },
		"other":    func(w io.Writer) error { _, err := w.Write(bytes.Repeat([]byte("no store"), 4096)); return err },
		"the beginning": func(w io.Writer) error {
			_, err := w.Write(whole.Bytes()[:4096])
			return err
		},
		"most of it": func(w io.Writer) error {
			_, err := w.Write(whole.Bytes()[:whole.Len()-1])
			return err
		},
	} {
		path := filepath.Join(t.TempDir(), "pages-0.db.new")
		_, _, err := Restore(path, fill)
		if err == nil || !strings.Contains(err.Error(), path) || name == "an error" && !errors.Is(err, broken) {
			t.Errorf("%s: Restore = %v", name, err)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func TestCreateAndRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages-0.db")
	was := ""
	for range 2 { // in the place of what is there
		id, err := Create(path)
		if err != nil || id == was {
			t.Fatalf("Create = %s, %v", id, err)
		}
		was = id
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Identity() != id || s.Stats().Pages != 0 {
			t.Errorf("created %s with %d pages, want %s", s.Identity(), s.Stats().Pages, id)
		}
		put(t, s, page("https://a.example/", 1, "x"))
		s.Close()
	}
	for range 2 {
		if err := Remove(path); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "missing", "pages-0.db")); err == nil {
		t.Error("Create in no directory")
	}
}
