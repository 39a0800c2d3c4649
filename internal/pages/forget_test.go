package pages

import (
	"fmt"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Forgotten pages, and only these, are removed in steps whose progress is stored.
func TestForget(t *testing.T) {
	path := t.TempDir() + "/pages-0.db"
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var batch []Page
	for i := range 50 {
		batch = append(batch, page(fmt.Sprintf("https://d.example/a/%d", i), 1, "x"), page(fmt.Sprintf("http://d.example/a/%d", i), 1, "x"))
	}
	claimed := page("https://d.example/a/1", 2, "claims")
	claimed.Claims = []byte("c")
	rest := []string{"http://d.example:8080/a/1", "https://d.example/b", "https://dd.example/a/1"}
	for _, u := range rest {
		batch = append(batch, page(u, 1, "x"))
	}
	put(t, s, append(batch, claimed, gone("https://d.example/a/404", 1, crawl.ReasonHTTP4xx))...)
	glue(t, s, alias("https://d.example/a/2", 2, "https://dd.example/a/1"))
	wantListed(t, []*Store{s}, append(sortedURLs(batch, "https://d.example/a/2", "https://dd.example/a/1"), "https://dd.example/a/1 = https://d.example/a/2")...)
	before := s.Stats().LastSeq
	n, rounds := 0, 0
	for more := true; more; rounds++ {
		var k int
		if k, more, err = s.Forget([]string{"https://d.example/a/"}, 7); err != nil {
			t.Fatal(err)
		}
		n += k
		if rounds == 3 { // a restart in between
			s.Close()
			if s, err = Open(path, Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 49 || rounds != 8 { // one is an alias whose copy is gone; 51 records
		t.Errorf("%d pages went in %d rounds", n, rounds)
	}
	if got := listed(t, s); len(got) != 53 || slices.ContainsFunc(got, func(l string) bool { return len(l) > 19 && l[:20] == "https://d.example/a/" }) {
		t.Errorf("listed %d: %q", len(got), got)
	}
	// 49 pages, and the page whose alias is forgotten.
	if ch := changes(t, s, before); len(ch) != 50 || ch[0].Deleted != crawl.ReasonForgotten {
		t.Errorf("the journal has %d changes", len(ch))
	}
	if p, _, _ := s.Get("https://dd.example/a/1"); len(p.Aliases) != 0 {
		t.Errorf("aliases %v", p.Aliases)
	}
	// A finished entry stays finished until Remember. A host includes all its origins.
	put(t, s, page("https://d.example/a/0", 3, "again"))
	if n, more, err := s.Forget([]string{"https://d.example/a/"}, 7); n != 0 || more || err != nil {
		t.Errorf("Forget again = %d, %v, %v", n, more, err)
	}
	if err := s.Remember(func(e string) bool { return e == "d.example" }); err != nil {
		t.Fatal(err)
	}
	if n, more, err := s.Forget([]string{"https://d.example/a/"}, 1000); n != 1 || more || err != nil {
		t.Errorf("Forget after Remember = %d, %v, %v", n, more, err)
	}
	if n, more, err := s.Forget([]string{"d.example"}, 1000); n != 52 || more || err != nil {
		t.Errorf("Forget of the host = %d, %v, %v", n, more, err)
	}
	wantListed(t, []*Store{s}, "https://dd.example/a/1")
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	s.Close()
}

// sortedURLs lists pages, except those named.
func sortedURLs(batch []Page, without ...string) (all []string) {
	for _, p := range batch {
		if !slices.Contains(without, string(p.URL)) {
			all = append(all, string(p.URL))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
