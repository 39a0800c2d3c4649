package fetcher

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Which documents of type JSON are published, and as what.
func TestMetaDocuments(t *testing.T) {
	const list = `{"dataset": []}`
	const show = `{"success": true, "result": {"name": "n", "notes": "x", "license_id": "cc-by", "resources": [{"url": "http://h.test/f.csv"}]}}`
	const chart = `{"type": "bar", "data": {"datasets": [{"label": "Sales", "data": [1, 2]}]}}`
	late := `{"success": true, "help": "` + strings.Repeat("h", 4<<10) + `", "result": {"name": "n", "notes": "x", "license_id": "cc-by", "resources": []}}`
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
		{"/sets/1", "application/linkset+json; profile=\"x\"", `{"linkset": []}`, "stored", true},
		{"/sets/1", "application/linkset", `<https://a.example/>; rel=item`, "refused/type", false},
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
		{"/catalog.ttl", "text/turtle; charset=utf-8", "<a> a <b> .", "refused/rdf", false},
		{"/catalog", "application/rdf+xml", "<rdf:RDF/>", "refused/rdf", false},
		{"/api/3/action/package_show?id=n", "application/json", show, "stored", true},
		{"/x/7", "application/vnd.x+json", show, "stored", true},
		{"/x/7", "text/json", "\ufeff" + show, "stored", true},
		{"/x/7", "", show, "stored", true},
		{"/x/7.json", "text/plain", show, "stored", true},
		{"/x/7.json", "text/html", show, "stored", true},
		{"/api/x/7", "application/octet-stream", show, "stored", true},
		{"/x/7", "text/html", show, "stored", false},
		{"/x/7", "application/octet-stream", show, "refused/type", false},
		{"/x/7", "text/css", show, "refused/type", false},
		{"/data.json", "text/html", "{% x %}<title>not found, in fact", "stored", false},
		{"/data.json", "text/html", chart, "stored", false},
		{"/chart.json", "application/json", chart, "refused/type", false},
		{"/chart.json", "", chart, "stored", false}, // as a text
		{"/x/7", "application/json", late, "refused/type", false},
		{"/x/7", "application/json", "", "refused/type", false},
		{"/data.json", "application/json", big, "stored", true},
		{"/data.json", "application/json", big + " ", "refused/too-large", false},
		{"/data.json", "text/plain", big + " ", "refused/too-large", false},
		{"/data.json", "application/ld+json", big + " ", "refused/too-large", false},
	} {
		t.Run(fmt.Sprintf("%s %s %d", tt.path, tt.kind, len(tt.body)), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
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
		})
	}
}

// An answer in JSON that shows nothing of datasets at its beginning is not read further, however
// long it is and however it is packed. One that does is published in parts under any name.
func TestNoMoreIsReadThanDecides(t *testing.T) {
	for _, tt := range []struct {
		name, header, kind, begin string
		want                      string
	}{
		{"any answer", "", "application/json", `{"items": [`, "refused/type"},
		{"a catalogue that must not be stored", "noindex", "application/json", `{"success": true, "result": [{"name": "n", "notes": "", "num_tags": 0}`, "refused/noindex"},
		{"any answer that must not be stored", "noindex", "application/json", `{"items": [`, "refused/type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", tt.kind)
					if tt.header != "" {
						w.Header().Set("X-Robots-Tag", tt.header)
					}
					fmt.Fprint(w, tt.begin)
					for { // until the fetcher has had enough
						if _, err := fmt.Fprint(w, `, {"name": "n"}`); err != nil {
							return
						}
					}
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				out := d.outcome(d.grant(open(visitTo(t, "http://h.test/x"))))
				if got := classes(out); got != tt.want || out.Results[0].Bytes > 16<<10 {
					t.Errorf("%s after %d bytes", got, out.Results[0].Bytes)
				}
			})
		})
	}
}

// The robots tags of headers apply to documents, too.
func TestMetaNoindex(t *testing.T) {
	virtual(t, func(t *testing.T) {
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
	})
}

