package dispatch

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/canon"
)

// allowed returns the URL of a document that a robot brought, if the document may be used: it is
// below the path of the dispatch, in canonical spelling, the site names this server for it, its
// rules allow it, the crawl wants it, and it came only once. A robots.txt is no page, although its
// file is beside the others.
func (b *bundle) allowed(path string) (u canon.URL, ok bool) {
	if !strings.HasPrefix(path, b.subtree) || path == robots.Path {
		return "", false
	}
	u, err := b.origin.URL(path)
	if err != nil || u.PathQuery() != path || u.Origin() != b.origin {
		return "", false
	}
	target, named := b.rules.AgentServer(path)
	if server, ok := crawl.AgentServerURL(target); !named || !ok || server != b.server {
		return "", false
	}
	if _, why := b.site.Sites.Match(b.rules, u); why != "" {
		return "", false
	}
	r := b.requests
	if !r.Config.Scope.Decide(u).In || r.Forgotten(u) || b.site.Pages.Clean(u) != u || b.rules.Cleaned(path) != path {
		return "", false
	}
	hash := reading.PathHash(path)
	if _, again := b.seen[hash]; again {
		return "", false
	}
	b.seen[hash] = struct{}{}
	return u, true
}
