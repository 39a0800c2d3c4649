package indexer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Formats §8.26: exports of text leave out what has data-nosnippet, and a page that consists only
// of this comes without its text. The page itself, as HTML, contains the attribute and comes whole.
// A page with max-snippet comes with all of its text, and with the number.
func TestExportDataNoSnippet(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		limited := page("https://a.example/limited", 1, "<p>ocelot and more than ten characters")
		limited.MaxSnippet, limited.MetaMaxSnippet = 10, 10
		w.hand(limited, page("https://a.example/part", 1, "<p>quagga <span data-nosnippet>walrus</span> tapir"),
			page("https://a.example/whole", 1, "<div data-nosnippet>walrus</div>"))
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for format, want := range map[string]int64{"jsonl": 1, "text": 1, "html": 0} {
			var b strings.Builder
			left, err := stoppedCrawl(r).Export(t.Context(), crawl.ExportQuery{What: "pages", Format: format}, &b)
			if err != nil {
				t.Fatal(err)
			}
			all := b.String()
			if strings.Contains(all, "walrus") != (format == "html") || !strings.Contains(all, "more than ten characters") || !strings.Contains(all, "tapir") {
				t.Errorf("export as %s: %s", format, all)
			}
			if left.Pages["nosnippet"] != want {
				t.Errorf("export as %s: left out %v", format, left.Pages)
			}
		}
		for url, want := range map[string]Record{
			"https://a.example/part":    {Text: "quagga … tapir"},
			"https://a.example/whole":   {Withheld: "nosnippet"},
			"https://a.example/limited": {Text: "ocelot and more than ten characters", PageInfo: crawl.PageInfo{MaxSnippet: 10}},
		} {
			rec, found, err := stoppedCrawl(r).Page(t.Context(), url, "text")
			if !found || err != nil || !strings.HasSuffix(rec.Text, want.Text) || want.Text == "" && rec.Text != "" || rec.Withheld != want.Withheld || rec.MaxSnippet != want.MaxSnippet {
				t.Errorf("%s: %+v, %v, %v", url, rec, found, err)
			}
			if b, _ := json.Marshal(rec); strings.Contains(string(b), "max_snippet") != (want.MaxSnippet > 0) {
				t.Errorf("%s: %s", url, b)
			}
		}
		var rec Record
		err = r.Handlers("").Ask(t.Context(), "page", questions.PageRequest{URL: "https://a.example/whole", Format: "text", All: true},
			func(v any) error { rec = v.(Record); return nil })
		if err != nil || rec.Text != "walrus" || rec.Withheld != "" {
			t.Errorf("asked for in spite of it: %+v, %v", rec, err)
		}
	})
}
