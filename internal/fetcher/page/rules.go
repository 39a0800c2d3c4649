package page

import (
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/siterules"
)

// applyRules reads a page by the site rules of the crawl. It reports whether the page is stored. If
// a rule skips it, the result says so. The links of a skipped page are followed all the same, as
// those of a page with noindex: a page that says that it has moved links to where it is now. If the
// same page is shown at many URLs, as for errors with status 200, its links are not followed at
// further ones, as on all pages (repeated).
//
// The body is what the indexer stores, so that reading the stored page gives the same.
func applyRules(p *Pages, page *crawl.Page, a *wire.Answer, body []byte, r *crawl.Result) (stored bool) {
	rules := p.Requests.Config.Sites
	site := rules.Reader(page.URL)
	if site == nil {
		return true
	}
	defer p.Requests.Metrics.Spent(metrics.Rules, time.Now())
	out := site.Read(siterules.InputOf(page, a.Header, body))
	p.Shared.cuts.log(p.Shared, page, &out)
	if !out.Skip {
		page.Ruled = &out.Ruled
		return true
	}
	*r = crawl.Result{URL: r.URL, Class: crawl.Refused, Reason: crawl.ReasonSiteRule, Rule: out.Why, Rules: rules.Hash(), Status: r.Status, Bytes: r.Bytes,
		Took: r.Took, FetchedAt: r.FetchedAt, Digest: r.Digest}
	return false
}

// ruleCuts are the notes about rules that could not be applied to a whole page. Many pages of a
// site mostly have the same one, which is logged once. It may be used concurrently.
type ruleCuts struct {
	mu    sync.Mutex // guards known
	known map[string]bool
}

// maxRuleCuts bounds the notes that are remembered.
const maxRuleCuts = 1000

func (c *ruleCuts) log(s *Shared, page *crawl.Page, out *siterules.Output) {
	if len(out.Cut) == 0 {
		return
	}
	note := strings.Join(out.Cut, "; ")
	key := string(page.URL.Host()) + " " + note
	c.mu.Lock()
	known := c.known[key]
	if c.known == nil || len(c.known) >= maxRuleCuts {
		c.known = map[string]bool{}
	}
	c.known[key] = true
	c.mu.Unlock()
	if !known {
		s.log.Warn("site rules could not be applied to a whole page; further pages of the host with the same problem are not logged", "url", page.URL, "why", note)
	}
}
