package wellknown

import (
	"net/http"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// Whatever a feed and its header say, a hub is a canonical URL, and the name of the feed is on
// its own origin. Without a hub it has no name.
func FuzzHub(f *testing.F) {
	const at = canon.URL("https://a.example/feed")
	for _, link := range []string{
		`<https://hub.example/>; rel="hub", </own>; rel=self`, `<>; rel=hub`, `<//hub.example>; rel="Self HUB"; type="x, <y>"`,
		`<https://u:p@hub.example/>;rel=hub`, `<x;rel=hub`, `,;<a>;;rel=hub,`, strings.Repeat(`<mailto:x>;rel=hub,`, 30),
	} {
		f.Add(link, `<feed><link rel="hub" href="http://hub.example/"/><link rel="self" href="http://b.example/feed"/></feed>`)
	}
	f.Add("", `<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link rel="hub" href="/hub"/><atom:link rel="self" href="/own"/></channel></rss>`)
	f.Fuzz(func(t *testing.T, link, body string) {
		// What is wrong with the feed does not matter here.
		sum, _ := sitemap.ReadFeed(strings.NewReader(body), sitemap.Options{MaxBytes: 64 << 10, MaxEntries: 10}, func(sitemap.Entry) error { return nil })
		r := &list{base: canon.NewBase(at), sum: sum}
		hub, self := r.hub(at, http.Header{"Link": {link}})
		if (hub == "") != (self == "") || self != "" && self.Origin() != at.Origin() {
			t.Errorf("hub %q, self %q", hub, self)
		}
		for _, u := range []canon.URL{hub, self} {
			if again, err := canon.Parse(string(u)); u != "" && (err != nil || again != u) {
				t.Errorf("%q is %q, %v", u, again, err)
			}
		}
	})
}
