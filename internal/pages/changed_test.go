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

// EachSince returns what is different from before: stored, changed, shown differently, or removed.
// It does not return what was only fetched again.
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
		// It never was a page of its own, whatever the reason for refusing it.
		put(t, s, gone(url("refused"), 1, crawl.ReasonNoindex))
		put(t, s, gone(url("refused"), 2, "gone"))
		put(t, s, gone(url("opened"), 1, crawl.ReasonNoindex))
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
		if got, want := since(time.Now().Add(-time.Minute)), "alias expired gone later noindex renewed same tags text usage"; got != want {
			t.Errorf("from the beginning: %s, want %s", got, want)
		}
		time.Sleep(2 * time.Millisecond)
		mark := time.Now()
		tagged, said := page(url("tags"), 2, "text of tags"), page(url("usage"), 2, "text of usage")
		tagged.Directives = crawl.NoArchive
		var set usage.Set
		set.ContentSignal(usage.Position{From: "robots.txt", Line: 2}, "ai-train=no")
		said.Usage = set.Statements()
		put(t, s, page(url("same"), 2, "text of same"), renewal(url("renewed"), 2), page(url("text"), 2, "other"), tagged, said,
			gone(url("noindex"), 2, crawl.ReasonNoindex), gone(url("gone"), 2, "gone"), gone(url("refused"), 3, crawl.ReasonNoindex),
			page(url("opened"), 2, "it lets us in now"))
		glue(t, s, alias(url("alias"), 2, url("same")))
		if got, want := since(mark), "alias:mirror expired gone:gone noindex:noindex opened tags text usage"; got != want {
			t.Errorf("since then: %s, want %s", got, want)
		}
		time.Sleep(2 * time.Millisecond)
		mark = time.Now()
		put(t, s, gone(url("opened"), 3, "gone"))
		if got, want := since(mark), "expired opened:gone"; got != want {
			t.Errorf("at last: %s, want %s", got, want)
		}
		if got := since(time.Now().Add(90 * time.Minute)); got != "" {
			t.Errorf("since later: %s", got)
		}
	})
}
