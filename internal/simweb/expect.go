package simweb

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Class is the final state of a URL.
type Class string

// The classes of outcomes, with the same names as in the crawler.
const (
	Stored      Class = "stored"     // fetched and kept
	Redirected  Class = "redirected" // answered by a redirect
	Refused     Class = "refused"    // forbidden by a rule, a tag or a limit
	Failed      Class = "failed"     // requested without a usable result
	StaysQueued Class = "queued"     // stays queued: its host cannot be visited now
)

// Reasons of outcomes that are not Stored or Redirected, with the same names as in the crawler.
const (
	ReasonRobots      = "robots"             // forbidden by robots.txt
	ReasonMirror      = "mirror"             // forbidden by a Host line that names another host
	ReasonUnreachable = "robots-unreachable" // StaysQueued: robots.txt could not be read
	// StaysQueued: the host requires longer delays than a crawl accepts
	ReasonCrawlDelay = "crawl-delay"
	ReasonNoindex    = "noindex"   // fetched, but not kept
	ReasonUsage      = "usage"     // its site forbids the purpose of the crawl
	ReasonPayment    = "payment"   // 402
	ReasonScope      = "scope"     // outside the web
	ReasonAddress    = "address"   // loopback, private or link-local
	ReasonTooLong    = "too-long"  // URL over 2,048 bytes
	ReasonType       = "type"      // not text
	ReasonRedirects  = "redirects" // a loop, or more redirects than anyone follows
	ReasonLocation   = "location"  // a redirect to an invalid URL
	ReasonHTTP4xx    = "http-4xx"  // 404, 410 and the like
	ReasonHTTP5xx    = "http-5xx"  // 500, repeatedly
	ReasonNetwork    = "network"   // reset, closed, cut short
	ReasonProtocol   = "protocol"  // not HTTP
	ReasonTimeout    = "timeout"   // no answer
	ReasonSlow       = "slow"      // an answer that arrives byte by byte
	ReasonHeaders    = "headers"   // a longer header than anyone reads
	ReasonEncoding   = "encoding"  // the body does not match its Content-Encoding
)

// Expectation is the expected result for a URL in an obedient crawler whose only purpose is search.
type Expectation struct {
	Class    Class
	Reason   string
	Location string // target of a redirect

	NoSnippet, NoArchive bool   // from the tags of a stored page
	Truncated            bool   // stored only up to the size limit
	Contains             string // a word that a reader of the page must be able to find

	Also     []Class // other classes that are equally correct, where obedient crawlers differ
	Optional bool    // may be missing: dropped as a link, or followed as a redirect of another URL
	Sitemap  bool    // only known to crawlers that read sitemaps
}

// Expect follows the web as an obedient crawler with this product token would, from the seeds, and
// returns the expected result for every URL that it can reach. URLs inside spider traps are left
// out, except for their entries; see [Web.Trap]. What only mobile robots find is optional.
func (w *Web) Expect(token string) map[string]Expectation {
	out := make(map[string]Expectation)
	follow(w, out, w.Seeds(), token, false)
	for _, s := range w.sites {
		for _, u := range s.robots.sitemapURLs {
			if _, ok := out[u]; !ok && s.readsSitemaps(token) {
				want, _, _ := w.judge(u, token)
				want.Sitemap = true
				out[u] = want
			}
		}
	}
	for _, s := range w.sites {
		if len(s.b.Agents) == 0 {
			continue
		}
		for _, d := range (agents{s}).documents(token) {
			follow(w, out, []string{s.url(d.Path)}, token, true)
		}
	}
	return out
}

// follow adds the results of the URLs in queue, and of all that they lead to.
func follow(w *Web, out map[string]Expectation, queue []string, token string, optional bool) {
	var refs []ref
	for len(queue) > 0 {
		u := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, ok := out[u]; ok || w.Trap(u) {
			continue
		}
		want, links, page := w.judge(u, token)
		want.Optional = want.Optional || optional
		out[u] = want
		if want.Location != "" {
			queue = append(queue, want.Location)
		}
		for _, a := range links {
			if a.followed() {
				queue = append(queue, a.target)
			}
		}
		if page.site != nil {
			refs = page.site.refs(refs[:0], page.page)
			for _, r := range refs {
				queue = append(queue, r.site.url(r.site.path(r.page)))
			}
		}
	}
}

