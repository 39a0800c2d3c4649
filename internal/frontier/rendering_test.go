package frontier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Stored pages that need scripts are fetched again, without a condition, once such pages are
// rendered: by another setting, or by other site rules. Others are not, and neither are those that
// were rendered or could not be.
func TestShellsAreFetchedAgainToRenderThem(t *testing.T) {
	const rules = "sites:\n  a.example:\n    render: "
	changes := map[string]struct {
		change func(*crawl.Spec)
		again  bool
	}{
		"auto":            {func(s *crawl.Spec) { s.Render = crawl.RenderAuto }, true},
		"always":          {func(s *crawl.Spec) { s.Render = crawl.RenderAlways }, true},
		"never":           {func(s *crawl.Spec) { s.Render = "" }, false},
		"by site rules":   {func(s *crawl.Spec) { s.Sites = rules + "auto\n" }, true},
		"not of its site": {func(s *crawl.Spec) { s.Render, s.Sites = crawl.RenderAuto, rules+"never\n" }, false},
		"another setting": {func(s *crawl.Spec) { s.Types = []string{"html"} }, false},
	}
	synctest.Test(t, func(t *testing.T) {
		for name, c := range changes {
			for _, r := range []crawl.Rendering{crawl.RenderingNone, crawl.RenderingNeeded, crawl.RenderingDone, crawl.RenderingFailed} {
				const u = "http://a.example/1"
				b := newBench(t, testSpec("http://a.example/"))
				b.links(0, "", u)
				v := b.grant(1)[0]
				b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Results: []crawl.Result{
					{URL: u, Class: crawl.Stored, Status: 200, FetchedAt: time.Now(), Digest: 7, ETag: "e", Rendering: r, Rule: "rendering failed: it hung"},
				}}})
				var want crawl.RenderingCounts
				want.Count(r, 1)
				if got := b.status().Rendering; got != want {
					t.Errorf("%v pages are counted as %+v", r, got)
				}
				if x := b.explain(u); x.Rendering != r.String() || (x.RenderNote != "") != (r == crawl.RenderingDone || r == crawl.RenderingFailed) {
					t.Errorf("%v is explained as %q, %q", r, x.Rendering, x.RenderNote)
				}
				b.respec(c.change)
				b.refillAll()
				b.verify()
				record := b.record(u)
				if again := c.again && r == crawl.RenderingNeeded; (record.Class == crawl.Queued) != again || (record.ETag == "") != again {
					t.Errorf("%v, %s: %v, with the validator %q", r, name, record.Class, record.ETag)
				} else if again {
					want = crawl.RenderingCounts{}
				}
				if got := b.status().Rendering; got != want {
					t.Errorf("%v, %s: counted as %+v, want %+v", r, name, got, want)
				}
				b.crash()
			}
		}
	})
}
