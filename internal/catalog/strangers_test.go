package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// about returns the only dataset of a site.
func about(t *testing.T, all []crawl.DatasetInfo, origin string) crawl.DatasetInfo {
	t.Helper()
	var found []crawl.DatasetInfo
	for _, d := range all {
		if d.Origin == origin {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d datasets of %s, want 1: %+v", len(found), origin, all)
	}
	return found[0]
}

// A stranger's claim that names a site's DOI, its files or its page changes nothing about that
// site's dataset, not even its ID.
func TestStrangersChangeNothing(t *testing.T) {
	const doi = "https://doi.org/10.5072/rain"
	owner := crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: "https://owner.example/rain", Origin: "https://owner.example", ID: doi,
		Page: "https://owner.example/rain", Title: "Rain", Files: files("https://owner.example/rain.csv"), Allowed: true}
	plain := crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://owner.example/data.txt", Origin: "https://owner.example", Line: 1,
		Files: files("https://owner.example/rain.csv"), Allowed: true}
	paged := crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: "https://owner.example/rain", Origin: "https://owner.example",
		Page: "https://owner.example/rain", Title: "Rain", Allowed: true}
	bare := paged
	bare.Page, bare.ID, bare.Document = "", doi, "https://owner.example/rain.json"
	evil := func(c crawl.DatasetClaim) crawl.DatasetClaim {
		c.Document, c.Origin, c.Allowed = "https://a.example/x", "https://a.example", false
		c.Title, c.License, c.Description, c.Publisher = "Mine!", "CC0-1.0", "by me", "me"
		c.Keywords, c.Extra = []string{"mine"}, map[string]any{"x": "y"}
		return c
	}
	bytes := int64(1)
	digest := []crawl.DatasetFile{{URL: "https://owner.example/rain.csv", Name: "virus.exe", SHA256: strings.Repeat("a", 64), MD5: strings.Repeat("a", 32), Bytes: &bytes, MediaType: "x/y"}}
	for name, own := range map[string]crawl.DatasetClaim{"with a DOI": owner, "a bare data.txt": plain, "a page": paged, "a DOI and no page": bare} {
		for _, kind := range crawl.DatasetKinds {
			for how, c := range map[string]crawl.DatasetClaim{
				"DOI":                   {ID: doi},
				"DOI and own page":      {ID: doi, Page: "https://a.example/x"},
				"DOI and its page":      {ID: doi, Page: "https://owner.example/rain"},
				"DOI and own file":      {ID: doi, Files: files("https://a.example/virus.csv")},
				"DOI, page and file":    {ID: doi, Page: "https://owner.example/rain", Files: files("https://a.example/virus.csv", "https://owner.example/other.csv")},
				"file":                  {Files: digest},
				"file and own file":     {Files: append(files("https://a.example/virus.csv"), digest...)},
				"file and another file": {Files: append(files("https://owner.example/a-secret.csv"), digest...)},
				"page":                  {Page: "https://owner.example/rain"},
				"page and own file":     {Page: "https://owner.example/rain", Files: files("https://a.example/virus.csv")},
				"page and its file":     {Page: "https://owner.example/rain", Files: digest},
			} {
				c.Kind = kind
				alone := Merge([]crawl.DatasetClaim{own})[0]
				second := evil(c)
				second.Document, second.N = "https://b.example/y", 1
				second.Origin = "https://b.example"
				claims := []crawl.DatasetClaim{evil(c), own, second}
				for range 3 {
					rand.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
					got := about(t, Merge(claims), "https://owner.example")
					got.Conflicts, got.AlsoDescribedAt = alone.Conflicts, nil
					if a, b := fmt.Sprintf("%+v", alone), fmt.Sprintf("%+v", got); a != b && !(name == "with a DOI" || name == "a DOI and no page") {
						t.Fatalf("%s, %s names its %s:\n%s\nwant\n%s", name, kind, how, b, a)
					}
					alone, got := alone, got
					// a DOI that several sites claim is the ID of none
					alone.ID, got.ID = "", ""
					if a, b := fmt.Sprintf("%+v", alone), fmt.Sprintf("%+v", got); a != b {
						t.Fatalf("%s, %s names its %s:\n%s\nwant\n%s", name, kind, how, b, a)
					}
				}
			}
		}
	}
}

