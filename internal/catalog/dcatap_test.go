package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Documents with the forms of DCAT-AP that portals write: language maps, arrays with languages,
// references by string, distributions that are only accessible through a page, graphs.
func TestDCATAP(t *testing.T) {
	all, err := filepath.Glob("testdata/dcat-ap/*.jsonld")
	if err != nil || len(all) < 8 {
		t.Fatal(all, err)
	}
	read := 0
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := ReadJSON(b, Document{URL: "https://d.example/catalog.jsonld", Fetched: at})
		if err != nil || len(claims) != 1 {
			t.Errorf("%s: %d claims, %v", name, len(claims), err)
			continue
		}
		c := claims[0]
		if (c.Title != "Rain" && c.Title != "Pluie") || SPDX(c.License) == "" || len(c.Files) == 0 || c.Files[0].URL == "" {
			t.Errorf("%s: title %q, licence %q, files %+v", name, c.Title, c.License, c.Files)
			continue
		}
		for _, f := range c.Files {
			if download := strings.Contains(string(b), `downloadURL`); f.Directory && download && !strings.HasSuffix(f.URL, "/api") || !f.Directory && !download {
				t.Errorf("%s: %+v", name, f)
			}
		}
		read++
	}
	t.Logf("%d of %d are read with title, licence and files", read, len(all))
}

func TestDCATAPDetails(t *testing.T) {
	b, err := os.ReadFile("testdata/dcat-ap/language-map.jsonld")
	if err != nil {
		t.Fatal(err)
	}
	claims, err := ReadJSON(b, Document{URL: "https://d.example/"})
	if err != nil {
		t.Fatal(err)
	}
	c := claims[0]
	if c.Description != "How much fell." || strings.Join(c.Keywords, ",") != "weather,rain" || c.Publisher != "Weather Office" || c.Files[0].Name != "Rain as CSV" {
		t.Errorf("%+v", c)
	}
	if b, err = os.ReadFile("testdata/dcat-ap/string-references.jsonld"); err != nil {
		t.Fatal(err)
	}
	if claims, err = ReadJSON(b, Document{URL: "https://d.example/"}); err != nil {
		t.Fatal(err)
	}
	if c = claims[0]; c.Publisher != "Weather Office" || len(c.Files[0].SHA256) != 64 || c.License != "CC BY 4.0" {
		t.Errorf("%+v", c)
	}
	// A value that is not a language map is read as before.
	for _, v := range []string{`{"name": "Rain"}`, `{"fn": "Rain"}`, `{"@value": "Rain"}`, `["Rain", {"en": "Snow"}]`, `{"de": "Regen", "en-GB": "Rain", "es": "x"}`} {
		claims, err := ReadJSON([]byte(`{"@type": "Dataset", "name": `+v+`}`), Document{URL: "https://d.example/"})
		if err != nil || claims[0].Title != "Rain" {
			t.Errorf("%s: %+v, %v", v, claims, err)
		}
	}
	for _, v := range []string{`{"en": 5}`, `{"en": {"x": "y"}}`, `{}`, `{"english": "x"}`} {
		if claims, err := ReadJSON([]byte(`{"@type": "Dataset", "name": `+v+`}`), Document{URL: "https://d.example/"}); err == nil {
			t.Errorf("%s: %+v", v, claims)
		}
	}
}

// A map with more than maxLanguages entries is not a language map.
func TestLanguagesLimit(t *testing.T) {
	for n, want := range map[int]int{maxLanguages: 1, maxLanguages + 1: 0} {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("en-%d", i)] = "Rain"
		}
		b, err := json.Marshal(map[string]any{"@type": "Dataset", "name": m})
		if err != nil {
			t.Fatal(err)
		}
		if claims, _ := ReadJSON(b, Document{URL: "https://d.example/"}); len(claims) != want {
			t.Errorf("%d languages: %+v", n, claims)
		}
	}
}

// Several datasets are not joined because they are accessible through the same page.
func TestAccessJoinsNothing(t *testing.T) {
	claim := func(document, title string) crawl.DatasetClaim {
		return crawl.DatasetClaim{Kind: crawl.DatasetDCAT, Document: document, Origin: "https://d.example", Title: title, Allowed: true,
			Files: []crawl.DatasetFile{{URL: "https://d.example/portal", Directory: true}}}
	}
	if got := Merge([]crawl.DatasetClaim{claim("https://d.example/1", "one"), claim("https://d.example/2", "two")}); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	// This does not change if one of them is known by a name.
	with, without := claim("https://d.example/1", "one"), claim("https://d.example/1", "one")
	with.Files = files("https://d.example/x.csv")
	without.Files = append(without.Files, with.Files...)
	if a, b := Merge([]crawl.DatasetClaim{with})[0], Merge([]crawl.DatasetClaim{without})[0]; a.ID != b.ID {
		t.Errorf("ID %s, with a page that leads to it %s", a.ID, b.ID)
	}
}