// judge returns the expected result for one URL, and its links: special links, or the links of a
// numbered page.
func (w *Web) judge(u, token string) (Expectation, []anchor, ref) {
	dropped := func(reason string) (Expectation, []anchor, ref) {
		return Expectation{Class: Refused, Reason: reason, Optional: true}, nil, ref{}
	}
	if len(u) > 2048 {
		return dropped(ReasonTooLong)
	}
	host, path, ok := w.split(u)
	if !ok {
		return dropped(ReasonScope)
	}
	s := w.byName[host]
	if s == nil {
		if strings.HasSuffix("."+host, "."+w.cfg.Domain) {
			return Expectation{Class: Failed, Reason: ReasonHTTP4xx}, nil, ref{}
		}
		if isInner(u) {
			return dropped(ReasonAddress)
		}
		return dropped(ReasonScope)
	}
	if s.queuedBecause != "" {
		return Expectation{Class: StaysQueued, Reason: s.queuedBecause}, nil, ref{}
	}
	if s.forbidden(path, token) {
		if s.mirror != nil {
			return Expectation{Class: Refused, Reason: ReasonMirror}, nil, ref{}
		}
		return Expectation{Class: Refused, Reason: ReasonRobots}, nil, ref{}
	}
	page, res, ok := s.lookup(path)
	switch {
	case !ok:
		return Expectation{Class: Failed, Reason: ReasonHTTP4xx}, nil, ref{}
	case res == nil && page == 0:
		want := Expectation{Class: Stored}
		for _, w := range s.b.UsagePolicies {
			if w.Path == "/" {
				want = w.expect()
			}
		}
		if want.Class != Stored { // it is not requested, so nothing is found on it
			return want, nil, ref{}
		}
		return want, s.entries, ref{s, page}
	case res == nil:
		return Expectation{Class: Stored}, nil, ref{s, page}
	case res.agentWant != nil:
		return res.agentWant(token), res.links, ref{}
	}
	return res.want, res.links, ref{}
}

// isInner reports whether the URL's host is one to which no crawler should be lured.
func isInner(u string) bool {
	parsed, err := url.Parse(u)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(parsed.Hostname())
	return parsed.Hostname() == "localhost" ||
		err == nil && (a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified())
}

// Diff compares the results of a crawler with this product token with Expect, and describes the
// differences in sorted sentences. Reasons are not compared, because every crawler has its own
// names for them.
func (w *Web) Diff(token string, got map[string]Class) []string {
	return diff(w, w.Expect(token), got)
}

// DiffLinks is Diff for a crawler that follows links and reads no sitemaps.
func (w *Web) DiffLinks(token string, got map[string]Class) []string {
	want := w.Expect(token)
	maps.DeleteFunc(want, func(_ string, e Expectation) bool { return e.Sitemap })
	return diff(w, want, got)
}

func diff(w *Web, want map[string]Expectation, got map[string]Class) (out []string) {
	for u, e := range want {
		switch g, ok := got[u]; {
		case !ok && !e.Optional:
			out = append(out, fmt.Sprintf("%s: missing, want %s %s", u, e.Class, e.Reason))
		case ok && g != e.Class && !slices.Contains(e.Also, g):
			out = append(out, fmt.Sprintf("%s: %s, want %s %s", u, g, e.Class, e.Reason))
		}
	}
	for u := range maps.Keys(got) {
		if _, ok := want[u]; !ok && !w.Trap(u) {
			out = append(out, fmt.Sprintf("%s: %s, want nobody to know it", u, got[u]))
		}
	}
	slices.Sort(out)
	return out
}
