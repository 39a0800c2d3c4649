package indexer

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The list of pages contains those of all shards, the newest first, narrowed by each filter,
// without forgotten and expired pages.
func TestPagesPage(t *testing.T) { synctest.Test(t, pagesPage) }

func pagesPage(t *testing.T) {
	var parts []part
	n := uint64(0)
	for k := range 2 {
		store, err := pages.Open(filepath.Join(t.TempDir(), "pages.db"), pages.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		for i := range 30 {
			n++
			p := pages.Page{Title: fmt.Sprintf("Release notes %d", i), Lang: []string{"en", "de", ""}[i%3]}
			p.URL, p.Visit = canon.URL(fmt.Sprintf("https://h%d.example/%d", k, i)), crawl.VisitID{Epoch: 1, N: n}
			p.Status, p.ContentType, p.Charset, p.FetchedAt = 200, []string{"text/html", "application/pdf", "application/x-strange"}[i%3], "utf-8", time.Now()
			p.SHA256[0], p.SHA256[1], p.Size, p.Body = byte(k), byte(i), 4, []byte("body")
			if i == 4 {
				p.UnavailableAfter = time.Now().Add(-time.Hour)
			}
			if _, err := store.Put([]pages.Page{p}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		parts = append(parts, part{id: k, store: store, index: &atomic.Pointer[search.Index]{}, gone: &atomic.Bool{},
			hides: func(u canon.URL) bool { return strings.HasSuffix(string(u), "/7") }})
	}
	a := answers{parts: func() []part { return parts }}
	ask := func(q crawl.PagesQuery) crawl.Paged[crawl.PageLine] {
		t.Helper()
		page, err := questions.PagesPage.Ask(t.Context(), asker.Stopped(crawl.Spec{}, nil, a.handlers()), q)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	all := ask(crawl.PagesQuery{Paging: crawl.Paging{Limit: 100}})
	if len(all.Rows) != 56 || all.Total != 56 || all.Matched != 56 || all.Rows[0].URL != "https://h1.example/29" {
		t.Fatalf("%d rows of %d, first %+v", len(all.Rows), all.Total, all.Rows[0])
	}
	for i, r := range all.Rows[1:] {
		if r.StoredAt.After(all.Rows[i].StoredAt) {
			t.Errorf("%s is before %s", all.Rows[i].URL, r.URL)
		}
	}
	for _, tt := range []struct {
		q    crawl.PagesQuery
		want int64
	}{
		{crawl.PagesQuery{Host: "H0."}, 28}, {crawl.PagesQuery{Type: "html"}, 20}, {crawl.PagesQuery{Type: "application/pdf"}, 16}, {crawl.PagesQuery{Type: crawl.PageTypeOther}, 20},
		{crawl.PagesQuery{Lang: "de"}, 16}, {crawl.PagesQuery{Lang: crawl.PageLangNone}, 20}, {crawl.PagesQuery{Title: "NOTES release 12"}, 2}, {crawl.PagesQuery{Title: "h1.example/12"}, 1},
		{crawl.PagesQuery{Host: "h1", Type: "html", Lang: "en", Title: "notes"}, 10}, {crawl.PagesQuery{Type: "html", Lang: "de"}, 0},
	} {
		if got := ask(tt.q); got.Matched != tt.want || got.Total != 56 || int64(len(got.Rows)) != tt.want {
			t.Errorf("%+v: %d rows, %d of %d, want %d", tt.q, len(got.Rows), got.Matched, got.Total, tt.want)
		}
	}
	if got := ask(crawl.PagesQuery{Lang: "de"}).Counts; got["lang:en"] != 20 || got["lang:de"] != 16 || got["type:pdf"] != 16 || got["type:html"] != 0 {
		t.Errorf("counts %v", got)
	}
	brief := ask(crawl.PagesQuery{Brief: true, Paging: crawl.Paging{Limit: 3}})
	if len(brief.Rows) != 3 || brief.Rows[0].URL != all.Rows[0].URL || brief.Total > 8 {
		t.Errorf("in brief: %d rows, %d looked at", len(brief.Rows), brief.Total)
	}
	// Each shard has had 30 pages, some of which are not listed. The list is complete all the same.
	for newest, want := range map[int]int64{0: 0, 30: 0, 29: 2} {
		a.newest = newest
		if got := ask(crawl.PagesQuery{}).Counts[crawl.CountPartial]; got != want {
			t.Errorf("of the newest %d pages: %d shards have more, want %d", newest, got, want)
		}
	}
	a.newest = 0
	seen := 0
	for q := (crawl.PagesQuery{Paging: crawl.Paging{Limit: 10}}); ; {
		page := ask(q)
		seen += len(page.Rows)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if seen != 56 {
		t.Errorf("page by page there are %d", seen)
	}
}
