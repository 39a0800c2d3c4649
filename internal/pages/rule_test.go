package pages

import (
	"fmt"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Changed rules replace what the pages have, delete those that are skipped, and leave alone pages
// that are not the ones that were read.
func TestRule(t *testing.T) {
	s := openTemp(t)
	url := func(n string) string { return "https://example.org/" + n }
	for _, n := range []string{"changed", "same", "skipped", "newer", "titled"} {
		p := page(url(n), 1, "body of "+n)
		p.Ruled = &crawl.Ruled{Rules: 1, Fields: crawl.Fields{{Name: "a", Values: []string{"1"}}}}
		if n == "titled" {
			p.Title, p.Ruled.Title = "own", "other"
		}
		if n == "same" {
			p.Claims = []byte("x")
		}
		put(t, s, p)
	}
	put(t, s, gone(url("gone"), 1, "gone"))
	var all []Ruling
	cursor, seen := "", 0
	for rounds := 0; ; rounds++ {
		found, n, next, err := s.ReadFrom(cursor, 2, func(p *Page) bool { return p.Ruled.Rules == 1 })
		if err != nil || rounds > 9 {
			t.Fatal(rounds, err)
		}
		seen += n
		for _, p := range found {
			if body, err := p.Unpack(nil); err != nil || string(body) != "body of "+string(p.URL)[len(url("")):] {
				t.Errorf("%s: %q, %v", p.URL, body, err)
			}
			r := Ruling{Page: p}
			r.Page.Ruled = &crawl.Ruled{Rules: 2, Fields: crawl.Fields{{Name: "a", Values: []string{"1"}}}}
			switch p.URL {
			case "https://example.org/changed":
				r.Page.Ruled.Fields[0].Values[0] = "2"
			case "https://example.org/skipped":
				r.SkippedBy = "sites:3: skip"
			case "https://example.org/titled":
				r.Page.Title = "own"
			}
			all = append(all, r)
		}
		if cursor = next; next == "" {
			break
		}
	}
	if seen != 5 || len(all) != 5 {
		t.Fatalf("%d pages, %d read", seen, len(all))
	}
	newer := page(url("newer"), 2, "another body")
	newer.Ruled = &crawl.Ruled{Rules: 2}
	put(t, s, newer)
	last := s.Stats().LastSeq
	for _, want := range []string{"{2 1} 3", "{0 0} 0"} { // a second time it changes nothing
		before := s.Stats().LastSeq
		res, err := s.Rule(all, "m", func(r Ruled) string { return fmt.Sprint(r) })
		if err != nil || fmt.Sprint(res, " ", s.Stats().LastSeq-before) != want {
			t.Errorf("%v, %d numbers, %v; want %s", res, s.Stats().LastSeq-before, err, want)
		}
		if m, _ := s.Mark("m"); m != fmt.Sprint(res) {
			t.Errorf("mark %q", m)
		}
	}
	for n, want := range map[string]string{"changed": "2 2 true", "same": "2 1 false", "newer": "2  false", "titled": "2 1 true"} {
		p, ok, err := s.Get(canon.URL(url(n)))
		value := ""
		if v := p.Ruled.Fields.Get("a"); v != nil {
			value = v[0]
		}
		if got := fmt.Sprint(p.Ruled.Rules, " ", value, " ", p.Seq > last); !ok || err != nil || got != want || len(p.Body) == 0 {
			t.Errorf("%s: %s, %v, %v, want %s", n, got, ok, err, want)
		}
		if n == "titled" && p.Title != "own" {
			t.Errorf("title %q", p.Title)
		}
	}
	if _, ok, _ := s.Get(canon.URL(url("skipped"))); ok {
		t.Error("the skipped page is stored")
	}
	queued, err := s.Outbox().First(10)
	if err != nil || len(queued) != 1 || queued[0].Kind != OutboxSkipped || queued[0].Why != "sites:3: skip" || queued[0].Visit.N != 1 {
		t.Errorf("%+v, %v", queued, err)
	}
	claimed := 0
	_ = s.Datasets().EachClaimed(func(Page) error { claimed++; return nil })
	if err := s.Check(); err != nil || claimed != 1 {
		t.Errorf("%d pages with claims, %v", claimed, err)
	}
}

// A page that the indexer skips on arrival is reported to the frontier; one that its fetcher
// skipped is not.
func TestSkippedOnArrival(t *testing.T) {
	s := openTemp(t)
	put(t, s, page(a, 1, "body"))
	p := gone(a, 2, crawl.ReasonSiteRule)
	p.SkippedBy, p.Ruled = "sites:1: skip", &crawl.Ruled{Rules: 7}
	put(t, s, p)
	put(t, s, gone("https://example.org/b", 1, crawl.ReasonSiteRule))
	queued, err := s.Outbox().First(10)
	if err != nil || len(queued) != 1 || queued[0].URL != a || queued[0].Visit.N != 2 || queued[0].Why != p.SkippedBy || queued[0].Rules != 7 {
		t.Errorf("%+v, %v", queued, err)
	}
	if _, ok, _ := s.Get(a); ok {
		t.Error("it is stored")
	}
}
