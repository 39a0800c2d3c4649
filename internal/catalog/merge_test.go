package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

func files(urls ...string) (all []crawl.DatasetFile) {
	for _, u := range urls {
		all = append(all, crawl.DatasetFile{URL: u})
	}
	return all
}

// Three documents about one dataset, and similar datasets that must stay separate.
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
	if d.Title != "Iris" || d.Provenance["title"] != "https://d.example/iris.html" || *d.Rows != 150 || d.SPDX == nil || *d.SPDX != "CC-BY-4.0" || len(d.Sources) != 2 || len(d.AlsoDescribedAt) != 1 || d.Name != "iris.csv" {
		t.Errorf("%+v", d)
	}
	if f := d.Files[0]; len(d.Files) != 1 || f.MediaType != "text/csv" || f.SHA256 != "ab" {
		t.Errorf("files %+v", d.Files)
	}
	conflicts := map[string][]crawl.DatasetStatement{
		"license": {{Value: "CC0-1.0", Document: "https://portal.example/data.json"}}, "rows": {{Value: "151", Document: "https://portal.example/data.json"}},
	}
	if fmt.Sprint(d.Conflicts) != fmt.Sprint(conflicts) {
		t.Errorf("conflicts %v, want %v", d.Conflicts, conflicts)
	}
	if two := byFirst["4"]; two.Name != "copy" || two.ID == d.ID {
		t.Errorf("two datasets of one path: %q and %q, %+v", d.ID, two.ID, two)
	}
	if p := byFirst["0"]; len(p.Sources) != 1 || len(p.AlsoDescribedAt) != 1 || p.Title != "Iris" || len(p.Conflicts["title"]) != 1 {
		t.Errorf("by page: %+v", p)
	}
	for range 50 { // in any order
		rand.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		if got := Merge(claims); fmt.Sprintf("%+v", plainInfos(got)) != fmt.Sprintf("%+v", plainInfos(want)) {
			t.Fatalf("another order, another result:\n%+v\n%+v", got, want)
		}
	}
}

// plainInfos replaces pointers.
func plainInfos(all []crawl.DatasetInfo) []crawl.DatasetInfo {
	all = slices.Clone(all)
	for i := range all {
		all[i].Rows, all[i].Cols, all[i].SPDX = nil, nil, nil
	}
	return all
}

// Ten thousand pages that repeat one claim give one dataset, quickly, with at most a hundred
// conflicts.
func TestMergeTwins(t *testing.T) {
	const n = 10_000
	var claims []crawl.DatasetClaim
	for i := range n {
		claims = append(claims, crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: fmt.Sprintf("https://a.example/%d", i), Origin: "https://a.example",
			Title: "Rivers", Publisher: fmt.Sprint(i % 1000), Files: files("https://a.example/x.csv", fmt.Sprintf("https://a.example/%d.csv", i/2)), Allowed: true})
	}
	got := Merge(claims)
	if len(got) != 1 || len(got[0].Sources) != n || len(got[0].Files) != n/2+1 || len(got[0].Conflicts["publisher"]) != maxConflicts {
		t.Errorf("%d datasets, %d sources, %d files, %d conflicts", len(got), len(got[0].Sources), len(got[0].Files), len(got[0].Conflicts["publisher"]))
	}
}

