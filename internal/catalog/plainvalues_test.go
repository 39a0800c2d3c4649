package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// one reads a page with one dataset that has these members besides its name.
func one(t *testing.T, members string) crawl.DatasetClaim {
	t.Helper()
	return only(t, page1, `{"@context": "https://schema.org/", "@type": "Dataset", "name": "x", `+members+`}`)
}

func only(t *testing.T, doc Document, body string) crawl.DatasetClaim {
	t.Helper()
	claims := read(t, doc, body)
	if len(claims) != 1 {
		t.Fatalf("%d datasets in %s", len(claims), body)
	}
	return claims[0]
}

func addresses(c crawl.DatasetClaim) string {
	var all []string
	for _, f := range c.Files {
		s := strings.TrimPrefix(f.URL, "https://d.example")
		if f.Directory {
			s += " (access)"
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// The files of a dataset, in all the ways in which publishers write them.
func TestWaysOfFiles(t *testing.T) {
	for in, want := range map[string]string{
		`"/f.csv"`:                     "/f.csv",
		`"https://d.example/f.csv"`:    "/f.csv",
		`" https://d.example/f 1.csv"`: "/f%201.csv",
		`["/f.csv", "/g.csv"]`:         "/f.csv, /g.csv",
		`[["/f.csv"], [["/g.csv"]]]`:   "/f.csv, /g.csv",
		`"CSV"`:                        "",
		`{"@value": "/f.csv"}`:         "/f.csv",
		`{"@list": [{"contentUrl": "/f.csv"}, {"contentUrl": "/g.csv"}]}`:                            "/f.csv, /g.csv",
		`{"@set": [{"contentUrl": "/f.csv"}]}`:                                                       "/f.csv",
		`{"@list": [{"@set": ["/f.csv"]}, null, [{"@list": ["/g.csv"]}]]}`:                           "/f.csv, /g.csv",
		`{"@type": "DataDownload", "contentUrl": ["/f.csv", "/g.csv", "/f.csv"]}`:                    "/f.csv, /g.csv",
		`{"@type": "DataDownload", "contentUrl": {"@list": ["/f.csv", "/g.csv"]}}`:                   "/f.csv, /g.csv",
		`{"@type": "DataDownload", "contentUrl": [{"@id": "/f.csv"}]}`:                               "/f.csv",
		`{"@type": "DataDownload", "contentUrl": {"@type": "URL", "@value": "f.csv"}}`:               "/sets/f.csv",
		`{"@type": "DataDownload", "contentUrl": {"@type": "URL", "url": "/f.csv"}}`:                 "/f.csv",
		`{"@type": "DataDownload", "contentUrl": ["ftp://d.example/f", "/f.csv"]}`:                   "/f.csv",
		`{"@type": "DataDownload", "url": "/f.csv"}`:                                                 "/f.csv",
		`{"@type": "DataDownload", "url": "/about", "contentUrl": "/f.csv"}`:                         "/f.csv",
		`{"@type": "DataDownload", "url": "/about", "contentUrl": "ftp://x.example/"}`:               "",
		`{"@type": "DataDownload", "contentUrl": "", "downloadURL": "/f.csv"}`:                       "/f.csv",
		`{"@type": "dcat:Distribution", "dcat:downloadURL": [{"@id": "/f.csv"}, {"@id": "/g.csv"}]}`: "/f.csv, /g.csv",
		`{"@type": "dcat:Distribution", "dcat:accessURL": ["/a", "/b"]}`:                             "/a (access), /b (access)",
		`{"@type": "dcat:Distribution", "url": "/about"}`:                                            "",
		`{"@type": "cr:FileObject", "contentUrl": "/x", "encodingFormat": "git+https"}`:              "",
		`true`: "", `7`: "", `{}`: "", `[null, {"@list": []}]`: "", `""`: "", `"_:b0"`: "", `"#f"`: "",
	} {
		if got := addresses(one(t, `"distribution": `+in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	// In DCAT, a text may be the name of a node that is described elsewhere.
	c := only(t, page1, `{"@type": "dcat:Dataset", "dct:title": "T", "dcat:distribution": ["https://d.example/dist/1"]}`)
	if got := addresses(c); got != "/dist/1 (access)" {
		t.Errorf("a name in DCAT: %q", got)
	}
	// References to nodes, in each form.
	for _, ref := range []string{`"#d"`, `{"@id": "#d"}`, `["#d"]`, `{"@list": [{"@id": "#d"}]}`, `{"@set": ["#d"]}`} {
		c := only(t, page1, `{"@graph": [{"@type": "Dataset", "name": "x", "distribution": `+ref+`}, {"@id": "#d", "contentUrl": {"@id": "#u"}}, {"@id": "#u", "url": "/f.csv"}]}`)
		if got := addresses(c); got != "/f.csv" {
			t.Errorf("%s: %q", ref, got)
		}
	}
}

// What CKAN writes into its pages.
func TestCKANPage(t *testing.T) {
	c := only(t, page1, `{"@context": {"schema": "http://schema.org/"}, "@graph": [
  {"@id": "https://d.example/dataset/x/resource/1", "@type": "schema:DataDownload", "schema:encodingFormat": "CSV", "schema:name": "the table", "schema:url": "https://d.example/f.csv", "schema:contentSize": 8},
  {"@id": "https://d.example/dataset/x", "@type": "schema:Dataset", "schema:name": "X", "schema:distribution": {"@id": "https://d.example/dataset/x/resource/1"}, "schema:url": "https://d.example/dataset/x",
   "schema:creator": {"@id": "https://d.example/org"}},
  {"@id": "https://d.example/org", "@type": "schema:Organization", "schema:legalName": "The Office"}]}`)
	if f := c.Files[0]; len(c.Files) != 1 || f.URL != "https://d.example/f.csv" || f.Directory || *f.Bytes != 8 || f.MediaType != "CSV" || f.Name != "the table" || fmt.Sprint(c.Creators) != "[The Office]" {
		t.Errorf("%+v", c)
	}
}

// Texts in several languages: English or no language, else the document's, else the first.
func TestWaysOfTexts(t *testing.T) {
	for in, want := range map[string]string{
		`"name": [{"@value": "Deutsch", "@language": "de"}, {"@value": "English", "@language": "en"}]`:                             "English",
		`"name": {"@list": [{"@value": "Deutsch", "@language": "de"}, {"@value": "English", "@language": "en-GB"}]}`:               "English",
		`"name": [{"@value": "Français", "@language": "fr"}, {"@value": "Deutsch", "@language": "de"}]`:                            "Français",
		`"@context": {"@language": "de"}, "name": [{"@value": "Français", "@language": "fr"}, {"@value": "D", "@language": "de"}]`: "D",
		`"@context": {"@language": "de"}, "name": ["Deutsch", {"@value": "English", "@language": "EN"}]`:                           "English",
		`"@context": {"@language": "de"}, "name": {"fr": "Français", "de": "Deutsch"}`:                                             "Deutsch",
		`"name": {"de": ["Deutsch"], "en": ["English"]}`:                                                                           "English",
		`"name": {"pt_BR": "Chuva", "sv": "Regn"}`:                                                                                 "Chuva",
		`"name": {"@none": "Plain", "de": "Deutsch"}`:                                                                              "Plain",
		`"name": ["Plain", {"@value": "English", "@language": "en"}]`:                                                              "Plain",
		`"name": [[["Deep"]]]`:                      "Deep",
		`"name": {"@value": {"@value": "Wrapped"}}`: "Wrapped",
		`"name": 2020`:                              "2020",
		`"name": "", "title": "Title"`:              "Title",
		`"title": null, "name": "Name"`:             "Name",
		`"title": false, "name": ["", "Name"]`:      "Name",
		`"name": {"@type": "Text", "value": "V"}`:   "V",
	} {
		if c := only(t, page1, `{"@type": "Dataset", "distribution": "/f.csv", `+in+`}`); c.Title != want {
			t.Errorf("%s: %q, want %q", in, c.Title, want)
		}
	}
	for in, want := range map[string]string{
		`"a, b"`: "a|b", `"a; b"`: "a|b", `"a; b, c"`: "a; b|c", `["a", ["b"]]`: "a|b",
		`[{"@type": "DefinedTerm", "name": "rain", "inDefinedTermSet": "x"}, "snow"]`:                              "rain|snow",
		`[{"@value": "Regen", "@language": "de"}, {"@value": "rain", "@language": "en"}, {"@id": "_:x"}, 7, true]`: "rain|7",
	} {
		if got := strings.Join(one(t, `"keywords": `+in).Keywords, "|"); got != want {
			t.Errorf("keywords %s: %q, want %q", in, got, want)
		}
	}
}

func TestWaysOfPeople(t *testing.T) {
	for in, want := range map[string]string{
		`"creator": "Jane Doe"`: "Jane Doe", `"creator": ["Jane", "Rik"]`: "Jane|Rik",
		`"creator": {"@list": [{"@type": "Person", "name": "Jane"}, {"@type": "Person", "name": "Rik"}]}`:                          "Jane|Rik",
		`"creator": {"@type": "Person", "givenName": "Jane", "familyName": "Doe"}`:                                                 "Jane Doe",
		`"creator": {"@type": "Person", "familyName": "Doe"}`:                                                                      "Doe",
		`"creator": {"foaf:firstName": "Jane", "foaf:surname": "Roe", "foaf:lastName": "Doe"}`:                                     "Jane Doe",
		`"creator": {"@type": "Person", "name": ["Jane Doe", "J. Doe"], "affiliation": {"name": "Uni"}}`:                           "Jane Doe",
		`"creator": {"@type": "Person", "affiliation": {"name": "Uni"}}`:                                                           "",
		`"creator": {"@type": "Role", "roleName": "x", "creator": {"name": "Jane"}}`:                                               "Jane",
		`"creator": [{"@type": "Role", "creator": {"@list": [{"name": "Jane"}, "Rik"]}}, "Bo"]`:                                    "Jane|Rik|Bo",
		`"author": {"@type": "Role", "author": {"@type": "Role", "author": "Jane"}}`:                                               "Jane",
		`"creator": [], "author": "Jane"`:                                                                                          "Jane",
		`"creator": {"@type": "Person"}, "author": [{"name": "Jane"}]`:                                                             "Jane",
		`"creator": {"@id": "https://orcid.org/0000-0001"}`:                                                                        "https://orcid.org/0000-0001",
		`"creator": {"@type": "Organization", "legalName": "Office"}`:                                                              "Office",
		`"creator": [{"@value": "Amt", "@language": "de"}, {"@value": "Office", "@language": "en"}]`:                               "Office",
		`"creator": {"@type": "Organization", "name": [{"@value": "Amt", "@language": "de"}, {"@value": "O", "@language": "en"}]}`: "O",
	} {
		if got := strings.Join(one(t, in).Creators, "|"); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	if c := one(t, `"publisher": {"@list": [{"@type": "Organization", "name": {"de": "Amt", "en": "Office"}}]}`); c.Publisher != "Office" {
		t.Errorf("publisher %q", c.Publisher)
	}
}

// Lists are read up to their limit, whatever contains them.
func TestPlainValuesLimit(t *testing.T) {
	for n, want := range map[int]int{maxFiles: maxFiles, maxFiles + 1: maxFiles} {
		all := strings.TrimSuffix(strings.Repeat(`"k",`, n), ",")
		for _, in := range []string{"[" + all + "]", `{"@list": [` + all + `]}`, `[["k"], [` + all + "]]"} {
			if got := len(one(t, `"keywords": `+in).Keywords); got != want && got != min(n+1, maxFiles) {
				t.Errorf("%d values in %.12s: %d read", n, in, got)
			}
		}
	}
	for depth, want := range map[int]string{maxWalk: "x", maxWalk + 1: ""} {
		if got := one(t, `"version": `+strings.Repeat("[", depth)+`"x"`+strings.Repeat("]", depth)).Version; got != want {
			t.Errorf("a list %d deep: %q, want %q", depth, got, want)
		}
	}
}

func TestWaysOfIdentifiers(t *testing.T) {
	const doi = "https://doi.org/10.5281/zenodo.1"
	for in, want := range map[string]string{
		`"identifier": "https://www.doi.org/10.5281/zenodo.1"`: doi, `"url": "https://doi.org/10.5281/zenodo.1"`: doi, `"sameAs": ["https://x.example/1", "doi:10.5281/ZENODO.1"]`: doi,
		`"identifier": {"@type": "PropertyValue", "propertyID": "DOI", "value": "10.5281/zenodo.1"}`:                           doi,
		`"identifier": {"@type": "PropertyValue", "name": "DOI: 10.5281/zenodo.1"}`:                                            doi,
		`"identifier": {"@type": "PropertyValue", "propertyID": "x", "value": "7", "url": "https://doi.org/10.5281/zenodo.1"}`: doi,
		`"identifier": {"@list": ["7", {"@value": "10.5281/zenodo.1"}]}`:                                                       doi,
		`"identifier": {"@id": "https://doi.org/10.5281/zenodo.1", "@type": "PropertyValue", "value": "7"}`:                    doi,
		`"@id": "https://doi.org/10.5281/zenodo.1", "identifier": "https://x.example/1"`:                                       doi,
		`"adms:identifier": {"skos:notation": {"@type": "xsd:anyURI", "@value": "https://doi.org/10.5281/zenodo.1"}}`:          doi,
		`"doi": "10.5281/zenodo.1"`:                             doi,
		`"identifier": "https://n2t.net/ark:/12345/x"`:          "https://n2t.net/ark:/12345/x",
		`"identifier": "https://hdl.handle.net/11234/1-1"`:      "https://hdl.handle.net/11234/1-1",
		`"identifier": "local-7", "url": "https://d.example/x"`: "",
		`"identifier": 7`: "",
		`"identifier": {"@type": "PropertyValue", "value": "local"}`:    "",
		`"identifier": ["https://x.example/1", "https://x.example/2"]`:  "https://x.example/1",
		`"identifier": "hash://sha256/` + strings.Repeat("0", 64) + `"`: "",
		`"identifier": "_:b0"`: "",
	} {
		if got := one(t, in).ID; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	// A DOI is not the page for people when the description stands in one.
	if c := one(t, `"url": "https://doi.org/10.5281/zenodo.1"`); c.Page != page1.URL {
		t.Errorf("page %q", c.Page)
	}
}
