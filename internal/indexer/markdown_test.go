package indexer

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/usage"
)

// exportLines exports pages and calls each with every line.
func exportLines[T any](t *testing.T, r *Reader, q crawl.ExportQuery, each func(T)) (left crawl.LeftOut) {
	t.Helper()
	var b strings.Builder
	left, err := stoppedCrawl(r).Export(t.Context(), q, &b)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	for l := range strings.Lines(b.String()) {
		var v T
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		each(v)
	}
	return left
}

func TestExportMarkdown(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		long := "<h1>Long</h1><p>" + strings.Repeat("ocelot ", 100) + "<h2>Second</h2><p>" + strings.Repeat("tapir ", 20)
		hushed := page("https://a.example/hushed", 1, "<p>walrus")
		hushed.Directives = crawl.NoSnippet
		copied := page("https://a.example/noarchive", 1, "<p>walrus")
		copied.Directives = crawl.NoArchive
		w.hand(page("https://a.example/long", 1, long), page("https://a.example/whole", 1, "<div data-nosnippet>walrus</div>"), hushed, copied)
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()

		got := ""
		left := exportLines(t, r, crawl.ExportQuery{What: "pages", Format: "markdown"}, func(rec Record) {
			got += fmt.Sprintf(" %s:%s:%d", strings.TrimPrefix(rec.URL, "https://a.example/"), rec.Withheld, strings.Count(rec.Markdown, "ocelot")+strings.Count(rec.Markdown, "## Second"))
			if rec.Text != "" || rec.HTML != "" || strings.Contains(rec.Markdown, "walrus") {
				t.Errorf("%+v", rec)
			}
		})
		if want := " hushed:nosnippet:0 long::101 noarchive:noarchive:0 whole:nosnippet:0"; got != want || left.Pages["nosnippet"] != 2 || left.Pages["noarchive"] != 1 {
			t.Errorf("%s, want %s; left out %v", got, want, left.Pages)
		}

		var chunks []crawl.PageChunk
		left = exportLines(t, r, crawl.ExportQuery{What: "pages", Format: "chunks", ChunkSize: 300}, func(c crawl.PageChunk) { chunks = append(chunks, c) })
		if left.Pages["nosnippet"] != 2 || left.Pages["noarchive"] != 1 || len(chunks) != 4 {
			t.Fatalf("%d chunks, left out %v", len(chunks), left.Pages)
		}
		for i, c := range chunks {
			heads := "Long"
			if i == 3 {
				heads = "Long Second"
			}
			if c.URL != "https://a.example/long" || c.N != i+1 || c.Of != 4 || len(c.Text) > 300 || c.SHA256 == "" || c.FetchedAt.IsZero() || c.Usage == nil || strings.Join(c.Headings, " ") != heads {
				t.Errorf("%+v", c)
			}
		}
		for _, q := range []crawl.ExportQuery{{What: "pages", Format: "pdf"}, {What: "links", Format: "markdown"}} {
			if _, err := stoppedCrawl(r).Export(t.Context(), q, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "use pages as") {
				t.Errorf("%+v: %v", q, err)
			}
		}
	})
}

// What is sent of one page over NATS is limited. A page in chunks is not cut, because each chunk is
// small.
func TestExportMarkdownLimit(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		w.hand(page("https://a.example/", 1, "<h1>T</h1><p>"+strings.Repeat("word ", maxSent/5+100)))
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, limit := range []int{0, maxSent} {
			a := answers{parts: func() []part { return r.all }, limit: limit}
			words, cut := 0, false
			for _, format := range []string{"markdown", "chunks"} {
				words = 0
				err := a.export(t.Context(), crawl.ExportQuery{What: "pages", Format: format}, func(v any) error {
					switch v := v.(type) {
					case Record:
						words, cut = words+strings.Count(v.Markdown, "word"), v.Cut
					case crawl.PageChunk:
						words += strings.Count(v.Text, "word")
					}
					return nil
				})
				if all := words == maxSent/5+100; err != nil || all == (limit > 0 && format == "markdown") || format == "markdown" && cut != (limit > 0) {
					t.Errorf("%s, limit %d: %d words, cut %v, %v", format, limit, words, cut, err)
				}
			}
		}
	})
}

