package fetcher

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
)

// Which documents in RDF are published, and as what.
func TestRDFDocuments(t *testing.T) {
	const turtle = "@prefix dcat: <http://www.w3.org/ns/dcat#> .\n<http://h.test/d> a dcat:Dataset ; dcat:landingPage <http://h.test/p> ; <http://purl.org/dc/terms/title> \"x\" .\n"
	const line = "<http://h.test/d> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/dcat#Dataset> .\n<http://h.test/d> <http://purl.org/dc/terms/title> \"x\" .\n"
	const doc = `<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><dcat:Dataset><dct:title>x</dct:title></dcat:Dataset></rdf:RDF>`
	const ontology = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n<http://h.test/> a owl:Ontology .\n"
	const pages = "<http://h.test/catalog.ttl?page=1> a hydra:PagedCollection ; hydra:nextPage \"http://h.test/catalog.ttl?page=2\" .\n"
	for _, tt := range []struct {
		path, kind, body string
		want             string
		as               string // media type of the document that is published
		rule             bool   // the result says what was odd
	}{
		{"/x", "text/turtle; charset=utf-8", turtle, "stored", "text/turtle", false},
		{"/x", "application/trig", "<g> {" + line + "}", "stored", "application/trig", false},
		{"/x", "application/n-triples", line, "stored", "application/n-triples", false},
		{"/x", "application/n-quads", line, "stored", "application/n-quads", false},
		{"/x", "application/rdf+xml", doc, "stored", "application/rdf+xml", true}, // no prefixes
		{"/x", "application/xml", doc, "stored", "application/rdf+xml", true},
		{"/catalog.xml", "text/xml", doc, "stored", "application/rdf+xml", true},
		{"/catalog.xml", "text/plain", doc, "stored", "application/rdf+xml", true},
		{"/x.rdf", "application/octet-stream", doc, "stored", "application/rdf+xml", true},
		{"/x.rdf", "", doc, "stored", "application/rdf+xml", true},
		{"/x.ttl", "text/plain", turtle, "stored", "text/turtle", false},
		{"/x.ttl", "text/html", turtle, "stored", "text/turtle", false},
		{"/x.nt", "text/plain", line, "stored", "application/n-triples", false},
		{"/x.nt", "", line, "stored", "application/n-triples", false},
		{"/x.nq", "application/octet-stream", line, "stored", "application/n-quads", false},
		{"/x.ttl", "text/turtle", turtle + "? .\n", "stored", "text/turtle", true},
		{"/x.ttl", "text/turtle", turtle + "<http://h.test/e> dct:title \"x", "stored", "text/turtle", true},
		{"/catalog.ttl?page=1", "text/turtle", pages, "stored", "text/turtle", true},
		{"/x", "text/turtle", ontology, "refused/rdf", "", true},
		{"/x", "text/turtle", "", "refused/rdf", "", true},
		{"/x", "text/n3", turtle, "refused/rdf", "", true},
		{"/x.rdf", "application/xml", `<rdf:RDF><rdf:Description/></rdf:RDF>`, "refused/rdf", "", true},
		{"/x", "text/plain", turtle, "stored", "", false}, // as a text
		{"/x.ttl", "text/plain", "Dear reader", "stored", "", false},
		{"/x.ttl", "application/octet-stream", "\x00\x01", "refused/type", "", true},
		{"/x", "application/xml", "<a/>", "refused/type", "", true},
	} {
		t.Run(fmt.Sprintf("%s %s %d", tt.path, tt.kind, len(tt.body)), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header()["Content-Type"] = nil
					if tt.kind != "" {
						w.Header().Set("Content-Type", tt.kind)
					}
					fmt.Fprint(w, tt.body)
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				u := "http://h.test" + tt.path
				out := d.outcome(d.grant(open(visitTo(t, u))))
				r := out.Results[0]
				if got := classes(out); got != tt.want || (r.Rule != "") != tt.rule {
					t.Errorf("%s: %+v", got, r)
				}
				p := d.pageOf(mustURL(t, u))
				if (p.Kind == crawl.KindMeta) != (tt.as != "") || (p.Deleted != "") != (tt.want != "stored") {
					t.Errorf("%+v", p)
				}
				if tt.as != "" && (string(unpack(t, p)) != tt.body || p.ContentType != tt.as) {
					t.Errorf("a text of type %s", p.ContentType)
				}
			})
		})
	}
}