// Two claims with a file in common are joined, unless their identifiers or titles differ.
func TestMergeByFile(t *testing.T) {
	const doi, other = "https://doi.org/10.1234/trees", "https://doi.org/10.1234/water"
	claim := func(document, id, title string) crawl.DatasetClaim {
		return crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: "https://a.example/" + document, Origin: "https://a.example", ID: id, Title: title,
			Files: files("https://a.example/x.csv"), Allowed: true}
	}
	inDataTxt := func(title string) crawl.DatasetClaim {
		c := claim("data.txt", "", title)
		c.Kind, c.Line = crawl.DatasetDataTxt, 1
		return c
	}
	for name, tt := range map[string]struct {
		claims []crawl.DatasetClaim
		want   int
	}{
		"other titles":               {[]crawl.DatasetClaim{claim("1", "", "Water levels"), claim("2", doi, "Trees of the city")}, 2},
		"other identifiers":          {[]crawl.DatasetClaim{claim("1", other, "Trees"), claim("2", doi, "Trees")}, 2},
		"one identifier":             {[]crawl.DatasetClaim{claim("1", doi, "Trees"), claim("2", doi, "Arbres")}, 1},
		"no title":                   {[]crawl.DatasetClaim{claim("1", "", ""), claim("2", doi, "Trees")}, 1},
		"a longer title":             {[]crawl.DatasetClaim{claim("1", "", "Trees of the city"), claim("2", doi, "trees, of the City (2024)")}, 1},
		"the third like the second":  {[]crawl.DatasetClaim{claim("1", "", "Water"), claim("2", "", "Trees"), claim("3", "", "Trees")}, 2},
		"the third like the first":   {[]crawl.DatasetClaim{claim("1", "", "Water"), claim("2", "", "Trees"), claim("3", "", "Water")}, 2},
		"a title in a data.txt":      {[]crawl.DatasetClaim{inDataTxt("Water levels"), claim("2", doi, "Trees")}, 1},
		"a data.txt with only files": {[]crawl.DatasetClaim{inDataTxt(""), claim("1", other, "Water"), claim("2", doi, "Trees")}, 2},
		"no names join no others":    {[]crawl.DatasetClaim{claim("1", other, "Water"), claim("2", doi, "Trees"), claim("3", "", "")}, 2},
		"a short title of both":      {[]crawl.DatasetClaim{claim("1", "", "Trees of the city"), claim("2", "", "Trees of the park"), claim("3", "", "Trees")}, 2},
		"a DOI and another URL":      {[]crawl.DatasetClaim{claim("1", doi, "Trees"), claim("2", "https://a.example/trees", "Trees")}, 2},
		"titles of other characters": {[]crawl.DatasetClaim{claim("1", "", "水位"), claim("2", "", "树木")}, 2},
	} {
		if got := Merge(tt.claims); len(got) != tt.want {
			t.Errorf("%s: %d datasets, want %d", name, len(got), tt.want)
		}
	}
}

// Claims that name the same thousands of files and have different titles are compared once for each
// pair of them, up to maxDistinct for a claim, and not once for each file.
func TestMergeComparesPairsOnce(t *testing.T) {
	const shared = 500
	urls := make([]string, shared)
	for i := range urls {
		urls[i] = fmt.Sprintf("https://a.example/%d.csv", i)
	}
	comparisons := func(n int) (calls, groups int) {
		claims := make([]*crawl.DatasetClaim, n)
		for i := range claims {
			claims[i] = &crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: fmt.Sprintf("https://a.example/%d", i), Origin: "https://a.example",
				Title: fmt.Sprint("Title", i), Files: files(urls...), Allowed: true}
		}
		m := newMerger(claims)
		m.joinIf(func(*crawl.DatasetClaim) []string { return urls }, func(a, b int) bool {
			calls++
			return m.mayBeOne(a, b)
		})
		for i := range claims {
			if len(m.members[i]) > 0 {
				groups++
			}
		}
		return calls, groups
	}
	for _, n := range []int{maxDistinct, 2 * maxDistinct, 4 * maxDistinct} {
		if calls, groups := comparisons(n); calls > n*maxDistinct || groups != n {
			t.Errorf("%d claims with %d files each: %d comparisons, %d groups", n, shared, calls, groups)
		}
	}
}