// An export of changes reports what was removed, and what its site no longer allows.
func TestExportSince(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		at := func(path string, visit uint64, says string) crawl.Page {
			p := page("https://a.example/"+path, visit, "<p>ocelot")
			var s usage.Set
			s.ContentSignal(usage.Position{From: "robots.txt", Line: 2}, says)
			p.Usage = s.Statements()
			return p
		}
		w.hand(at("same", 1, "ai-train=yes"), at("withdrawn", 1, "ai-train=yes"), at("granted", 1, ""), at("text", 1, "ai-train=yes"), at("gone", 1, "ai-train=yes"), at("hushed", 1, "ai-train=yes"))
		w.settled(x)
		time.Sleep(2 * time.Millisecond)
		mark := time.Now()
		text, hushed := at("text", 2, "ai-train=yes"), at("hushed", 2, "ai-train=yes")
		text = page("https://a.example/text", 2, "<p>tapir")
		text.Usage = at("", 1, "ai-train=yes").Usage
		hushed.Directives = crawl.NoSnippet
		gone := page("https://a.example/gone", 2, "")
		gone.Deleted, gone.Body = crawl.ReasonNoindex, nil
		w.hand(at("same", 2, "ai-train=yes"), at("withdrawn", 2, "ai-train=no"), at("granted", 2, "ai-train=yes"), text, gone, hushed)
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, c := range []struct{ format, want string }{
			{"jsonl", " gone!noindex granted hushed?nosnippet text withdrawn!ai-train disallow"},
			{"markdown", " gone!noindex granted hushed?nosnippet text withdrawn!ai-train disallow"},
			{"source", " gone!noindex granted hushed?nosnippet text withdrawn!ai-train disallow"},
			{"chunks", " gone!noindex granted hushed!nosnippet text withdrawn!ai-train disallow"},
		} {
			got := ""
			left := exportLines(t, r, crawl.ExportQuery{What: "pages", Format: c.format, For: []string{"ai-train"}, Since: mark}, func(rec struct{ URL, Withheld, Removed string }) {
				got += " " + strings.TrimPrefix(rec.URL, "https://a.example/")
				if rec.Removed != "" {
					got += "!" + rec.Removed
				}
				if rec.Withheld != "" {
					got += "?" + rec.Withheld
				}
			})
			if got != c.want || left.Usage["ai-train disallow"] != 1 {
				t.Errorf("%s:%s, want%s; left out %v", c.format, got, c.want, left)
			}
		}
		// One text cannot express removed pages, so they are counted.
		for _, format := range []string{"text", "html"} {
			var b strings.Builder
			left, err := stoppedCrawl(r).Export(t.Context(), crawl.ExportQuery{What: "pages", Format: format, For: []string{"ai-train"}, Since: mark}, &b)
			if err != nil || strings.Count(b.String(), "ocelot") != 1 || !strings.Contains(b.String(), "tapir") || !strings.Contains(b.String(), "/granted") ||
				left.Pages[crawl.PagesGone] != 2 || left.Pages["nosnippet"] != 1 {
				t.Errorf("%s: %s, %v, %v", format, b.String(), left, err)
			}
		}
	})
}

// For a page that has become empty, an export in chunks reports that, because there is no chunk to
// replace the earlier ones.
func TestExportChunksSinceOfAnEmptyPage(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		w.hand(page("https://a.example/a", 1, "<p>ocelot"), page("https://a.example/b", 1, "<p>tapir"))
		w.settled(x)
		time.Sleep(2 * time.Millisecond)
		mark := time.Now()
		empty := page("https://a.example/a", 2, "")
		// It has no title either.
		empty.Body = s2.Encode(nil, []byte("<!doctype html><body><script></script>"))
		empty.SHA256 = sha256.Sum256([]byte("another"))
		w.hand(empty)
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for since, want := range map[time.Time]string{mark: " https://a.example/a!empty", {}: " https://a.example/b!"} {
			got := ""
			exportLines(t, r, crawl.ExportQuery{What: "pages", Format: "chunks", Since: since}, func(rec struct{ URL, Removed string }) { got += " " + rec.URL + "!" + rec.Removed })
			if got != want {
				t.Errorf("since %v:%s, want%s", since, got, want)
			}
		}
	})
}

