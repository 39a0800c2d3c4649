package pages

import (
	"cmp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/usage"
)

// EachSince comes by what is otherwise than it was: stored, changed, shown otherwise, or gone, and
// by nothing that was only fetched again.
func TestEachSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t)
		url := func(n string) string { return "https://example.org/" + n }
		for _, n := range []string{"same", "renewed", "text", "tags", "usage", "noindex", "gone", "alias", "expired", "later"} {
			p := page(url(n), 1, "text of "+n)
			switch n {
			case "expired":
				p.UnavailableAfter = time.Now().Add(time.Hour)
			case "later":
				p.UnavailableAfter = time.Now().Add(3 * time.Hour)
			}
			put(t, s, p)
		}
		put(t, s, gone(url("before"), 1, crawl.ReasonNoindex))
		since := func(at time.Time) (all string) {
			t.Helper()
			err := s.eachSince(at, time.Now().Add(2*time.Hour), func(p Page) error {
				all += " " + strings.TrimPrefix(string(p.URL), url(""))
				if p.listed() != (len(p.Body) > 0) {
					t.Errorf("%s: %d bytes of body", p.URL, len(p.Body))
				}
				if !p.listed() {
					all += ":" + cmp.Or(string(p.Deleted), "mirror")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(all)
		}
		if got, want := since(time.Now().Add(-time.Minute)), "alias before:noindex expired gone later noindex renewed same tags text usage"; got != want {
			t.Errorf("from the beginning: %s, want %s", got, want)
		}
		time.Sleep(2 * time.Millisecond)
		mark := time.Now()
		tagged, said := page(url("tags"), 2, "text of tags"), page(url("usage"), 2, "text of usage")
		tagged.Directives = crawl.NoArchive
		var set usage.Set
		set.ContentSignal(usage.Place{From: "robots.txt", Line: 2}, "ai-train=no")
		said.Usage = set.Statements()
		put(t, s, page(url("same"), 2, "text of same"), renewal(url("renewed"), 2), page(url("text"), 2, "other"), tagged, said,
			gone(url("noindex"), 2, crawl.ReasonNoindex), gone(url("gone"), 2, "gone"))
		glue(t, s, alias(url("alias"), 2, url("same")))
		if got, want := since(mark), "alias:mirror expired gone:gone noindex:noindex tags text usage"; got != want {
			t.Errorf("since then: %s, want %s", got, want)
		}
		if got := since(time.Now().Add(90 * time.Minute)); got != "" {
			t.Errorf("since later: %s", got)
		}
	})
}
