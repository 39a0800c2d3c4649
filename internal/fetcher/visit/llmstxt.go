package visit

import (
	"fmt"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/llmstxt"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// doLLMSTxt reads an origin's llms.txt as an ordinary URL of it: under its robots.txt, with what it
// says of use, and with one redirect that stays on it. Its links that are in scope are told like
// seeds, at depth 0, before the answer: a fetcher that dies between the two reads it again.
func doLLMSTxt(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	m := &crawl.LLMSTxt{State: crawl.FileUnreadable}
	a.LLMSTxt = m
	t := Trail{At: e.URL, Most: 1, within: e.Origin}
	t.May = func(u canon.URL) bool {
		m.Reason, done = v.mayAsk(u)
		return done && m.Reason == ""
	}
	at := e.URL
	t.Ask = func(u canon.URL, _ bool) (wire.Answer, error) {
		at = u
		return v.ask(u, nil, func(status int, h http.Header) wire.Wanted {
			if status != http.StatusOK || !llmsMedia(h) {
				return wire.Wanted{}
			}
			return wire.Wanted{Limit: llmstxt.MaxBytes + 1}
		})
	}
	got, end, err := t.Follow(v.job.Host)
	switch {
	case end == TrailBarred:
	case err != nil:
		fail := v.failureOf(err)
		m.Reason, done = fail.String(), !fail.Unsent
	case end != TrailArrived:
		m.Reason = "it redirects elsewhere"
	case got.Status == http.StatusNotFound || got.Status == http.StatusGone:
		m.State, m.Fresh = crawl.FileNone, rightsFresh(got.Header, got.At)
	case got.Status != http.StatusOK:
		if overloaded(got.Status) {
			v.overload(got)
		}
		m.Reason = statusText(&got)
	case !llmsMedia(got.Header): // a page that says that there is none
		m.State, m.Reason, m.Fresh = crawl.FileNone, "it is not Markdown", rightsFresh(got.Header, got.At)
	default:
		m.Fresh = rightsFresh(got.Header, got.At)
		done = v.readLLMS(at, e, &got, m)
	}
	return done
}

// llmsMedia reports whether an answer may be Markdown, by its Content-Type.
func llmsMedia(h http.Header) bool {
	switch mediaType(contentType(h)) {
	case "", "text/plain", "text/markdown", "text/x-markdown":
		return true
	}
	return false
}

// readLLMS reads the file and tells of its links. done is false when they cannot be told.
func (v *Visit) readLLMS(at canon.URL, e *crawl.AuxRequest, got *wire.Answer, m *crawl.LLMSTxt) (done bool) {
	f, err := llmstxt.Parse(got.Body)
	if err != nil {
		m.State, m.Reason = crawl.FileNone, err.Error()
		return true
	}
	m.State, m.Title, m.Links = crawl.FileFound, f.Title, len(f.Links)
	if f.Truncated {
		m.Reason = fmt.Sprintf("only its first %d links in its first MiB were read", llmstxt.MaxLinks)
	}
	tags := robotstag.New(v.cfg.spec.Agent)
	tags.AddHeaders(got.Header)
	if tags.Directives().NoFollow {
		m.Reason = "nofollow in its X-Robots-Tag or Robots-Tag header"
		return true
	}
	b := batches{v: v, as: crawl.Links{FoundOn: e.URL}}
	base, seen := canon.NewBase(at), map[canon.URL]bool{}
	for _, l := range f.Links {
		u, err := base.Join(l)
		if err != nil || seen[u] || !v.cfg.Scope.Decide(u).In {
			continue
		}
		seen[u] = true
		to := b.of(crawl.ShardOf(u.Host(), v.deps.opt.Shards))
		if to.add(u, 0); to.bytes >= sitemapBatch {
			start := time.Now()
			err := b.send(to)
			v.session.PausedSince(start)
			if err != nil {
				return false
			}
		}
	}
	m.Within = len(seen)
	return b.flush() == nil
}
