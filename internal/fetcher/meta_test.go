package fetcher

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Which documents of type JSON are handed over, and as what.
func TestMetaDocuments(t *testing.T) {
	const list = `{"dataset": []}`
	big := `{"x": "` + strings.Repeat("y", 1<<20-9) + `"}`
	for _, tt := range []struct {
		path, kind, body string
		want             string
		meta             bool
	}{
		{"/data.json", "application/json", list, "stored", true},
		{"/a/datapackage.json?v=1", "Application/JSON; charset=utf-8", list, "stored", true},
		{"/croissant.json", "text/json", list, "stored", true},
		{"/data.json", "application/vnd.x+json", list, "stored", true},
		{"/data.json", "", list, "stored", true},
		{"/data.json", "text/plain", "\xef\xbb\xbf\n [1]", "stored", true},
		{"/data.json", "application/octet-stream", list, "stored", true},
		{"/x/123", "application/ld+json; profile=\"x\"", list, "stored", true},
		{"/catalog.jsonld", "application/json", list, "stored", true},
		{"/catalog.jsonld?x=/y", "", list, "stored", true},
		{"/catalog.jsonld", "text/html", "<title>not found, in fact", "stored", false},
		{"/x.json", "application/json", list, "refused/type", false},
		{"/mydata.json", "application/json", list, "refused/type", false},
		{"/data.json", "text/plain", "no list", "stored", false},
		{"/data.json", "", "no list", "stored", false},
		{"/data.json", "application/octet-stream", "no list", "refused/type", false},
		{"/data.json", "text/html", "<title>not found, in fact", "stored", false},
		{"/data.json", "", "<!doctype html><title>not found", "stored", false},
		{"/data.json/", "application/json", list, "refused/type", false},
		{"/data.json", "application/json", big, "stored", true},
		{"/data.json", "application/json", big + " ", "refused/too-large", false},
		{"/data.json", "text/plain", big + " ", "refused/too-large", false},
		{"/data.json", "application/ld+json", big + " ", "refused/too-large", false},
	} {
		t.Run(fmt.Sprintf("%s %s %d", tt.path, tt.kind, len(tt.body)), func(t *testing.T) {
			addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if tt.kind != "" {
					w.Header().Set("Content-Type", tt.kind)
				}
				w.Header().Set("ETag", `"e"`)
				fmt.Fprint(w, tt.body)
			})
			d := newDesk(t, 1)
			startFetcher(t, d, testSpec(1, addr), Options{})
			u := "http://h.test" + tt.path
			out := d.outcome(d.grant(open(visitTo(t, u))))
			r := out.Results[0]
			if got := classes(out); got != tt.want || (r.Digest != 0 && r.ETag != "") != (tt.want == "stored") {
				t.Errorf("%s: %+v", got, r)
			}
			p := d.pageOf(mustURL(t, u))
			if (p.Kind == crawl.KindMeta) != tt.meta || (p.Deleted != "") != (tt.want != "stored") {
				t.Errorf("%+v", p)
			}
			if tt.meta && string(unpack(t, p)) != tt.body {
				t.Errorf("another text")
			}
		})
	}
}

// The header's robots tags hold for documents, too.
func TestMetaNoindex(t *testing.T) {
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/ld+json")
		w.Header().Set("X-Robots-Tag", "noindex")
		fmt.Fprint(w, "{}")
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	if got := classes(d.outcome(d.grant(open(visitTo(t, "http://h.test/x"))))); got != "refused/noindex" {
		t.Error(got)
	}
	if p := d.pageOf("http://h.test/x"); p.Deleted != crawl.ReasonNoindex || len(p.Body) > 0 {
		t.Errorf("%+v", p)
	}
}
