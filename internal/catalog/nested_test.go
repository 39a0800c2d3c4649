package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// keep returns the entry of a data.txt. asked is empty for the origin's own.
func keep(t testing.TB, asked, body string) Entry {
	t.Helper()
	p := page(1, "")
	if asked != "" {
		p.Asked, p.URL = canon.URL(asked), canon.URL(asked)
	}
	e, ok := Update(Entry{}, p, []byte(body), "curtsy")
	if !ok || e.Failed != "" {
		t.Fatalf("%+v", e)
	}
	return e
}

// mergeNested merges a file and those nested in it, by the paths under which they are stored.
func mergeNested(t testing.TB, own string, nested map[string]string) []crawl.DatasetInfo {
	t.Helper()
	all := map[string]Entry{}
	for path, body := range nested {
		u := "https://d.example" + path
		all[u] = keep(t, u, body)
	}
	e := keep(t, "", own)
	claims, err := e.Claims("curtsy", all)
	if err != nil {
		t.Fatal(err)
	}
	return Merge(claims)
}

// A nested file adds the fields that its parent lacks, and each field names the file it is from
// (formats §5.4).
func TestNestedFills(t *testing.T) {
	ds := mergeNested(t, "- path: iris\n  title: From above\n  rows: 150\n- path: cars/data.csv\n  license: CC0-1.0\n", map[string]string{
		"/iris/data.txt": "path:\n- data.csv\n- data.rds\ntype: table\ntitle: From below\nrows: 151\ncolumns:\n  width: numeric\n",
		"/cars/data.txt": "- path: data.csv\n  description: Cars\n  license: MIT\n- path: more.csv\n",
	})
	if len(ds) != 3 {
		t.Fatalf("%d datasets: %+v", len(ds), ds)
	}
	const above, below = "https://d.example/data.txt", "https://d.example/iris/data.txt"
	iris, cars, more := ds[1], ds[2], ds[0] // by the file they are in
	if iris.Title != "From above" || *iris.Rows != 150 || iris.Type != "table" || iris.Name != "iris" || len(iris.Columns) != 1 || iris.DataTxt != above {
		t.Errorf("%+v", iris)
	}
	if got := fmt.Sprint(iris.URLs); got != "[https://d.example/iris https://d.example/iris/data.csv https://d.example/iris/data.rds]" ||
		!iris.Files[0].Directory || iris.Files[1].Directory || iris.Files[2].Directory {
		t.Errorf("%+v", iris.Files)
	}
	wantFrom := map[string]string{"files": above, "title": above, "rows": above, "type": below, "columns": below}
	if !maps.Equal(iris.Provenance, wantFrom) {
		t.Errorf("provenance %v, want %v", iris.Provenance, wantFrom)
	}
	if got := fmt.Sprint(iris.Conflicts); got != "map[rows:[{151 "+below+"}] title:[{From below "+below+"}]]" {
		t.Errorf("conflicts %v", got)
	}
	if cars.License != "CC0-1.0" || cars.Description != "Cars" || cars.Type != "files" || len(cars.Sources) != 2 || len(cars.Conflicts["license"]) != 1 {
		t.Errorf("%+v", cars)
	}
	if more.URLs[0] != "https://d.example/cars/more.csv" || more.DataTxt != "https://d.example/cars/data.txt" || len(more.Sources) != 1 {
		t.Errorf("%+v", more)
	}
}

