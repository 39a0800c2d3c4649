package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// A catalogue that does not fit into one message is complete in the crawl's catalogue, and so is
// that of a portal that lists its datasets page by page.
func TestLongCatalogues(t *testing.T) { simnet.Test(t, testLongCatalogues) }

func testLongCatalogues(t *testing.T) {
	web := serve(t, simweb.Config{Hosts: 3, PagesPerHost: 1, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsNone} }})
	const sets, packages, most, graph = 4000, 1234, 500, 1500
	var b strings.Builder
	b.WriteString(`{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [`)
	for i := range sets {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"@type": "dcat:Dataset", "title": "Set %d", "description": %q, "accessLevel": "public", "distribution": [{"downloadURL": "http://h0000.sim.test/f/%[1]d.csv"}]}`,
			i, strings.Repeat("what it says ", 30))
	}
	b.WriteString("]}")
	web.Override("http://h0000.sim.test/data.json", &simweb.Answer{ContentType: "application/json", Body: b.String()})
	search := web.Portal("http://h0001.sim.test", packages, most)
	// A graph whose distributions come after all datasets, one of which is longer than allowed.
	var g, files strings.Builder
	g.WriteString(`{"@graph": [{"@type": "dcat:Dataset", "dct:title": "long", "x": "` + strings.Repeat("x", 513<<10) + `"}`)
	for i := range graph {
		fmt.Fprintf(&g, `,{"@type": "dcat:Dataset", "dct:title": "Node %d", "dct:description": %q, "dcat:distribution": {"@id": "_:f%[1]d"}}`, i, strings.Repeat("what it says ", 40))
		fmt.Fprintf(&files, `,{"@id": "_:f%d", "dcat:downloadURL": "http://h0002.sim.test/f/%[1]d.csv"}`, i)
	}
	web.Override("http://h0002.sim.test/all.jsonld", &simweb.Answer{ContentType: "application/ld+json", Body: g.String() + files.String() + "]}"})
	spec := specFor(web)
	spec.Seeds = []string{"http://h0000.sim.test/data.json", search, "http://h0002.sim.test/all.jsonld"}
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	r.wait(time.Minute)
	origins, leftOut := map[string]int{}, map[string]int{}
	for _, line := range r.catalogue(t) {
		var d crawl.DatasetInfo
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		for _, from := range d.Sources {
			leftOut[d.Origin] += from.LeftOut
		}
		if len(d.URLs) == 1 {
			origins[d.Origin]++
		}
	}
	if origins["http://h0000.sim.test"] != sets || origins["http://h0001.sim.test"] != packages || origins["http://h0002.sim.test"] != graph {
		t.Errorf("%v datasets, want %d, %d and %d", origins, sets, packages, graph)
	}
	if leftOut["http://h0002.sim.test"] != 1 || leftOut["http://h0000.sim.test"] != 0 {
		t.Errorf("%v are listed as left out", leftOut)
	}
	asked := 0
	for path, n := range requested(web) {
		if strings.Contains(path, "package_search") {
			if asked++; n != 1 {
				t.Errorf("%s asked for %d times", path, n)
			}
		}
	}
	if asked > 6 { // 10, then 1000 at a time, of which 500 are given
		t.Errorf("%d requests for %d datasets", asked, packages)
	}
	if len(b.String()) < 1<<20 {
		t.Error("it would have fitted into a message")
	}
}

// The dataset that a page describes in its own Link headers is in the catalogue.
func TestSignpostedPage(t *testing.T) { simnet.Test(t, testSignpostedPage) }

func testSignpostedPage(t *testing.T) {
	web := serve(t, simweb.Config{Hosts: 1, PagesPerHost: 1, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsNone} }})
	const u = "http://h0000.sim.test/rain"
	web.Override(u, &simweb.Answer{Body: "<title>Rain</title>", Header: []string{
		`Link: <https://schema.org/Dataset>; rel="type", <https://doi.org/10.5072/rain>; rel="cite-as"`,
		`Link: </rain.csv>; rel="item"; type="text/csv", <https://creativecommons.org/licenses/by/4.0/>; rel="license"`}})
	spec := specFor(web)
	spec.Seeds = []string{u}
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	r.wait(time.Minute)
	lines := r.catalogue(t)
	if len(lines) != 1 {
		t.Fatalf("%q", lines)
	}
	var d crawl.DatasetInfo
	if err := json.Unmarshal([]byte(lines[0]), &d); err != nil {
		t.Fatal(err)
	}
	if d.Page != u || d.Identifier != "https://doi.org/10.5072/rain" || d.SPDX == nil || *d.SPDX != "CC-BY-4.0" || len(d.Files) != 1 ||
		d.Files[0].URL != "http://h0000.sim.test/rain.csv" || d.Files[0].MediaType != "text/csv" || len(d.Sources) != 1 || d.Sources[0].Kind != crawl.DatasetHeader {
		t.Errorf("%+v", d)
	}
}
