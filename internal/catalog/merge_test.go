package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

func files(urls ...string) (all []crawl.DatasetFile) {
	for _, u := range urls {
		all = append(all, crawl.DatasetFile{URL: u})
	}
	return all
}

// Three documents about one dataset, and neighbours that must stay apart.
func TestMerge(t *testing.T) {
	rows := int64(150)
	other := int64(151)
	claims := []crawl.DatasetClaim{
		{Kind: crawl.DatasetDCAT, Document: "https://portal.example/data.json", Origin: "https://portal.example", Title: "IRIS ", License: "CC0-1.0", Files: files("https://d.example/iris.csv"), Rows: &other, Allowed: true},
		{Kind: crawl.DatasetDataTxt, Document: "https://d.example/data.txt", Origin: "https://d.example", Line: 1, License: "https://creativecommons.org/licenses/by/4.0/", Files: files("https://d.example/iris.csv"), Rows: &rows, Allowed: true},
		{Kind: crawl.DatasetDataTxt, Document: "https://d.example/data.txt", Origin: "https://d.example", Line: 4, N: 1, Name: "copy", Files: files("https://d.example/iris.csv"), Allowed: true},
		{Kind: crawl.DatasetJSONLD, Document: "https://d.example/iris.html", Origin: "https://d.example", Title: "Iris", License: "CC BY 4.0", Page: "https://d.example/iris.html",
			Files: []crawl.DatasetFile{{URL: "https://d.example/iris.csv", MediaType: "text/csv", SHA256: "ab"}}, Allowed: true},
		{Kind: crawl.DatasetJSONLD, Document: "https://d.example/other.html", Origin: "https://d.example", Title: "Iris", Page: "https://d.example/other.html", Allowed: true},
		{Kind: crawl.DatasetDCAT, Document: "https://portal.example/data.json", Origin: "https://portal.example", N: 1, Title: "By page", Page: "https://d.example/other.html", Allowed: true},
	}
	want := Merge(claims)
	if len(want) != 3 {
		t.Fatalf("%d datasets, want 3: %+v", len(want), want)
	}
	byFirst := map[string]crawl.DatasetInfo{}
	for _, d := range want {
		byFirst[fmt.Sprint(d.Line)] = d
	}
	d := byFirst["1"]
	if d.Title != "Iris" || d.Provenance["title"] != "https://d.example/iris.html" || *d.Rows != 150 || d.SPDX == nil || *d.SPDX != "CC-BY-4.0" || len(d.Sources) != 3 || d.Name != "iris.csv" {
		t.Errorf("%+v", d)
	}
	if f := d.Files[0]; len(d.Files) != 1 || f.MediaType != "text/csv" || f.SHA256 != "ab" {
		t.Errorf("files %+v", d.Files)
	}
	conflicts := map[string][]crawl.DatasetSaid{
		"license": {{Value: "CC0-1.0", Document: "https://portal.example/data.json"}}, "rows": {{Value: "151", Document: "https://portal.example/data.json"}},
	}
	if fmt.Sprint(d.Conflicts) != fmt.Sprint(conflicts) {
		t.Errorf("conflicts %v, want %v", d.Conflicts, conflicts)
	}
	if two := byFirst["4"]; two.Name != "copy" || two.ID == d.ID {
		t.Errorf("two datasets of one path: %q and %q, %+v", d.ID, two.ID, two)
	}
	if p := byFirst["0"]; len(p.Sources) != 2 || p.Title != "Iris" || len(p.Conflicts["title"]) != 1 {
		t.Errorf("by page: %+v", p)
	}
	for range 50 { // whatever the order
		rand.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		if got := Merge(claims); fmt.Sprintf("%+v", plainInfos(got)) != fmt.Sprintf("%+v", plainInfos(want)) {
			t.Fatalf("another order, another result:\n%+v\n%+v", got, want)
		}
	}
}