// A long catalogue in RDF is published in parts of JSON-LD. One that is about something else is not
// read to its end.
func TestRDFInParts(t *testing.T) {
	var b bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&b, "<http://h.test/d/%d> <http://purl.org/dc/terms/title> \"t%[1]d\" .\n<http://h.test/d/%[1]d> <http://purl.org/dc/terms/description> \"%s\" .\n", i, strings.Repeat("x", 1000))
	}
	for i := range 2000 { // the types of all stand at the end
		fmt.Fprintf(&b, "<http://h.test/d/%d> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/dcat#Dataset> .\n", i)
	}
	body := "# Dataset\n" + b.String()
	for _, tt := range []struct {
		name, body, want string
		limit            int
		keep             bool
		sets             int
	}{
		{"whole", body, "stored", 0, false, 2000},
		{"a line is broken", "? .\n" + body, "stored", 0, false, 2000},
		{"it breaks off", body + "<http://h.test/x> <http://h", "stored", 0, false, 2000},
		{"it breaks off, over a copy", body + "<http://h.test/x> <http://h", "retry/network", 0, true, 2000},
		{"at the limit", body, "stored", len(body), false, 2000},
		{"past it", body, "refused/catalogue", len(body) - 1, false, 0},
		{"about something else", strings.ReplaceAll(body, "Dataset", "Rainfall"), "refused/rdf", 0, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/n-triples")
					w.(http.Flusher).Flush() // its length is not announced
					fmt.Fprint(w, tt.body)
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{MaxCatalogue: int64(tt.limit)})
				visit := visitTo(t, "http://h.test/dump.nt")
				visit.URLs[0].Keep = tt.keep
				out := d.outcome(d.grant(open(visit)))
				if got := classes(out); got != tt.want || (out.Results[0].Rule != "") != (tt.body != body || tt.want == "refused/catalogue") {
					t.Errorf("%s: %+v", got, out.Results[0])
				}
				sets, unread := 0, ""
				var end *crawl.Page
				come := func() bool {
					d.mu.Lock()
					defer d.mu.Unlock()
					sets, end = 0, nil
					for _, p := range d.pages {
						if p.Part == 0 {
							end = &p
							continue
						}
						if unread = catalog.Unread(unpack(t, p), catalog.Document{}); unread != "" {
							continue
						}
						claims, err := catalog.ReadJSON(unpack(t, p), catalog.Document{URL: string(p.URL)})
						if sets += len(claims); err != nil || p.ContentType != "application/ld+json" {
							t.Errorf("part %d of type %s: %v", p.Part, p.ContentType, err)
						}
					}
					return end != nil || sets == tt.sets
				}
				for limit := time.Now().Add(ample); !come() && time.Now().Before(limit); {
					time.Sleep(2 * time.Millisecond)
				}
				if sets != tt.sets {
					t.Errorf("%d datasets, want %d", sets, tt.sets)
				}
				if lost := tt.body != body && tt.sets > 0; lost != (unread != "") {
					t.Errorf("reported as not read: %q", unread)
				}
				if tt.want == "stored" && (end == nil || end.ContentType != "application/n-triples" || end.Size != int64(len(tt.body)) || end.Parts == 0) {
					t.Errorf("%+v", end)
				}
				if tt.want != "stored" && end != nil && end.Deleted == "" {
					t.Errorf("a page of what is not whole: %+v", end)
				}
			})
		})
	}
}
