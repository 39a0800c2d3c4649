package pagetext

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Head returns what the store would read itself, or nothing.
func TestHead(t *testing.T) {
	const page = `<html lang=de-AT><title>A &amp;  B</title><p>1 + 1`
	const data = `<script type="application/ld+json">{"@type":"Dataset"}</script>`
	for name, c := range map[string]struct {
		kind, charset, body string
		want                *crawl.Head
	}{
		"page":           {"text/html", "utf-8", page, &crawl.Head{Title: "A & B", Lang: "de"}},
		"document":       {"application/pdf", "UTF-8", "<title>T</title>", &crawl.Head{Title: "T"}},
		"nothing in it":  {"text/html", "utf-8", "", &crawl.Head{}},
		"text":           {"text/plain", "utf-8", data, &crawl.Head{}},
		"long title":     {"text/html", "utf-8", "<title>" + strings.Repeat("a", 2000), &crawl.Head{Title: strings.Repeat("a", crawl.MaxTitle)}},
		"datasets in it": {"text/html", "utf-8", page + data, nil},
		"other charset":  {"text/html", "iso-8859-1", page, nil},
		"no charset":     {"text/html", "", page, nil},
		"Markdown":       {"text/markdown", "utf-8", "# T", nil},
	} {
		var x Extractor
		got := x.Head(c.kind, c.charset, []byte(c.body))
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
