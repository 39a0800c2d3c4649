package urls

import (
	"errors"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// A stored page is counted by its rendering as long as it is stored, and once, however often its
// record is written. A 304 leaves the rendering and its note; another body replaces both.
func TestRenderingIsCounted(t *testing.T) {
	t.Parallel()
	const u = "http://a.example/x"
	s := openShard(t, testSpec())
	at := time.Unix(1_700_000_000, 0)
	s.insert(u, Verdict{Class: crawl.Queued}, func(*Record) {})
	step := func(name string, res *crawl.Result, v Verdict, want crawl.RenderingCounts, note string) {
		t.Helper()
		_, key, _ := s.find(u)
		s.change(u, func(h *hosts.Host, r *Record) error {
			if res != nil {
				r.StoredCopy.Update(res)
			}
			return errors.Join(s.urls.SetState(h, r, v), s.urls.PutURL(key, r))
		})
		s = s.reopened()
		_, _, r := s.find(u)
		if got := s.Meta.Counts.Rendering; got != want || r.RenderNote != note {
			t.Errorf("%s: %+v, note %q; want %+v, %q", name, got, r.RenderNote, want, note)
		}
		s.check()
	}
	stored := Verdict{Class: crawl.Stored, From: at}
	result := func(r crawl.Rendering, rule string) *crawl.Result {
		return &crawl.Result{Class: crawl.Stored, Digest: 1, Rendering: r, Rule: rule}
	}
	step("fetched", result(crawl.RenderingNeeded, "a broken JSON-LD"), stored, crawl.RenderingCounts{Needed: 1}, "")
	step("unchanged", &crawl.Result{Class: crawl.Stored, NotModified: true}, stored, crawl.RenderingCounts{Needed: 1}, "")
	step("queued again", nil, Verdict{Class: crawl.Queued}, crawl.RenderingCounts{}, "")
	step("failed", result(crawl.RenderingFailed, "rendering failed: it hung"), stored, crawl.RenderingCounts{Failed: 1}, "rendering failed: it hung")
	step("still", &crawl.Result{Class: crawl.Stored, NotModified: true}, stored, crawl.RenderingCounts{Failed: 1}, "rendering failed: it hung")
	step("rendered", result(crawl.RenderingDone, ""), stored, crawl.RenderingCounts{Done: 1}, "")
	step("a mirror", nil, Verdict{Class: crawl.Refused, Reason: crawl.ReasonMirror}, crawl.RenderingCounts{}, "")
	step("no mirror", nil, stored, crawl.RenderingCounts{Done: 1}, "")
	step("with text now", result(crawl.RenderingNone, ""), stored, crawl.RenderingCounts{}, "")
	step("again", result(crawl.RenderingNeeded, ""), stored, crawl.RenderingCounts{Needed: 1}, "")
	step("gone", nil, Verdict{Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Blank: true}, crawl.RenderingCounts{}, "")
}
