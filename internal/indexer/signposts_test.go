package indexer

import (
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/simnet"
)

// What the header of a page states about a dataset is in the catalogue as long as the header states
// it, also if the page itself does not change, and under the directives of the page.
func TestDatasetOfAHeader(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, stop := w.start(Options{Dir: t.TempDir(), Embedded: true})
		defer stop()
		const u, body = "https://a.example/d", "<title>Rain</title><p>All of it"
		set := func(license string) []byte {
			return []byte(`{"linkset": [{"anchor": "https://a.example/d", "type": [{"href": "https://schema.org/Dataset"}],
			"item": [{"href": "/d.csv", "title": "all"}], "license": [{"href": "` + license + `"}]}]}`)
		}
		var n uint64
		changed := map[string]bool{}
		step := func(name string, links []byte, directives crawl.DirectiveBits, renewed bool, want ...string) {
			t.Helper()
			n++
			p := page(u, n, body)
			p.Signposts, p.Directives = links, directives
			if p.Head = (&pagetext.Extractor{}).Head(p.ContentType, p.Charset, []byte(body)); p.Head == nil {
				t.Fatal("the fetcher would not tell the head of such a page")
			}
			if renewed {
				p.Renewed, p.Body, p.Head, p.Signposts = true, nil, nil, nil
			}
			w.hand(p)
			w.settled(x)
			var got []string
			for _, c := range asked[crawl.DatasetClaim](w, "datasets", nil) {
				if c.Kind != crawl.DatasetHeader || c.Document != u || c.Page != u || len(c.Files) != 1 || c.Files[0].URL != "https://a.example/d.csv" {
					t.Errorf("%s: %+v", name, c)
				}
				got = append(got, c.License)
				at := c.Changed.String()
				if changed[at] != (renewed || name == "the same") {
					t.Errorf("%s: changed at %s", name, at)
				}
				changed[at] = true
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		step("said", set("https://l.example/1"), 0, false, "https://l.example/1")
		step("the same", set("https://l.example/1"), 0, false, "https://l.example/1")
		step("another licence", set("https://l.example/2"), 0, false, "https://l.example/2")
		step("not modified", nil, 0, true, "https://l.example/2")
		step("said no more", nil, 0, false)
		step("said again", set("https://l.example/1"), 0, false, "https://l.example/1")
		step("longer than a header may say", append(set("https://l.example/1"), make([]byte, crawl.MaxSignposts)...), 0, false)
		step("noindex", set("https://l.example/1"), crawl.NoIndex, false)
	})
}
