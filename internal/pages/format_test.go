package pages

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// format1 is a store as the previous version wrote it: three pages, a tombstone, a file, a mark.
func format1(t *testing.T) string { return unpacked(t, "testdata/format1.db.gz") }

// unpacked returns a store in a folder of the test.
func unpacked(t *testing.T, packed string) string {
	t.Helper()
	f, err := os.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pages-0.db")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file of format 1 can be read as it is, and continues as one of this format.
func TestFormat1(t *testing.T) {
	path := format1(t)
	look := func(s *Store) {
		t.Helper()
		n := 0
		if err := s.Each(func(p Page) error {
			if p.Title == "" || p.Aliases != nil || p.MetaDirectives != p.Directives || !p.MetaUnavailableAfter.Equal(p.UnavailableAfter) {
				t.Errorf("%+v", p)
			}
			n++
			return nil
		}); err != nil || n != 3 {
			t.Errorf("%d pages, %v", n, err)
		}
		if p, ok, err := s.Get("https://old.example/1"); !ok || err != nil || !p.Truncated || p.Kind != crawl.KindPage || len(p.Body) == 0 {
			t.Errorf("Get = %+v, %v, %v", p, ok, err)
		}
		if err := s.Datasets().EachClaimed(func(Page) error { t.Error("claims"); return nil }); err != nil {
			t.Error(err)
		}
		if queued, err := s.Outbox().First(10); len(queued) > 0 || err != nil {
			t.Errorf("letters %v, %v", queued, err)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		if s.Identity() != "7781f56eb6f357af6f423b8f215e9ec3" || s.Stats().Pages != 3 {
			t.Errorf("%s, %+v", s.Identity(), s.Stats())
		}
	}
	for _, step := range []string{"reading", "writing", "reading what was opened for writing"} {
		open := OpenReadOnly
		if step == "writing" {
			open = func(path string) (*Store, error) { return Open(path, Options{}) }
		}
		s, err := open(path)
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		look(s)
		s.Close()
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// It is not known which of its directives came from the header, so none is removed.
	again := renewal("https://old.example/2", 2)
	again.Tagged = true
	put(t, s, again, page("https://old.example/gone", 2, "back"))
	if p, _, _ := s.Get("https://old.example/2"); p.SnippetAllowed() || p.UnavailableAfter.IsZero() || p.Visit.N != 2 {
		t.Errorf("after a 304: %+v", p)
	}
	if st := s.Stats(); st.Pages != 4 || st.Tombstones != 0 {
		t.Errorf("%+v", st)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// renewal is the report that a page has not changed.
func renewal(u string, visit uint64) Page {
	p := page(u, visit, "")
	p.Body, p.Renewed, p.ETag, p.LastModified, p.Title = nil, true, "", "", ""
	p.Directives, p.SHA256, p.Size, p.ContentType = 0, [32]byte{}, 0, ""
	p.FetchedAt = day.Add(time.Duration(visit) * time.Hour)
	return p
}
