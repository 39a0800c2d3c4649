package pages

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func (s *Store) since(t *testing.T, u canon.URL) time.Time {
	t.Helper()
	p, ok, err := s.Get(u)
	if !ok || err != nil {
		t.Fatalf("Get %s: %v, %v", u, ok, err)
	}
	return p.Since
}

// Since when the content of a page is stored: fetching the same again does not change it, other
// content does.
func TestSince(t *testing.T) {
	const u = "https://example.org/"
	s := openTemp(t)
	for _, step := range []struct {
		name string
		page Page
		want int // minutes
	}{
		{"first", page(u, 1, "one"), 1},
		{"the same again", page(u, 2, "one"), 1},
		{"not modified", renewal(u, 3), 1},
		{"other content", page(u, 4, "two"), 4},
		{"the same, shown otherwise", func() Page { p := page(u, 5, "two"); p.Directives = crawl.NoSnippet; return p }(), 4},
		{"a replay", page(u, 1, "one"), 4},
		{"gone and back", page(u, 7, "two"), 7},
	} {
		if step.want == 7 {
			put(t, s, gone(u, 6, crawl.ReasonNoindex))
		}
		put(t, s, step.page)
		if got, want := s.since(t, u), day.Add(time.Duration(step.want)*time.Minute); !got.Equal(want) {
			t.Errorf("%s: since %v, want %v", step.name, got, want)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// A store from before this was recorded can be opened and continues. Its pages have no such time,
// which is older than all later ones.
func TestSinceNotNoted(t *testing.T) {
	const one, two = "https://old.example/1", "https://old.example/2"
	path := unpacked(t, "testdata/format2.db.gz")
	for range 2 {
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, page(one, 2, "one"), page(two, 2, "changed"))
		if got := s.since(t, one); !got.IsZero() {
			t.Errorf("as before: since %v, want unknown", got)
		}
		if got := s.since(t, two); !got.Equal(day.Add(2 * time.Minute)) {
			t.Errorf("changed: since %v", got)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