// A catalogue that is too long for a message is published in parts. If it is incomplete, only its
// parts are. Nothing of a catalogue that is too long is published.
func TestCatalogueInParts(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"dataset":[`)
	for i := range 2000 {
		fmt.Fprintf(&b, `{"title":"t%d","identifier":"i","description":%q},`, i, strings.Repeat("x", 1000))
	}
	body := strings.TrimSuffix(b.String(), ",") + "]}"
	listed := strings.ReplaceAll(body, `"identifier"`, `"accessLevel":"public","identifier"`)
	bareList := strings.TrimSuffix(strings.TrimPrefix(listed, `{"dataset":`), "}")
	for _, tt := range []struct {
		name, body, want string
		limit, parts     int
		chunked          bool
		path, kind       string // /data.json and application/json if they are empty
	}{
		{"whole", body, "stored", 0, 9, true, "", ""},
		{"under another name", listed, "stored", 0, 9, true, "/x/7", "application/json"},
		{"as a page", listed, "stored", 0, 9, true, "/data.json", "text/html"},
		{"a list", bareList, "stored", 0, 9, true, "/x/7", "application/json"},
		{"its length is announced", body, "stored", 0, 9, false, "", ""},
		{"a comma too many", strings.TrimSuffix(body, "]}") + ",]}", "stored", 0, 9, true, "", ""},
		{"cut off", body[:len(body)-2], "stored", 0, 10, false, "", ""},
		{"cut off, over a copy", body[:len(body)-2], "retry/network", 0, 10, false, "", ""},
		{"no JSON", "<html>" + body[1:], "refused/type", 0, 0, false, "", ""},
		{"at the limit", body, "stored", len(body), 9, true, "", ""},
		{"past it", body, "refused/catalogue", len(body) - 1, 9, true, "", ""},
		{"past it as it says", body, "refused/catalogue", len(body) - 1, 0, false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", cmp.Or(tt.kind, "application/json"))
					if !tt.chunked {
						w.Header().Set("Content-Length", fmt.Sprint(len(tt.body)))
					}
					fmt.Fprint(w, tt.body)
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{MaxCatalogue: int64(tt.limit)})
				visit := visitTo(t, "http://h.test"+cmp.Or(tt.path, "/data.json"))
				visit.URLs[0].Keep = strings.HasSuffix(tt.name, "over a copy")
				out := d.outcome(d.grant(open(visit)))
				if got := classes(out); got != tt.want {
					t.Errorf("%s: %+v", got, out.Results[0])
				}
				if odd := strings.HasPrefix(tt.name, "a comma") || strings.HasPrefix(tt.name, "cut"); odd != (out.Results[0].Rule != "") && tt.want == "stored" {
					t.Errorf("the result says %q", out.Results[0].Rule)
				}
				var last *crawl.Page
				parts, sets := 0, 0
				come := func() bool {
					d.mu.Lock()
					defer d.mu.Unlock()
					last, parts, sets = nil, 0, 0
					for _, p := range d.pages {
						if p.Part == 0 {
							last = &p
							continue
						}
						if parts++; p.Part != parts {
							t.Errorf("part %d is the %d.", p.Part, parts)
						}
						sets += strings.Count(string(unpack(t, p)), `"title"`)
					}
					return last != nil || tt.want == "retry/network" && parts == tt.parts
				}
				for end := time.Now().Add(ample); !come() && time.Now().Before(end); {
					time.Sleep(2 * time.Millisecond)
				}
				end := last
				if parts != tt.parts {
					t.Errorf("%d parts, want %d", parts, tt.parts)
				}
				switch {
				case tt.want == "stored":
					if end == nil || end.Parts != parts || sets != 2000 || end.Size != int64(len(tt.body)) || end.Encoding != crawl.EncodingParts {
						t.Errorf("%d datasets, %+v", sets, end)
					}
				case end != nil && end.Deleted == "":
					t.Errorf("a page of what is not whole: %+v", end)
				}
			})
		})
	}
}

// The JSON-LD documents that a set of links names are followed, unless it has nofollow. Documents
// of other types are not.
func TestLinksetIsFollowed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const set = `{"linkset": [{"anchor": "/p", "item": [{"href": "/x.csv"}], "describedby": [
		{"href": "/meta/1", "type": "application/ld+json"}, {"href": "/meta/2.jsonld"}, {"href": "/meta/3", "type": "text/turtle"}, {"href": "/meta/4"}, {"href": "/set"}]}]}`
		for tag, want := range map[string]string{"": "http://h.test/meta/1 http://h.test/meta/2.jsonld", "nofollow": ""} {
			addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/linkset+json")
				w.Header().Set("X-Robots-Tag", tag)
				fmt.Fprint(w, set)
			})
			d := newDesk(t, 1)
			startFetcher(t, d, testSpec(1, addr), Options{})
			out := d.outcome(d.grant(open(visitTo(t, "http://h.test/set"))))
			var got []string
			for u := range d.links() {
				got = append(got, string(u))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want || classes(out) != "stored" {
				t.Errorf("%q: %q, want %q; %s", tag, got, want, classes(out))
			}
		}
	})
}
