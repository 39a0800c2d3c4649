package search

import (
	"context"
	"testing"

	"github.com/curtsy/curtsy/internal/pages"
)

func TestPathWords(t *testing.T) {
	for u, want := range map[string][2]string{
		"https://h.example/docs/sql-createindex.html":   {"sql-createindex", "/docs/"},
		"https://h.example/docs/":                       {"docs", "/"},
		"https://h.example/":                            {"", ""},
		"https://h.example/a%20b/c.tar.gz?q=1":          {"c.tar", "/a b/"},
		"https://h.example/v1.2/release.notes.is.a.doc": {"release.notes.is.a", "/v1.2/"},
	} {
		if file, dir := pathWords(u); file != want[0] || dir != want[1] {
			t.Errorf("%s: %q, %q; want %q", u, file, dir, want)
		}
	}
}

// Indexes that share readers use one after another the same reader, and find only their own pages.
// A reader keeps nothing of the index that used it.
func TestReadersAreShared(t *testing.T) {
	var shared Readers
	content := func(p *pages.Page, body []byte) (string, string, []byte) { return p.ContentType, p.Charset, body }
	one, two := newFixture(t), newFixture(t)
	one.o.Readers, two.o.Readers = &shared, &shared
	one.o.Content, two.o.Content = content, content
	one.add(page("https://a.example/", "de", "Eins", "<p>Das Okapi und die Häuser"))
	two.add(page("https://b.example/", "en", "Two", "<p>The zebra and the houses"))
	for _, c := range []struct {
		f     *fixture
		query string
		want  int
	}{{one, "okapi", 1}, {one, "zebra", 0}, {two, "zebra", 1}, {two, "okapi", 0}, {one, "haus", 1}, {two, "house", 1}} {
		if got := len(c.f.search(c.query)); got != c.want {
			t.Errorf("%s: %d hits, want %d", c.query, got, c.want)
		}
	}
	if len(shared.free) != 1 {
		t.Fatalf("%d readers, want 1", len(shared.free))
	}
	if shared.free[0].content != nil {
		t.Error("it has the content of an index")
	}
}

// A batch that ends early gives its reader back without the pages and languages that it has read.
func TestReaderAfterEnd(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.o.Read = func(_ *pages.Page, read func()) error { read(); cancel(); return nil }
	if _, err := f.store.Put([]pages.Page{page("https://a.example/", "en", "One", "<p>okapi"), page("https://a.example/2", "en", "Two", "<p>zebra")}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Step(ctx); err == nil {
		t.Fatal("the step has not ended early")
	}
	if n := len(f.o.Readers.free); n != 1 {
		t.Fatalf("%d readers, want 1", n)
	}
	if r := f.o.Readers.free[0]; r.build.Len() != 0 || len(r.langs) != 1 {
		t.Errorf("it has %d pages, languages %q", r.build.Len(), r.langs)
	}
	f.o.Read = func(_ *pages.Page, read func()) error { read(); return nil }
	f.follow()
	if n := len(f.search("okapi")) + len(f.search("zebra")); n != 2 {
		t.Errorf("%d hits, want 2", n)
	}
}