// plainInfos leaves pointers out.
func plainInfos(all []crawl.DatasetInfo) []crawl.DatasetInfo {
	all = slices.Clone(all)
	for i := range all {
		all[i].Rows, all[i].Cols, all[i].SPDX = nil, nil, nil
	}
	return all
}

func TestMergeByIdentifier(t *testing.T) {
	doi := "https://doi.org/10.5072/x"
	got := Merge([]crawl.DatasetClaim{
		{Kind: crawl.DatasetJSONLD, Document: "https://a.example/", ID: doi, Title: "X", Files: files("https://a.example/1"), Allowed: true},
		{Kind: crawl.DatasetJSONLD, Document: "https://a.example/", N: 1, ID: doi, Title: "X", Files: files("https://a.example/2"), Allowed: true},
		{Kind: crawl.DatasetJSONLD, Document: "https://b.example/", ID: doi, Title: "X", Files: files("https://b.example/1"), Allowed: false},
	})
	if len(got) != 1 || len(got[0].URLs) != 3 || len(got[0].Sources) != 2 || got[0].Allowed {
		t.Errorf("%+v", got)
	}
}

func TestSPDX(t *testing.T) {
	for in, want := range map[string]string{
		"cc-by-4.0": "CC-BY-4.0", "CC BY 4.0": "CC-BY-4.0", "CC-BY": "", "Creative Commons": "", "CC BY-NC-SA 3.0": "CC-BY-NC-SA-3.0",
		"Creative Commons Attribution 4.0 International":                    "CC-BY-4.0",
		"Creative Commons Attribution-ShareAlike 4.0 International License": "CC-BY-SA-4.0",
		"Creative Commons Attribution Non Commercial Share Alike 4.0":       "CC-BY-NC-SA-4.0",
		"CC0":               "",
		"CC0 1.0 Universal": "CC0-1.0",
		"http://creativecommons.org/licenses/by-sa/3.0":                             "CC-BY-SA-3.0",
		"https://creativecommons.org/licenses/by/4.0/deed.de":                       "CC-BY-4.0",
		"https://creativecommons.org/licenses/by/3.0/de/":                           "CC-BY-3.0-DE",
		"https://creativecommons.org/licenses/by/3.0/xx/":                           "",
		"https://creativecommons.org/publicdomain/zero/1.0/legalcode":               "CC0-1.0",
		"https://creativecommons.org/licenses/by/":                                  "",
		"https://spdx.org/licenses/ODbL-1.0.html":                                   "ODbL-1.0",
		"http://www.opendatacommons.org/licenses/pddl/1.0/":                         "PDDL-1.0",
		"https://opensource.org/licenses/MIT":                                       "MIT",
		"http://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/": "OGL-UK-3.0",
		"https://www.govdata.de/dl-de/by-2-0":                                       "DL-DE-BY-2.0",
		"Apache  License,  Version 2.0":                                             "Apache-2.0",
		"GPL":                                                                       "",
		"All rights reserved":                                                       "",
		"free to use":                                                               "",
		"":                                                                          "",
		"https://d.example/license":                                                 "",
		"CC BY 4.0 3.0":                                                             "",
		"ccc by 4.0":                                                                "",
		"https://creativecommons.org/licenses/by-nc-nd/9.9/":                        "",
		"https://publications.europa.eu/resource/authority/licence/CC_BY_4_0":       "CC-BY-4.0",
		"http://www.apache.org/licenses/LICENSE-2.0":                                "Apache-2.0",
		"Open Data Commons Open Database License (ODbL) v1.0":                       "ODbL-1.0",
		"Creative Commons Attribution 4.0 International (CC BY 4.0)":                "CC-BY-4.0",
		"https://creativecommons.org/publicdomain/mark/1.0/":                        "CC-PDM-1.0",
	} {
		if got := SPDX(in); got != want {
			t.Errorf("SPDX(%q) = %q, want %q", in, got, want)
		}
	}
}