// The names of a group are collected once, and again after it has grown.
func TestNamesAreCollectedOnce(t *testing.T) {
	m := newMerger([]*crawl.DatasetClaim{{Kind: crawl.DatasetJSONLD, Document: "1", Title: "Water"}, {Kind: crawl.DatasetJSONLD, Document: "2", Title: "Levels of the Water"},
		{Kind: crawl.DatasetJSONLD, Document: "3", Title: "Water of the lake"}})
	if m.differ(0, 1) || m.differ(0, 2) || !m.differ(1, 2) {
		t.Error("groups with different titles match, or groups with titles that are alike do not")
	}
	if n := testing.AllocsPerRun(10, func() { m.differ(0, 1) }); n > 0 {
		t.Errorf("a repeated comparison allocates %v times", n)
	}
	m.unite(0, 1)
	if !m.differ(0, 2) {
		t.Error("a group does not have the titles of all its claims")
	}
}

// If several datasets name one page, none of them is chosen.
func TestMergeByPage(t *testing.T) {
	const p = "https://d.example/about"
	claim := func(document, title string, urls ...string) crawl.DatasetClaim {
		return crawl.DatasetClaim{Kind: crawl.DatasetDCAT, Document: document, Title: title, Page: p, Files: files(urls...), Allowed: true}
	}
	second := claim("https://d.example/about", "two")
	second.N = 1
	for name, c := range map[string]struct {
		claims []crawl.DatasetClaim
		want   int
	}{
		"a page and one dataset":                    {[]crawl.DatasetClaim{claim("https://d.example/about", "one"), claim("https://d.example/", "one of all", "https://d.example/1")}, 1},
		"a page and a dataset of another title":     {[]crawl.DatasetClaim{claim("https://d.example/about", "one"), claim("https://d.example/", "a", "https://d.example/1")}, 2},
		"a page and a stranger's dataset":           {[]crawl.DatasetClaim{claim("https://d.example/about", "one"), claim("https://x.example/", "a", "https://d.example/1")}, 2},
		"a page and two datasets":                   {[]crawl.DatasetClaim{claim("https://d.example/about", "one"), claim("https://x.example/", "a", "https://d.example/1"), claim("https://y.example/", "b", "https://d.example/2")}, 3},
		"a page with two datasets, and one of them": {[]crawl.DatasetClaim{claim("https://d.example/about", "one"), second, claim("https://x.example/", "a", "https://d.example/1")}, 3},
		"none with files":                           {[]crawl.DatasetClaim{claim("https://d.example/about", "one"), claim("https://x.example/", "a"), claim("https://y.example/", "b")}, 1},
	} {
		if got := Merge(c.claims); len(got) != c.want {
			t.Errorf("%s: %d datasets, want %d", name, len(got), c.want)
		}
	}
}

// One file under several origins is one document, and its newest copy counts. A stranger's data.txt
// is trusted least.
func TestMergeCopiesAndStrangers(t *testing.T) {
	copied := func(origin, title string, hours int) crawl.DatasetClaim {
		return crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://d.example/data.txt", Line: 1, Origin: origin, Title: title, Files: files("https://d.example/a.csv"),
			Allowed: true, FetchedAt: at.Add(time.Duration(hours) * time.Hour)}
	}
	stranger := crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://a.example/data.txt", Line: 1, Origin: "https://a.example", Title: "Mine!", Files: files("https://d.example/a.csv"),
		Allowed: true, External: true, FetchedAt: at}
	portal := crawl.DatasetClaim{Kind: crawl.DatasetDCAT, Document: "https://p.example/data.json", Origin: "https://p.example", Title: "Portal's", Files: files("https://d.example/a.csv"), Allowed: true}
	more := copied("http://d.example", "newer", 2) // only the newer copy has this one
	more.N, more.Line, more.Files = 1, 2, files("https://d.example/b.csv")
	got := Merge([]crawl.DatasetClaim{stranger, copied("https://d.example", "older", 1), portal, copied("http://d.example", "newer", 2), more})
	if len(got) != 2 || got[0].Title != "newer" || got[0].Conflicts["title"][0].Value != "Portal's" || got[0].Conflicts["title"][1].Value != "Mine!" {
		t.Errorf("%+v", got)
	}
}

