package indexer

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Formats §4.2: no copy of a page with noarchive is shown, and no content of one with nosnippet.
// The exporter counts them.
func TestExportLeavesOut(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		archived, quoted := page("https://a.example/noarchive", 1, "<p>walrus"), page("https://a.example/nosnippet", 1, "<p>walrus")
		archived.Directives, quoted.Directives = crawl.NoArchive, crawl.NoSnippet
		w.hand(archived, quoted, page("https://a.example/", 1, "<p>ocelot"))
		w.settled(x)
		want := map[string]int64{"noarchive": 1, "nosnippet": 1}
		check := func(format, all string, left crawl.LeftOut) {
			t.Helper()
			if strings.Contains(all, "walrus") || !strings.Contains(all, "ocelot") {
				t.Errorf("export as %s: %s", format, all)
			}
			if !maps.Equal(left.Pages, want) {
				t.Errorf("export as %s: left out %v", format, left.Pages)
			}
		}
		formats := []string{"jsonl", "text", "html"}
		for _, format := range formats {
			var all strings.Builder
			var left crawl.LeftOut
			for _, raw := range asked[json.RawMessage](w, "export", crawl.ExportQuery{What: "pages", Format: format}) {
				all.Write(raw)
				if strings.HasPrefix(string(raw), `{"left_out":`) {
					json.Unmarshal(raw, &left)
				}
			}
			check(format, all.String(), left)
		}
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, format := range formats {
			var b strings.Builder
			left, err := stoppedCrawl(r).Export(t.Context(), crawl.ExportQuery{What: "pages", Format: format}, &b)
			if err != nil {
				t.Fatal(err)
			}
			check(format, b.String(), left)
			if strings.Contains(b.String(), "left_out") {
				t.Errorf("export as %s holds what is no part of it", format)
			}
		}
		// A question for one page returns no more than the export.
		for _, content := range []string{"", "text", "html"} {
			for url, why := range map[string]string{"https://a.example/noarchive": "noarchive", "https://a.example/nosnippet": "nosnippet", "https://a.example/": ""} {
				rec, found, err := stoppedCrawl(r).Page(t.Context(), url, content)
				if !found || err != nil || rec.Withheld != why || (rec.Text+rec.HTML == "") != (why != "") || why == "" && (rec.Text != "") != (content == "text") {
					t.Errorf("%s as %q: %+v, %v, %v", url, content, rec, found, err)
				}
			}
		}
	})
}
