package wellknown

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/llmstxt"
)

// llmsTxt reads an origin's llms.txt. Its links that are in scope are published like seeds, at
// depth 0, before the answer.
func llmsTxt(r *request, a *crawl.Answer) (done bool) {
	m := &crawl.LLMSTxt{State: crawl.FileUnreadable}
	a.LLMSTxt = m
	if r.absent() {
		m.State, m.Fresh = crawl.FileNone, robots.RightsFresh(r.got.Header, r.got.At)
		return true
	}
	if m.Reason, done = r.unread(); m.Reason != "" || !done {
		return done
	}
	m.Fresh = robots.RightsFresh(r.got.Header, r.got.At)
	if !r.accepted() { // it is a page that says that there is no such file
		m.State, m.Reason = crawl.FileNone, "it is not Markdown"
		return true
	}
	f, err := llmstxt.Parse(r.got.Body)
	if err != nil {
		m.State, m.Reason = crawl.FileNone, err.Error()
		return true
	}
	m.State, m.Title, m.Links = crawl.FileFound, f.Title, len(f.Links)
	if f.Truncated {
		m.Reason = fmt.Sprintf("only its first %d links in its first MiB were read", llmstxt.MaxLinks)
	}
	if r.Sites.HeaderTags(r.got.Header, r.got.At).Directives.NoFollow {
		m.Reason = "nofollow in its X-Robots-Tag or Robots-Tag header"
		return true
	}
	m.Within, err = r.offer(f.Links)
	return err == nil
}

// offer publishes the links of an llms.txt that are in scope and returns their number. An error
// means that they could not be published.
func (r *request) offer(links []string) (within int, err error) {
	b := publish.Batches{Publisher: r.Publisher, As: crawl.Links{FoundOn: r.aux.URL}, Waited: r.Requests.Session.PausedSince}
	base, seen := canon.NewBase(r.at), map[canon.URL]bool{}
	for _, l := range links {
		u, err := base.Join(l)
		if err != nil || seen[u] || !r.Requests.Config.Scope.Decide(u).In {
			continue
		}
		seen[u] = true
		if err := b.Link(u, 0); err != nil {
			return 0, err
		}
	}
	return len(seen), b.Flush()
}