// Links since a time: for each page that changed, first that its earlier links are void, then its
// current ones.
func TestExportLinksSince(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		at := func(path string, visit uint64, links string) crawl.Page {
			return page("https://a.example/"+path, visit, links)
		}
		w.hand(at("same", 1, `<a href="/1">x</a>`), at("more", 1, `<a href="/1">x</a>`), at("none", 1, `<a href="/1">x</a>`), at("gone", 1, `<a href="/1">x</a>`), at("hushed", 1, `<a href="/1">x</a>`))
		w.settled(x)
		time.Sleep(2 * time.Millisecond)
		mark := time.Now()
		gone, hushed := at("gone", 2, ""), at("hushed", 2, `<a href="/2">x</a>`)
		gone.Deleted, gone.Body = crawl.ReasonNoindex, nil
		hushed.Directives = crawl.NoFollow
		w.hand(at("same", 2, `<a href="/1">x</a>`), at("more", 2, `<a href="/1">x</a><a href="/2">x</a>`), at("none", 2, "words"), gone, hushed)
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got := ""
		exportLines(t, r, crawl.ExportQuery{What: "links", Since: mark}, func(l crawl.LinkRow) {
			got += " " + strings.TrimPrefix(l.From, "https://a.example/") + l.Removed + strings.TrimPrefix(l.To, "https://a.example")
		})
		if want := " gonenoindex hushedchanged morechanged more/1 more/2 nonechanged"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		for _, c := range []struct {
			since time.Time
			want  string
		}{
			{time.Time{}, " more[/1 /2] same[/1]"},
			{mark, " gone[]noindex hushed[] more[/1 /2] none[]"},
		} {
			got := ""
			if _, err := stoppedCrawl(r).ExportPageLinks(t.Context(), crawl.ExportQuery{Since: c.since}, func(l *crawl.PageLinks) error {
				got += fmt.Sprint(" ", l.From, l.To, l.Removed)
				return nil
			}); err != nil {
				t.Error(err)
			}
			if got = strings.ReplaceAll(strings.ReplaceAll(got, "https://a.example/", "/"), " /", " "); got != strings.ReplaceAll(c.want, " /", " ") {
				t.Errorf("grouped since %v:%s, want%s", c.since, got, c.want)
			}
		}
	})
}

// The links of a page in one object fit into a message, or are cut and say so.
func TestExportGroupedLimit(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		const each = 1000
		body := ""
		for i := range 20 {
			body += fmt.Sprintf("<a href='/%0*d'>x</a>", each-len("https://a.example/"), i)
		}
		w.hand(page("https://a.example/", 1, body))
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		base := jsonSize("https://a.example/") + maxGroup
		for _, c := range []struct{ limit, want int }{{0, 20}, {base + 20*(each+3), 20}, {base + 20*(each+3) - 1, 19}, {base + each + 3, 1}, {base + each + 2, 0}} {
			a := answers{parts: func() []part { return r.all }, limit: c.limit}
			n, cut := 0, false
			if err := a.export(t.Context(), crawl.ExportQuery{What: "links", Format: grouped}, func(v any) error {
				all := v.(crawl.PageLinks)
				if n, cut = len(all.To), all.Cut; c.limit > 0 && jsonSize(v) > c.limit {
					t.Errorf("limit %d: %d bytes are sent", c.limit, jsonSize(v))
				}
				return nil
			}); err != nil || n != c.want || cut != (0 < n && n < 20) {
				t.Errorf("limit %d: %d links, cut %v, %v; want %d", c.limit, n, cut, err, c.want)
			}
		}
	})
}
