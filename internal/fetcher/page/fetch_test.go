package page

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

const host = "h.test"

// shelf is a sink that keeps pages.
type shelf struct {
	t      *testing.T
	adding sync.Mutex // guards pages
	pages  []crawl.Page
}

func (s *shelf) AppendEvent(context.Context, int, []byte) error { return nil }

func (s *shelf) SendPages(_ context.Context, _ int, batch []byte) (bool, error) {
	pages, err := crawl.DecodePages(append([]byte(nil), batch...))
	if err != nil {
		s.t.Error(err)
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	s.pages = append(s.pages, pages...)
	return false, nil
}

// newPages makes what fetches the pages of a visit to host, which is at addr.
func newPages(t *testing.T, sink publish.Sink, addr string, change ...func(*crawl.Spec)) *Pages {
	t.Helper()
	client := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial})
	t.Cleanup(client.Close)
	return newPagesOf(t, client, host, sink, addr, change...)
}

// newPagesOf makes what fetches the pages of a visit to a host, which is at addr.
func newPagesOf(t *testing.T, client *wire.Client, host canon.Host, sink publish.Sink, addr string, change ...func(*crawl.Spec)) *Pages {
	t.Helper()
	spec := crawl.Spec{Name: "t", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", AllowPrivate: true, Resolve: []string{"*=" + addr}}
	for _, change := range change {
		change(&spec)
	}
	cfg, err := requests.NewConfig(spec)
	if err != nil {
		t.Fatal(err)
	}
	met, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	lease, ctx := wire.NewLease(t.Context(), boottime.Now, boottime.Now(), time.Hour)
	t.Cleanup(lease.End)
	session := client.NewSession(ctx, ctx, &cfg.Config, host, lease)
	t.Cleanup(session.Release)
	shared := NewShared(SharedOptions{Log: log})
	t.Cleanup(shared.Close)
	never := func(canon.Origin) bool { return false }
	pub := publish.New(publish.Options{Sink: sink, Context: ctx, Host: host, Shards: 1, Scope: cfg.Scope, Metrics: met, Log: log}, new(publish.Buffers))
	req := requests.New(requests.Options{
		Config: cfg, Session: session, Host: host, Metrics: met, Log: log,
		Forgotten: func(canon.URL) bool { return false }, Lost: pub.Lost, Archive: func(canon.URL, *wire.Answer) {},
	})
	sites := robots.New(robots.Options{
		Requests: req, Job: &crawl.Visit{Host: host}, Began: time.Now(), Cache: robots.NewCache(1), Memo: new(usage.Memo),
		Publish: pub.Fact, HasCredentials: never, NeedsText: never,
	})
	return New(Options{Requests: req, Sites: sites, Publisher: pub, Shared: shared, Context: ctx, MaxBody: 1 << 20, MaxCatalogue: 1 << 20}, new(Buffers))
}

// What becomes of a URL by the answer to it, and whether the indexer gets its page, a note that
// there is none, or nothing.
func TestFetch(t *testing.T) {
	const page, gone, nothing = "page", "gone", ""
	header := func(kv ...string) http.Header {
		h := http.Header{"Content-Type": {"text/html"}}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	for name, tt := range map[string]struct {
		url    crawl.VisitURL
		status int
		header http.Header
		body   string
		class  crawl.Class
		reason crawl.Reason
		index  string
	}{
		"a page":         {crawl.VisitURL{}, 200, header(), "<p>words</p>", crawl.Stored, "", page},
		"no type":        {crawl.VisitURL{}, 200, header("Content-Type", "unknown/unknown"), "<!DOCTYPE html><p>words</p>", crawl.Stored, "", page},
		"an image":       {crawl.VisitURL{}, 200, header("Content-Type", "image/png"), "", crawl.Refused, crawl.ReasonType, gone},
		"noindex":        {crawl.VisitURL{}, 200, header("X-Robots-Tag", "noindex"), "<p>words</p>", crawl.Refused, crawl.ReasonNoindex, page},
		"not for search": {crawl.VisitURL{}, 200, header("Content-Signal", "search=no"), "<p>words</p>", crawl.Refused, crawl.ReasonUsage, gone},
		"a part":         {crawl.VisitURL{}, 206, header("Content-Range", "bytes 0-1/2"), "ab", crawl.Failed, crawl.ReasonHTTPOther, nothing},
		"moved":          {crawl.VisitURL{}, 301, header("Location", "/b"), "", crawl.Redirected, crawl.ReasonRedirect, gone},
		"moved nowhere":  {crawl.VisitURL{}, 301, header("Location", "mailto:x"), "", crawl.Failed, crawl.ReasonLocation, nothing},
		"in a circle":    {crawl.VisitURL{}, 302, header("Location", "/a"), "", crawl.Refused, crawl.ReasonRedirects, gone},
		"too many":       {crawl.VisitURL{Redirects: requests.MaxRedirects}, 302, header("Location", "/b"), "", crawl.Refused, crawl.ReasonRedirects, gone},
		"unchanged":      {crawl.VisitURL{ETag: `"1"`}, 304, header("Etag", `"1"`), "", crawl.Stored, "", page},
		"no copy":        {crawl.VisitURL{}, 304, header(), "", crawl.Failed, crawl.ReasonHTTPOther, nothing},
		"absent":         {crawl.VisitURL{}, 404, header(), "", crawl.Failed, crawl.ReasonHTTP4xx, gone},
		"absent, kept":   {crawl.VisitURL{Keep: true}, 404, header(), "", crawl.Failed, crawl.ReasonHTTP4xx, nothing},
		"a price":        {crawl.VisitURL{}, 402, header("Crawler-Price", "USD 1"), "", crawl.Refused, crawl.ReasonPayment, gone},
		"busy":           {crawl.VisitURL{}, 429, header(), "", crawl.Retry, crawl.ReasonOverload, nothing},
		"broken":         {crawl.VisitURL{}, 502, header(), "", crawl.Retry, crawl.ReasonHTTP5xx, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				srv := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					for k, v := range tt.header {
						w.Header()[k] = v
					}
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				}))
				sink := &shelf{t: t}
				p := newPages(t, sink, srv.Listener.Addr().String())
				u := tt.url
				u.URL = "http://h.test/a"
				r := p.Fetch(&u)
				if p.Publisher.FlushPages(); r.Class != tt.class || r.Reason != tt.reason || r.URL != u.URL {
					t.Errorf("%+v, want %v %s", r, tt.class, tt.reason)
				}
				got := nothing
				for i := range sink.pages {
					if got = page; sink.pages[i].Deleted != "" {
						got = gone
					}
				}
				if got != tt.index || len(sink.pages) > 1 {
					t.Errorf("the indexer gets %+v, want %q", sink.pages, tt.index)
				}
			})
		})
	}
}
