package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

var page1 = Document{URL: "https://d.example/sets/rain.html", Page: true, Fetched: at}

func read(t testing.TB, doc Document, body string) []crawl.DatasetClaim {
	t.Helper()
	claims, err := ReadJSON([]byte(body), doc)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return claims
}

// show formats a claim for comparisons in tests.
func show(c crawl.DatasetClaim) string {
	var files []string
	for _, f := range c.Files {
		size := int64(-1)
		if f.Bytes != nil {
			size = *f.Bytes
		}
		files = append(files, fmt.Sprintf("%s %s %d %.4s%.4s", f.URL, f.MediaType, size, f.SHA256, f.MD5))
	}
	return fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s|%s|%v|%v|%s|%s|%s|%v|%v", c.Kind, c.ID, c.Page, c.Name, c.Title, c.Description, c.License, c.Publisher, c.Creators,
		c.Keywords, c.Issued, c.Modified, c.Version, files, c.Columns)
}

func TestJSONLD(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		// The properties that schema.org and search engines require of a Dataset, in their usual
		// compact form.
		{"schema.org", `{
  "@context": "https://schema.org/", "@type": "Dataset",
  "name": "Rain in  Freiburg", "description": "Daily\nsums", "url": "/sets/rain", "sameAs": "https://elsewhere.example/rain",
  "identifier": ["https://doi.org/10.5072/RAIN.1", "local-7"], "keywords": ["WEATHER > RAIN", "daily"],
  "license": "https://creativecommons.org/licenses/by/4.0/", "isAccessibleForFree": true, "version": 3,
  "creator": [{"@type": "Person", "name": "A. Author"}, {"@type": "Organization", "name": "Met"}],
  "publisher": {"@type": "Organization", "name": "Example Office"}, "datePublished": "2026-01-02", "dateModified": "2026-03-04",
  "variableMeasured": ["date", {"@type": "PropertyValue", "name": "mm", "description": "height"}],
  "isBasedOn": {"@type": "Dataset", "name": "Another's"},
  "distribution": [
    {"@type": "DataDownload", "encodingFormat": "CSV", "contentUrl": "rain.csv#top", "contentSize": "1234", "sha256": "` + strings.Repeat("AB", 32) + `"},
    {"@type": "DataDownload", "contentUrl": "ftp://d.example/rain"}, {"contentUrl": "http://e.example/rain 2.zip", "contentSize": "3 MB"}]
}`, []string{"json-ld|https://doi.org/10.5072/rain.1|https://d.example/sets/rain||Rain in Freiburg|Daily sums|https://creativecommons.org/licenses/by/4.0/|Example Office|" +
			"[A. Author Met]|[WEATHER > RAIN daily]|2026-01-02|2026-03-04|3|[https://d.example/sets/rain.csv CSV 1234 abab http://e.example/rain%202.zip  -1 ]|[{date  } {mm  height}]"}},
		{"a graph with references", `{"@context": {"s": "http://schema.org/"}, "@graph": [
  {"@id": "#f", "@type": "s:DataDownload", "s:contentUrl": {"@id": "/a.csv"}},
  {"@id": "#org", "@type": "s:Organization", "s:name": {"@value": "Org", "@language": "en"}},
  {"@id": "_:b0", "@type": ["s:Dataset", "s:CreativeWork"], "s:name": [{"@value": "A"}], "s:distribution": {"@id": "#f"}, "s:publisher": {"@id": "#org"}, "s:license": {"@id": "https://spdx.org/licenses/MIT"}},
  {"@type": "s:WebPage", "s:mainEntity": {"@type": "s:Dataset", "s:name": "B", "s:keywords": "x, y ,"}},
  {"@type": "s:BreadcrumbList"}]}`, []string{
			"json-ld||https://d.example/sets/rain.html||A||https://spdx.org/licenses/MIT|Org|[]|[]||||[https://d.example/a.csv  -1 ]|[]",
			"json-ld||https://d.example/sets/rain.html||B||||[]|[x y]||||[]|[]"}},
		{"expanded", `[{"@id": "https://d.example/id/7", "@type": ["http://schema.org/Dataset"], "http://schema.org/name": [{"@value": "E"}],
  "http://schema.org/distribution": [{"http://schema.org/contentUrl": [{"@id": "http://d.example/e"}]}]}]`,
			[]string{"json-ld|https://d.example/id/7|https://d.example/sets/rain.html||E||||[]|[]||||[http://d.example/e  -1 ]|[]"}},
		{"Croissant 1.0", `{"@context": {"@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/", "cr": "http://mlcommons.org/croissant/"},
  "@type": "sc:Dataset", "name": "flowers", "conformsTo": "http://mlcommons.org/croissant/1.0", "license": "CC-BY-4.0", "version": "1.0.0",
  "distribution": [{"@type": "cr:FileObject", "@id": "f.csv", "name": "f.csv", "contentUrl": "https://d.example/f.csv", "encodingFormat": "text/csv", "contentSize": "48 B", "sha256": "` + strings.Repeat("cd", 32) + `"},
    {"@type": "cr:FileSet", "@id": "images", "includes": "*.jpg"}],
  "recordSet": [{"@type": "cr:RecordSet", "field": [{"@type": "cr:Field", "name": "width", "description": "cm", "dataType": "sc:Float"}]}]}`,
			[]string{"croissant||https://d.example/sets/rain.html||flowers||CC-BY-4.0||[]|[]|||1.0.0|[https://d.example/f.csv text/csv 48 cdcd]|[{width Float cm}]"}},
		{"Project Open Data", `{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "@type": "dcat:Catalog", "dataset": [
  {"@type": "dcat:Dataset", "title": "Parks", "description": "All", "keyword": ["park"], "modified": "2026-05-05", "publisher": {"@type": "org:Organization", "name": "City"},
   "contactPoint": {"fn": "J", "hasEmail": "mailto:j@d.example"}, "identifier": "https://d.example/id/parks", "accessLevel": "public", "license": "https://opendatacommons.org/licenses/odbl/1-0/",
   "landingPage": "https://d.example/parks", "distribution": [{"@type": "dcat:Distribution", "downloadURL": "https://d.example/parks.json", "mediaType": "application/json"}, {"accessURL": "https://d.example/api"}]},
  {"title": "Untyped", "accessLevel": "public", "distribution": [{"downloadURL": "https://d.example/u.csv", "license": "CC0-1.0"}]}]}`, []string{
			"dcat|https://d.example/id/parks|https://d.example/parks||Parks|All|https://opendatacommons.org/licenses/odbl/1-0/|City|[]|[park]||2026-05-05||[https://d.example/parks.json application/json -1  https://d.example/api  -1 ]|[]",
			"dcat||https://d.example/sets/rain.html||Untyped||CC0-1.0||[]|[]||||[https://d.example/u.csv  -1 ]|[]"}},
		{"DCAT 3 as JSON-LD", `{"@context": {"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/"}, "@id": "https://d.example/cat", "@type": "dcat:Catalog",
  "dcat:dataset": [{"@id": "https://d.example/set/1", "@type": "dcat:Dataset", "dct:title": [{"@language": "de", "@value": "Bäume"}], "dct:issued": {"@type": "xsd:date", "@value": "2026-01-01"},
   "dcat:distribution": {"@type": "dcat:Distribution", "dct:license": {"@id": "http://creativecommons.org/publicdomain/zero/1.0/"}, "dcat:downloadURL": {"@id": "https://d.example/t.csv"},
     "dcat:mediaType": {"@id": "https://www.iana.org/assignments/media-types/text/csv"}, "dcat:byteSize": {"@type": "xsd:decimal", "@value": "5120.0"},
     "spdx:checksum": {"spdx:algorithm": {"@id": "spdx:checksumAlgorithm_md5"}, "spdx:checksumValue": "` + strings.Repeat("0f", 16) + `"}}}]}`,
			[]string{"dcat|https://d.example/set/1|https://d.example/sets/rain.html||Bäume||http://creativecommons.org/publicdomain/zero/1.0/||[]|[]|2026-01-01|||[https://d.example/t.csv text/csv 5120 0f0f]|[]"}},
		{"Frictionless", `{"name": "pkg", "id": "doi:10.5072/PKG", "title": "Package", "licenses": [{"name": "ODC-By-1.0", "path": "x"}], "homepage": "https://d.example/",
  "contributors": [{"title": "W", "role": "author"}, {"title": "P", "roles": ["publisher"]}], "created": "2026-06-06T00:00:00Z", "version": "2", "keywords": ["k"],
  "resources": [{"name": "a", "path": "data/a.csv", "mediatype": "text/csv", "bytes": 77, "hash": "sha256:` + strings.Repeat("12", 32) + `", "schema": {"fields": [{"name": "x", "type": "integer"}]}},
    {"name": "b", "path": ["b1.csv", "b2.csv"], "format": "csv", "hash": "` + strings.Repeat("34", 16) + `"}, {"name": "inline", "data": [1]}, {"path": "/etc/passwd"}]}`,
			[]string{"datapackage|https://doi.org/10.5072/pkg|https://d.example/|pkg|Package||ODC-By-1.0|P|[W]|[k]|2026-06-06T00:00:00Z||2|" +
				"[https://d.example/sets/data/a.csv text/csv 77 1212 https://d.example/sets/b1.csv csv -1  https://d.example/sets/b2.csv csv -1  https://d.example/etc/passwd  -1 ]|[{x integer }]"}},
	} {
		claims := read(t, page1, c.body)
		var got []string
		for _, claim := range claims {
			got = append(got, show(claim))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

func TestJSONWithoutDatasets(t *testing.T) {
	for _, body := range []string{`{}`, `[]`, `"x"`, `{"@type": "Article", "name": "x"}`, `{"@type": "Dataset"}`, `{"resources": [1]}`, `{"isPartOf": {"@type": "Dataset", "name": "x"}}`} {
		if claims, err := ReadJSON([]byte(body), page1); !errors.Is(err, ErrNoDatasets) {
			t.Errorf("%s: %v, %v", body, claims, err)
		}
	}
	for _, body := range []string{"", "<html>", `{"@type": "Dataset", "name": "x`} {
		if claims, err := ReadJSON([]byte(body), page1); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v, %v", body, claims, err)
		}
	}
}

func TestJSONLimits(t *testing.T) {
	one := `{"@type":"Dataset","name":"x"}`
	for n, want := range map[int]int{MaxClaims: MaxClaims, MaxClaims + 1: MaxClaims} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"@type":"Dataset","name":"%d"}`, i))
		}
		body := `{"@graph":[` + strings.Join(all[:n/2], ",") + `],"dataset":[` + strings.Join(all[n/2:], ",") + `]}`
		if got := len(read(t, page1, body)); got != want {
			t.Errorf("%d datasets: %d read, want %d", n, got, want)
		}
	}
	if got := len(read(t, page1, `[`+one+`,`+one+`]`)); got != 1 {
		t.Errorf("a repeated dataset is read as %d", got)
	}
	long := strings.Repeat("é", maxText/2)
	if got := read(t, page1, `{"@type":"Dataset","name":"`+long+`"}`)[0].Title; got != long {
		t.Errorf("a text at the limit: %d bytes", len(got))
	}
	if got := read(t, page1, `{"@type":"Dataset","name":"x`+long+`"}`)[0].Title; len(got) > maxText || !strings.HasPrefix(got, "xé") {
		t.Errorf("a text past the limit: %d bytes", len(got))
	}
	deep := strings.Repeat(`{"@graph":[`, maxWalk) + one + strings.Repeat(`]}`, maxWalk)
	if claims, err := ReadJSON([]byte(deep), page1); !errors.Is(err, ErrNoDatasets) {
		t.Errorf("a dataset too deep: %v, %v", claims, err)
	}
	if _, err := ReadJSON([]byte(strings.Repeat("[", 1<<20)), page1); err == nil {
		t.Error("nesting without end is read")
	}
}

// Which of several licences applies is not guessed. A licence that is named in several ways is one
// licence.
func TestLicensesOfAList(t *testing.T) {
	for in, want := range map[string]string{
		`["https://creativecommons.org/licenses/by/4.0/", "CC BY 4.0"]`: "https://creativecommons.org/licenses/by/4.0/",
		`["MIT", "CC-BY-4.0"]`:                                                             "MIT; CC-BY-4.0",
		`["CC-BY-4.0", "see the terms"]`:                                                   "CC-BY-4.0; see the terms",
		`{"@type": "CreativeWork", "@id": "#l", "name": "CC BY 4.0"}`:                      "CC BY 4.0",
		`{"@type": "CreativeWork", "name": "CC BY 4.0", "url": "https://d.example/terms"}`: "CC BY 4.0",
		`{"@type": "CreativeWork", "name": "Our terms", "url": "https://d.example/terms"}`: "https://d.example/terms",
		`{"@id": "https://spdx.org/licenses/MIT"}`:                                         "https://spdx.org/licenses/MIT",
		`{"@value": "MIT"}`: "MIT",
		`[]`:                "",
	} {
		if got := read(t, page1, `{"@type":"Dataset","name":"x","license":`+in+`}`)[0].License; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`"licenses":[{"name":"own","path":"https://creativecommons.org/licenses/by/4.0/"}]`: "https://creativecommons.org/licenses/by/4.0/",
		`"licenses":[{"name":"own","title":"Ours"},{"name":"MIT"}]`:                         "own; MIT",
		`"license":"ODC-PDDL-1.0"`: "ODC-PDDL-1.0",
	} {
		if got := read(t, page1, `{"resources":[{"path":"a"}],`+in+`}`)[0].License; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	two := read(t, page1, `{"@type":"Dataset","name":"x","distribution":[{"contentUrl":"a","license":"MIT"},{"contentUrl":"b","license":"ISC"}]}`)[0]
	if two.License != "MIT; ISC" || SPDX(two.License) != "" {
		t.Errorf("two files under two licences: %q", two.License)
	}
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"@type":"Dataset","name":"x","distribution":{"contentUrl":"y"}}`))
	f.Add([]byte(`{"dataset":[{"title":"x","keyword":"a,b"}]}`))
	f.Add([]byte(`{"resources":[{"path":["a"],"hash":"md5:1"}]}`))
	f.Add([]byte(`{"@context":[{"ex":"https://e.example/","id":"@id","D":{"@id":"dcat:Dataset","@context":{"t":"dct:title"}}}],"id":"ex:1","@type":"D","t":"x","licence":"ex:l"}`))
	f.Add([]byte(`{"@graph":[{"@id":"#a","@type":"Dataset","distribution":{"@id":"#a"},"name":{"@id":"#a"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		claims, err := ReadJSON(body, page1)
		if (len(claims) == 0) != (err != nil) {
			t.Errorf("%d claims, error %v", len(claims), err)
		}
		for _, c := range claims {
			for _, file := range c.Files {
				if !strings.HasPrefix(file.URL, "http://") && !strings.HasPrefix(file.URL, "https://") {
					t.Errorf("file %q", file.URL)
				}
			}
		}
		for _, d := range Merge(claims) {
			if d.ID == "" || len(d.Sources) == 0 {
				t.Errorf("merged to %+v", d)
			}
		}
	})
}
