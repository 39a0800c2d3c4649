package indexer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/usage"
)

// exportLines exports pages and calls each with every line.
func exportLines[T any](t *testing.T, r *Reader, q crawl.ExportQuery, each func(T)) (left crawl.LeftOut) {
	t.Helper()
	var b strings.Builder
	left, err := atRest(r).Export(t.Context(), q, &b)
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
	for _, q := range []crawl.ExportQuery{{What: "pages", Format: "pdf"}, {What: "links", Format: "jsonl", Since: time.Now()}, {What: "pages", Format: "html", Since: time.Now()}} {
		if _, err := atRest(r).Export(t.Context(), q, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "use pages as") {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// What is sent over NATS of one page is bounded; a page in pieces is not cut, since each is small.
func TestExportMarkdownLimit(t *testing.T) {
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
			err := a.export(t.Context(), request{What: "pages", Format: format}, func(v any) error {
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
}

// An export of what changed says what is gone, and what its site does not let be used any more.
func TestExportSince(t *testing.T) {
	w := newWorld(t, 1)
	dir := t.TempDir()
	x, stop := w.start(Options{Dir: dir, Embedded: true})
	at := func(path string, visit uint64, says string) crawl.Page {
		p := page("https://a.example/"+path, visit, "<p>ocelot")
		var s usage.Set
		s.ContentSignal(usage.Place{From: "robots.txt", Line: 2}, says)
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
}
