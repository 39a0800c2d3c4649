package pages

import (
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// What the rules made of a page stays when the server answers that the page has not changed.
// Followers of the change feed read the page again only if something that they show is different.
func TestRuled(t *testing.T) {
	s := openTemp(t)
	ruled := func(visit uint64, r crawl.Ruled) Page {
		p := page(a, visit, "body")
		p.Ruled = &r
		return p
	}
	fields := func(v string) crawl.Fields { return crawl.Fields{{Name: "a", Values: []string{v}}} }
	check := func(p Page, want Result, seq uint64, title string) {
		t.Helper()
		if got := put(t, s, p); got != want {
			t.Errorf("Put = %+v, want %+v", got, want)
		}
		got, _, err := s.Get(a)
		if err != nil || got.Seq != seq || got.Title != title || got.Ruled.Fields.Get("a") == nil {
			t.Errorf("number %d, title %q, %+v, %v; want number %d, title %q", got.Seq, got.Title, got.Ruled, err, seq, title)
		}
	}
	stored, unchanged := Result{Stored: 1}, Result{Unchanged: 1}
	own := page(a, 1, "body").Title
	check(ruled(1, crawl.Ruled{Rules: 1, Fields: fields("x")}), stored, 1, own)
	check(ruled(2, crawl.Ruled{Rules: 2, Fields: fields("x")}), unchanged, 1, own)
	check(renewal(a, 3), unchanged, 1, own)
	check(ruled(4, crawl.Ruled{Rules: 2, Fields: fields("y")}), stored, 2, own)
	check(ruled(5, crawl.Ruled{Rules: 2, Title: "better", Fields: fields("y")}), stored, 3, "better")
	check(renewal(a, 6), unchanged, 3, "better")
	check(ruled(7, crawl.Ruled{Rules: 2, Title: "better", Content: 1, Fields: fields("y")}), stored, 4, "better")
	check(ruled(8, crawl.Ruled{Rules: 2, Content: 1, Fields: fields("y")}), stored, 5, own)
	if put(t, s, page(a, 9, "body")) != stored {
		t.Error("fields that are gone are no change")
	}
}

// Nothing of the rules is shown of a page that forbids excerpts, and only what is short enough of
// one that limits them.
func TestRuledExcerpt(t *testing.T) {
	p := page(a, 1, "body")
	if about, fields := p.RuledExcerpt(); about != "" || fields != nil {
		t.Error("a page without rules shows something")
	}
	p.Ruled = &crawl.Ruled{Description: "äbcdé", Fields: crawl.Fields{{Name: "a", Values: []string{"ä", "äbcdé"}}, {Name: "b", Values: []string{"äbcd"}}}}
	for limit, want := range map[int]struct {
		about  string
		fields int
	}{0: {"äbcdé", 2}, 5: {"äbcdé", 2}, 4: {"äbcd", 1}, 3: {"äbc", 0}} {
		p.MaxSnippet = limit
		if about, fields := p.RuledExcerpt(); about != want.about || len(fields) != want.fields {
			t.Errorf("max-snippet:%d shows %q and %v", limit, about, fields)
		}
	}
	p.MaxSnippet, p.Directives = 0, crawl.NoSnippet
	if about, fields := p.RuledExcerpt(); about != "" || fields != nil {
		t.Errorf("nosnippet shows %q and %v", about, fields)
	}
	if info := p.Info(); info.Description != "" || info.Fields != nil {
		t.Errorf("the list of pages shows %+v", info)
	}
}
