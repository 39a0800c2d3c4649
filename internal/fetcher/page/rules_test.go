package page

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

const testRules = `sites:
  h.test:
    fields:
      kind: {css: "h2", type: keyword}
      server: {header: Server}
    content: {title: {css: "h1"}}
    skip:
      - {css: "body.error404"}
  h.test/plain/:
    types: [text]
  other.test:
    fields: {kind: {css: "h2", type: keyword}}
`

// A page comes with what the site rules make of it, or is refused by them. Links are followed in
// both cases.
func TestSiteRules(t *testing.T) {
	for name, tt := range map[string]struct {
		path, kind, body string
		header           http.Header
		class            crawl.Class
		reason           crawl.Reason
		rule             string
		fields           string // as JSON; empty: the rules did not read it
	}{
		"fields":       {"/a", "text/html", `<title>T</title><h1>Better</h1><h2>guide</h2><a href="/l">l</a>`, http.Header{"Server": {"x"}}, crawl.Stored, "", "", `{"kind":"guide","server":"x"}`},
		"no field":     {"/a", "text/html", `<a href="/l">l</a>`, nil, crawl.Stored, "", "", `{}`},
		"skipped":      {"/a", "text/html", `<body class="error404"><a href="/l">l</a>`, nil, crawl.Refused, crawl.ReasonSiteRule, "site rules:8: ", ""},
		"noindex":      {"/a", "text/html", `<meta name=robots content=noindex><body class="error404"><a href="/l">l</a>`, nil, crawl.Refused, crawl.ReasonNoindex, "", ""},
		"a text":       {"/a", "text/plain", `h2`, nil, crawl.Stored, "", "", `{}`},
		"not its type": {"/plain/a", "text/html", `h2`, nil, crawl.Refused, crawl.ReasonType, "", ""},
		"its type":     {"/plain/a", "text/plain", `h2`, nil, crawl.Stored, "", "", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				srv := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					for k, v := range tt.header {
						w.Header()[k] = v
					}
					w.Header().Set("Content-Type", tt.kind)
					io.WriteString(w, tt.body)
				}))
				sink := &shelf{t: t}
				p := newPages(t, sink, srv.Listener.Addr().String(), func(s *crawl.Spec) { s.Sites = testRules })
				rules := p.Requests.Config.Sites
				u := crawl.VisitURL{URL: canon.URL("http://h.test" + tt.path)}
				r := p.Fetch(&u)
				p.Publisher.FlushPages()
				if r.Class != tt.class || r.Reason != tt.reason || !strings.HasPrefix(r.Rule, tt.rule) {
					t.Errorf("%+v, want %v %s %s", r, tt.class, tt.reason, tt.rule)
				}
				if len(sink.pages) != 1 {
					t.Fatalf("%d pages", len(sink.pages))
				}
				got := sink.pages[0]
				switch {
				case tt.class != crawl.Stored:
					if got.Ruled != nil || len(got.Body) > 0 {
						t.Errorf("%+v", got)
					}
				case got.Ruled == nil || got.Ruled.Rules != rules.Hash() || rules.Hash() == 0:
					t.Errorf("%+v", got.Ruled)
				default:
					fields, err := got.Ruled.Fields.MarshalJSON()
					if string(fields) != tt.fields || err != nil {
						t.Errorf("fields %s, want %s (%v)", fields, tt.fields, err)
					}
				}
				if tt.reason == crawl.ReasonSiteRule {
					if got.Deleted != crawl.ReasonSiteRule || r.Rules != rules.Hash() || r.Digest != 0 || r.ETag != "" {
						t.Errorf("%+v, %+v", got, r)
					}
				}
			})
		})
	}
}

// A page without an entry in the rules is sent as in a crawl without rules.
func TestSiteRulesOfOthers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		srv := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<h2>kind</h2>")
		}))
		sink := &shelf{t: t}
		other := testRules[strings.Index(testRules, "  other.test"):]
		p := newPages(t, sink, srv.Listener.Addr().String(), func(s *crawl.Spec) { s.Sites = "sites:\n" + other })
		p.Fetch(&crawl.VisitURL{URL: "http://h.test/"})
		p.Publisher.FlushPages()
		if len(sink.pages) != 1 || sink.pages[0].Ruled != nil || sink.pages[0].Head == nil {
			t.Errorf("%+v", sink.pages)
		}
	})
}

// What rules leave out of a page because it costs too much is logged once for a host.
func TestSiteRulesThatCutAreLogged(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		srv := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, strings.Repeat("<h2>kind</h2>", 150_000))
		}))
		var log bytes.Buffer
		p := newPages(t, &shelf{t: t}, srv.Listener.Addr().String(), func(s *crawl.Spec) { s.Sites = testRules })
		p.Shared.log = slog.New(slog.NewTextHandler(&log, nil))
		p.MaxBody = 8 << 20
		for range 3 {
			p.Fetch(&crawl.VisitURL{URL: "http://h.test/"})
		}
		lines := slices.DeleteFunc(strings.Split(log.String(), "\n"), func(l string) bool { return !strings.Contains(l, "whole page") })
		if len(lines) != 1 || !strings.Contains(lines[0], "http://h.test/") {
			t.Errorf("%q", lines)
		}
	})
}
