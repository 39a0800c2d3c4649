package indexer

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The head that the fetcher reports is stored without reading the page, except where the report
// cannot be true. A page without a report, as from an older fetcher, is read here.
func TestHeadsThatAreTold(t *testing.T) {
	const u = canon.URL("http://a.example/")
	said := &crawl.Head{Title: "said", Lang: "de"}
	suspicious := newMarks(nil)
	suspicious.note(marked{"http://b.example/", crawl.VisitID{N: 1}}, slotReading)
	for name, c := range map[string]struct {
		head    *crawl.Head
		capture *crawl.Capture
		marks   *marks
		title   string
	}{
		"told":                      {said, nil, nil, "said"},
		"told, and there are marks": {said, nil, newMarks(nil), "said"},
		"by an older fetcher":       {nil, nil, nil, "Title of http://a.example/"},
		"no title at all":           {&crawl.Head{Title: strings.Repeat("a", crawl.MaxTitle+1)}, nil, nil, "Title of http://a.example/"},
		"for the archive":           {said, &crawl.Capture{OfPage: true}, nil, "said"},
		"for it, and not told":      {nil, &crawl.Capture{OfPage: true}, nil, "Title of http://a.example/"},
		"while a page is suspected": {said, nil, suspicious, "Title of http://a.example/"},
	} {
		p := page(string(u), 1, "x")
		p.Head, p.Capture = c.head, c.capture
		r := &pageReader{marks: c.marks, log: testLog()}
		if out := r.read(p, time.Now()); out.Title != c.title || out.Deleted != "" {
			t.Errorf("%s: title %q, deleted %q", name, out.Title, out.Deleted)
		}
		if told := c.title == "said"; (r.unpacked == nil) != told {
			t.Errorf("%s: %d bytes were unpacked", name, len(r.unpacked))
		}
	}
	// A page that may not be stored is not stored, whatever else is reported about it.
	p := page(string(u), 1, "x")
	p.Head, p.Directives = said, crawl.NoIndex
	if out := (&pageReader{log: testLog()}).read(p, time.Now()); out.Body != nil || out.Title != "" {
		t.Errorf("noindex: %+v", out)
	}
}