func TestMergeByIdentifier(t *testing.T) {
	doi := "https://doi.org/10.5072/x"
	got := Merge([]crawl.DatasetClaim{
		{Kind: crawl.DatasetJSONLD, Document: "https://a.example/", ID: doi, Title: "X", Files: files("https://a.example/1"), Allowed: true},
		{Kind: crawl.DatasetJSONLD, Document: "https://a.example/", N: 1, ID: doi, Title: "X", Files: files("https://a.example/2"), Allowed: true},
		{Kind: crawl.DatasetJSONLD, Document: "https://a.example/b", ID: doi, Title: "X", Files: files("https://b.example/1"), Allowed: false},
	})
	if len(got) != 1 || len(got[0].URLs) != 3 || len(got[0].Sources) != 2 || got[0].Allowed {
		t.Errorf("%+v", got)
	}
}

// Whatever documents a site has, and in whatever order they come: no record contains claims with
// different identifiers, or claims with different titles that no identifier connects.
func TestNoRecordIsOfTwoDatasets(t *testing.T) {
	pick := func(r *rand.Rand, all ...string) string { return all[r.IntN(len(all))] }
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 32))
		byDocument := map[string]crawl.DatasetClaim{}
		var claims []crawl.DatasetClaim
		for i := range 3 + r.IntN(8) {
			c := crawl.DatasetClaim{
				Kind: crawl.DatasetKinds[r.IntN(len(crawl.DatasetKinds)-1)], Document: fmt.Sprintf("https://a.example/%d", i), Origin: "https://a.example", Allowed: true, Line: i,
				ID:    pick(r, "", "", "https://doi.org/10.1234/1", "https://doi.org/10.1234/2", "https://a.example/id/3"),
				Title: pick(r, "", "Trees", "Trees of the city", "Trees of the park", "Water", "Water of the city"), Page: pick(r, "", "https://a.example/p", "https://a.example/q"),
			}
			for _, u := range []string{"https://a.example/x.csv", "https://a.example/y.csv", "https://a.example/z.csv"} {
				if r.IntN(3) == 0 {
					c.Files = append(c.Files, files(u)...)
				}
			}
			claims, byDocument[c.Document] = append(claims, c), c
		}
		first := Merge(claims)
		for _, d := range first {
			var all []crawl.DatasetClaim
			for _, s := range d.Sources {
				all = append(all, byDocument[s.Document])
			}
			if why := ofTwoDatasets(all); why != "" {
				t.Fatalf("seed %d: a record has %s: %+v", seed, why, all)
			}
		}
		for range 3 {
			r.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
			if got := Merge(claims); fmt.Sprintf("%+v", plainInfos(got)) != fmt.Sprintf("%+v", plainInfos(first)) {
				t.Fatalf("seed %d: another order, another result:\n%+v\n%+v", seed, got, first)
			}
		}
	}
}

// ofTwoDatasets returns why claims are not about one dataset.
func ofTwoDatasets(all []crawl.DatasetClaim) string {
	words := func(title string) []string { return (&merger{words: map[string][]string{}}).titleWords(title) }
	for i := range all {
		if all[i].Kind == crawl.DatasetDataTxt {
			all[i].Title = "" // free words, which are not compared
		}
	}
	for _, a := range all {
		like, identified := false, false
		for _, b := range all {
			switch {
			case a.ID != "" && b.ID != "" && a.ID != b.ID:
				return a.ID + " and " + b.ID
			case a.ID != "" || a.Title == "" || b.Title == "":
			case b.ID != "":
				identified, like = true, like || alikeTitles(words(a.Title), words(b.Title))
			case !alikeTitles(words(a.Title), words(b.Title)):
				return a.Title + " and " + b.Title
			}
		}
		if identified && !like {
			return a.Title + ", which is not the title of its identifier"
		}
	}
	return ""
}