// Descriptions by others are shown beside a dataset, and their own datasets stay separate.
func TestAlsoDescribedAt(t *testing.T) {
	own := crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: "https://d.example/iris", Origin: "https://d.example", ID: "https://doi.org/10.5072/iris",
		Page: "https://d.example/iris", Title: "Iris", Files: files("https://d.example/iris.csv"), Allowed: true}
	portal := func(n int, c crawl.DatasetClaim) crawl.DatasetClaim {
		c.Kind, c.Document, c.Origin, c.N, c.Allowed = crawl.DatasetDCAT, "https://p.example/data.json", "https://p.example", n, true
		return c
	}
	for name, c := range map[string]struct {
		claim crawl.DatasetClaim
		own   bool // the portal's claim is a separate dataset
	}{
		"its file":               {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", Files: files("https://d.example/iris.csv")}, false},
		"its page":               {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", Page: "https://d.example/iris"}, false},
		"its DOI":                {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", ID: "https://doi.org/10.5072/iris"}, true},
		"its DOI and a page":     {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", ID: "https://doi.org/10.5072/iris", Page: "https://d.example/"}, false},
		"its DOI and own page":   {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", ID: "https://doi.org/10.5072/iris", Page: "https://p.example/"}, true},
		"its file and one more":  {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", Files: files("https://d.example/iris.csv", "https://d.example/more.csv")}, true},
		"its file and an own":    {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", Files: files("https://d.example/iris.csv", "https://p.example/iris.json")}, true},
		"its page and own files": {crawl.DatasetClaim{Title: "IRIS!", License: "CC0-1.0", Page: "https://d.example/iris", Files: files("https://p.example/iris.json")}, true},
	} {
		got := Merge([]crawl.DatasetClaim{own, portal(0, c.claim)})
		d := about(t, got, "https://d.example")
		if len(d.AlsoDescribedAt) != 1 || d.AlsoDescribedAt[0].Document != "https://p.example/data.json" || d.AlsoDescribedAt[0].Kind != crawl.DatasetDCAT || len(d.Sources) != 1 {
			t.Errorf("%s: also described at %+v, sources %+v", name, d.AlsoDescribedAt, d.Sources)
		}
		if d.License != "" || len(d.URLs) != 1 {
			t.Errorf("%s: %+v", name, d)
		}
		if (len(got) == 2) != c.own {
			t.Fatalf("%s: %d datasets", name, len(got))
		}
		if c.own {
			p := about(t, got, "https://p.example")
			if slices.Contains(p.URLs, "https://d.example/iris.csv") || p.Title != "IRIS!" || p.LicenseByHost != (len(p.URLs) == 0 || p.URLs[0] == "https://p.example/iris.json") || p.ID == d.ID {
				t.Errorf("%s: the portal's: %+v", name, p)
			}
		} else if titles := d.Conflicts["title"]; len(titles) != 1 || titles[0].Value != "IRIS!" || d.Conflicts["license"][0].Value != "CC0-1.0" {
			t.Errorf("%s: conflicts %v", name, d.Conflicts)
		}
	}
}

// Two portals describe files whose own host does not: neither speaks for the other.
func TestStrangersAmongThemselves(t *testing.T) {
	claim := func(host, kind, title string) crawl.DatasetClaim {
		return crawl.DatasetClaim{Kind: kind, Document: "https://" + host + "/data.json", Origin: "https://" + host, Title: title, License: "CC0-1.0",
			Files: files("https://bucket.example/x.csv"), Allowed: true}
	}
	one := claim("p.example", crawl.DatasetDCAT, "honest")
	got := Merge([]crawl.DatasetClaim{one, claim("a.example", crawl.DatasetCroissant, "Mine!")})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	p, a := about(t, got, "https://p.example"), about(t, got, "https://a.example")
	if p.Title != "honest" || a.Title != "Mine!" || p.ID == a.ID || len(p.AlsoDescribedAt) != 1 || len(a.AlsoDescribedAt) != 1 || p.LicenseByHost || a.LicenseByHost {
		t.Errorf("%+v\n%+v", p, a)
	}
	// The ID of one does not depend on the title in the other.
	again := about(t, Merge([]crawl.DatasetClaim{one, claim("a.example", crawl.DatasetDataTxt, "honest"), claim("b.example", crawl.DatasetDataTxt, "honest")}), "https://p.example")
	if again.ID != p.ID {
		t.Errorf("ID %s, was %s", again.ID, p.ID)
	}
}

// A stranger cannot join two sites' datasets by naming both, and cannot join two of one site.
func TestStrangersBridgeNothing(t *testing.T) {
	own := func(host string, n int) crawl.DatasetClaim {
		u := fmt.Sprintf("https://%s/%d", host, n)
		return crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: u, Origin: "https://" + host, Page: u, Title: u, Files: files(u + ".csv"), Allowed: true}
	}
	all := []crawl.DatasetClaim{own("d.example", 1), own("d.example", 2), own("e.example", 1)}
	bridge := crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://a.example/data.txt", Origin: "https://a.example", Line: 1, Title: "Mine!",
		Files: files("https://d.example/1.csv", "https://d.example/2.csv", "https://e.example/1.csv"), Allowed: true, External: true}
	got := Merge(append(all, bridge))
	if len(got) != 3 {
		t.Fatalf("%d datasets", len(got))
	}
	for _, d := range got {
		if d.Title == "Mine!" || len(d.URLs) != 1 || len(d.AlsoDescribedAt) != 1 {
			t.Errorf("%+v", d)
		}
	}
}

// A licence counts as stated by the host if the host of every file states it, in any spelling.
func TestLicenseByHost(t *testing.T) {
	claim := func(document, license string, urls ...string) crawl.DatasetClaim {
		return crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: document, Origin: "https://" + hostOf(document), Title: "x", License: license, Files: files(urls...), Allowed: true}
	}
	moved := claim("https://www.d.example/data.txt", "CC0-1.0", "https://www.d.example/x.csv", "https://d.example/x.csv")
	moved.Kind, moved.Origin, moved.External = crawl.DatasetDataTxt, "https://d.example", true
	elsewhere := moved
	elsewhere.Document = "https://www.d.example/~user/data.txt"
	for name, c := range map[string]struct {
		claims []crawl.DatasetClaim
		want   bool
	}{
		"own file":                        {[]crawl.DatasetClaim{claim("https://d.example/", "CC0-1.0", "https://d.example/x.csv")}, true},
		"another port":                    {[]crawl.DatasetClaim{claim("https://d.example/", "CC0-1.0", "http://D.example:81/x.csv")}, true},
		"another's file":                  {[]crawl.DatasetClaim{claim("https://d.example/", "CC0-1.0", "https://e.example/x.csv")}, false},
		"one of two":                      {[]crawl.DatasetClaim{claim("https://d.example/", "CC0-1.0", "https://d.example/x.csv", "https://e.example/x.csv")}, false},
		"below the host":                  {[]crawl.DatasetClaim{claim("https://d.example/", "CC0-1.0", "https://www.d.example/x.csv")}, false},
		"no licence":                      {[]crawl.DatasetClaim{claim("https://d.example/", "", "https://d.example/x.csv")}, false},
		"no file":                         {[]crawl.DatasetClaim{claim("https://d.example/", "CC0-1.0")}, true},
		"a data.txt the origin leads to":  {[]crawl.DatasetClaim{moved}, true},
		"a file of another's it leads to": {[]crawl.DatasetClaim{elsewhere}, false},
	} {
		if got := Merge(c.claims); len(got) != 1 || got[0].LicenseByHost != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The copy of a data.txt that was requested from its own origin counts, even if a stranger's origin
// that redirects to it has a newer copy.
func TestOwnCopyOfADataTxtCounts(t *testing.T) {
	copied := func(origin, title string, hours int) crawl.DatasetClaim {
		return crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://d.example/data.txt", Line: 1, Origin: origin, Title: title, Files: files("https://d.example/a.csv"),
			License: "CC-BY-4.0", Allowed: true, FetchedAt: at.Add(time.Duration(hours) * time.Hour)}
	}
	got := Merge([]crawl.DatasetClaim{copied("https://a.example", "stranger's", 5), copied("https://d.example", "own", 1)})
	if len(got) != 1 || got[0].Origin != "https://d.example" || got[0].Title != "own" || !got[0].LicenseByHost {
		t.Errorf("%+v", got)
	}
	if got := Merge([]crawl.DatasetClaim{copied("https://b.example", "newer", 5), copied("https://a.example", "older", 1)}); len(got) != 1 || got[0].Title != "newer" {
		t.Errorf("of two strangers: %+v", got)
	}
}