// A nested file counts if files above lead to it, at most three levels deep. A cycle ends.
func TestNestedReach(t *testing.T) {
	nested := map[string]string{
		"/a/data.txt":         "- path: b/\n- path: ../a/\n",
		"/a/b/data.txt":       "- path: c/\n- path: ../../a/\n",
		"/a/b/c/data.txt":     "- path: d/\n- path: three.csv\n",
		"/a/b/c/d/data.txt":   "- path: four.csv\n",
		"/elsewhere/data.txt": "- path: lost.csv\n",
	}
	names := func(ds []crawl.DatasetInfo) string {
		var all []string
		for i := range ds {
			for _, u := range ds[i].URLs {
				all = append(all, strings.TrimPrefix(u, "https://d.example"))
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if got, want := names(mergeNested(t, "- path: a/\n", nested)), "/a/ /a/b/ /a/b/c/ /a/b/c/d/ /a/b/c/three.csv"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := names(mergeNested(t, "- path: z.csv\n", nested)); got != "/z.csv" {
		t.Errorf("files without a reference still count: %s", got)
	}
	e := keep(t, "", "- path: a/\n")
	stranger := keep(t, "https://d.example/a/data.txt", "- path: x.csv\n")
	stranger.Origin = "https://other.example"
	claims, err := e.Claims("curtsy", map[string]Entry{"https://d.example/a/data.txt": stranger})
	if err != nil || len(claims) != 1 {
		t.Errorf("another origin's file: %v, %v", claims, err)
	}
}

// The rules of all files above apply to a nested file's datasets, like its own (formats §5.3).
func TestNestedRules(t *testing.T) {
	ds := mergeNested(t, "User-agent: *\nAllow: /set/\nTitle: Sets\nDisallow: /closed\n", map[string]string{
		"/set/data.txt": "User-agent: *\nDisallow: /set/no\nPath: /set/yes.csv\nPath: /set/no.csv\nPath: /closed/x.csv\nPath: http://d.example/closed/y.csv\n",
	})
	got := map[string]bool{}
	for _, d := range ds {
		got[d.URLs[0]] = d.Allowed
	}
	want := map[string]bool{"https://d.example/set/": true, "https://d.example/set/yes.csv": true, "https://d.example/set/no.csv": false,
		"https://d.example/closed/x.csv": false, "http://d.example/closed/y.csv": true}
	if !maps.Equal(got, want) {
		t.Errorf("allowed %v, want %v", got, want)
	}
}

func TestNestedLimit(t *testing.T) {
	var own, below strings.Builder
	for i := range MaxClaims {
		fmt.Fprintf(&own, "- path: a/%d.csv\n", i)
		fmt.Fprintf(&below, "- path: b/%d.csv\n", i)
	}
	more := map[string]string{"/a/data.txt": below.String(), "/a/b/data.txt": below.String()}
	all := map[string]Entry{}
	for path, body := range more {
		all["https://d.example"+path] = keep(t, "https://d.example"+path, body)
	}
	e := keep(t, "", own.String())
	claims, err := e.Claims("curtsy", all)
	if err != nil || len(claims) != maxOriginClaims {
		t.Errorf("%d claims, %v, want %d", len(claims), err, maxOriginClaims)
	}
}

// Counts that are not numbers stay as they are written, and so do unknown keys. Of equal keys the
// first counts.
func TestDataTxtKeepsUnknownText(t *testing.T) {
	d := mergeNested(t, "- path: a.csv\n  rows: many\n  cols: 3\n  odd: 1\n  odd: 2\n  publisher: Office\n  identifier: doi:10.5072/X1\n  keywords: a, b\n", nil)[0]
	if got := fmt.Sprint(d.Extra); got != "map[identifier:doi:10.5072/X1 keywords:a, b odd:1 rows:many]" {
		t.Errorf("extra %s", got)
	}
	if d.Rows != nil || *d.Cols != 3 || d.Publisher != "Office" || d.Identifier != "https://doi.org/10.5072/x1" || d.Keywords == nil || len(d.Keywords) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestDataTxtTagsAndCuts(t *testing.T) {
	p := page(1, "")
	p.Directives, p.UnavailableAfter = crawl.NoSnippet, at.Add(time.Hour)
	e, _ := Update(Entry{}, p, []byte("- path: a.csv\n  title: T\n  description: D\n  columns: [{name: c, description: D}]\n"), "curtsy")
	if claims, _ := e.Claims("curtsy", nil); claims[0].Description != "" || claims[0].Columns[0].Description != "" || claims[0].Title != "T" {
		t.Errorf("%+v, want no prose of a file with nosnippet", claims[0])
	}
	if !e.Live(at) || e.Live(at.Add(time.Hour)) {
		t.Error("a file is in use past its unavailable_after")
	}
	p = page(2, "")
	p.Truncated = true
	cut, ok := Update(e, p, []byte("- path: b.csv\n"), "curtsy")
	if !ok || cut.Failed == "" || string(cut.Body) != string(e.Body) {
		t.Errorf("half a file is taken for a whole one: %+v", cut)
	}
}

// Whatever two nested files contain, nothing panics, and the claims are within the limits.
func FuzzNested(f *testing.F) {
	f.Add("- path: a/\n", "- path: a.csv\n", "User-agent: *\nDisallow: /\n")
	f.Add("- path: a\n- path: a/b/c.csv\n", "file: [x, y]\nfiles: [{path: x, bytes: 1}]\n", "- path: ../x\n")
	f.Fuzz(func(t *testing.T, own, a, b string) {
		nested := map[string]Entry{}
		for path, body := range map[string]string{"/a/data.txt": a, "/a/b/data.txt": b} {
			u := "https://d.example" + path
			p := page(1, "")
			p.Asked, p.URL = canon.URL(u), canon.URL(u)
			if e, _ := Update(Entry{}, p, []byte(body), "curtsy"); e.Failed == "" {
				nested[u] = e
			}
		}
		e, _ := Update(Entry{}, page(1, ""), []byte(own), "curtsy")
		if e.Failed != "" {
			return
		}
		claims, err := e.Claims("curtsy", nested)
		if err != nil {
			t.Fatal(err)
		}
		depth := map[crawl.DatasetRef]int{}
		for _, c := range claims {
			depth[crawl.DatasetRef{Document: c.Document, N: c.N}] = c.Depth
		}
		for _, c := range claims {
			if c.Depth > 2 || c.Fills != nil && depth[*c.Fills] != c.Depth-1 {
				t.Errorf("%+v", c)
			}
			for _, file := range c.Files {
				if !strings.HasPrefix(file.URL, "http://") && !strings.HasPrefix(file.URL, "https://") {
					t.Errorf("file %q", file.URL)
				}
			}
		}
		for _, d := range Merge(claims) {
			if d.ID == "" || len(d.URLs) == 0 || len(d.Sources) == 0 {
				t.Errorf("%+v", d)
			}
		}
	})
}
