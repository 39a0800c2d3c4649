package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

var at = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func page(n uint64, deleted crawl.Reason) *crawl.Page {
	return &crawl.Page{
		URL: "https://d.example/data.txt", Origin: canon.URL("https://d.example/").Origin(), Kind: crawl.KindData,
		Visit: crawl.VisitID{Epoch: 1, N: n}, FetchedAt: at, Fresh: 24 * time.Hour, Deleted: deleted,
	}
}

// datasets returns the datasets of one file, without nested ones.
func datasets(e Entry, token string) ([]crawl.DatasetInfo, error) {
	claims, err := e.Claims(token, nil)
	return Merge(claims), err
}

const iris = "- path: iris/data.csv\n  rows: 150\n  title: Iris\n  tags: [a, b]\n"

func TestUpdate(t *testing.T) {
	e, ok := Update(Entry{}, page(1, ""), []byte(iris), "curtsy")
	if !ok || e.Failed != "" {
		t.Fatalf("%+v", e)
	}
	ds, err := datasets(e, "curtsy")
	if err != nil || len(ds) != 1 {
		t.Fatalf("%v (%v), want one dataset", ds, err)
	}
	d := ds[0]
	if d.URLs[0] != "https://d.example/iris/data.csv" || d.Name != "data.csv" || d.Type != "files" || *d.Rows != 150 || d.Title != "Iris" ||
		d.Origin != "https://d.example" || !d.Expires.Equal(at.Add(24*time.Hour)) {
		t.Errorf("%+v", d)
	}
	if tags, ok := d.Extra["tags"].([]any); !ok || len(tags) != 2 {
		t.Errorf("extra %v, want the tags kept", d.Extra)
	}
	if again, ok := Update(e, page(1, ""), []byte("- path: other\n"), "curtsy"); ok {
		t.Errorf("a replay changed it: %+v", again)
	}
	bad, ok := Update(e, page(2, ""), []byte("- path: &a x\n- path: *a\n"), "curtsy")
	if ds, err := datasets(bad, "curtsy"); !ok || bad.Failed == "" || err != nil || len(ds) != 1 {
		t.Errorf("after a file that is refused: %v (%v), failed %q; want the copy before", ds, err, bad.Failed)
	}
	gone, ok := Update(bad, page(3, crawl.ReasonHTTP4xx), nil, "curtsy")
	if !ok || gone.Live(at) {
		t.Error("a site that has none any more still has datasets")
	}
	if _, ok := Update(gone, page(2, ""), []byte(iris), "curtsy"); ok {
		t.Error("a late copy of an older visit came back")
	}
}

// Visits to hosts of two shards are not compared. For each host a later report counts, and a
// repeated one does not.
func TestUpdateAfterARedirectElsewhere(t *testing.T) {
	at := func(host string, epoch, n uint64) *crawl.Page {
		p := page(n, "")
		p.URL, p.Visit.Epoch = canon.URL("https://"+host+"/data.txt"), epoch
		return p
	}
	var e Entry
	update := func(p *crawl.Page, title string, want bool) {
		t.Helper()
		next, ok := Update(e, p, []byte("- path: x\n  title: "+title+"\n"), "curtsy")
		if ok != want {
			t.Errorf("%s of %s, visit %v: taken in %v, want %v", title, p.URL, p.Visit, ok, want)
		}
		e = next
	}
	update(at("d.example", 1, 7), "own", true)
	update(at("e.example", 9, 1000), "redirected", true)
	update(at("d.example", 1, 8), "own again", true)
	update(at("e.example", 9, 1000), "redirected, delivered again", false)
	update(at("d.example", 1, 7), "own, delivered again", false)
	update(at("e.example", 2, 1), "redirected, of an older epoch", false)
	update(at("e.example", 9, 1001), "redirected later", true)
	update(at("d.example", 1, 9), "and own", true)
	if ds, err := datasets(e, "curtsy"); err != nil || ds[0].Title != "and own" || e.Visit.N != 9 {
		t.Errorf("%+v (%v)", ds, err)
	}
	// An entry of an older version: the visit was to the host of the copy.
	e.Visits, e.URL, e.Visit = nil, "https://e.example/data.txt", crawl.VisitID{Epoch: 9, N: 1000}
	update(at("e.example", 9, 1000), "delivered again", false)
	update(at("d.example", 1, 3), "own", true)
	// Without a copy, the host of the visit is not known.
	e.Visits, e.URL, e.Visit = nil, "", crawl.VisitID{Epoch: 9, N: 1000}
	update(at("d.example", 1, 4), "own, after a redirect led to no file", true)
	for i := range 3 * maxDataTxtVisits {
		update(at("d.example", 1, uint64(20+2*i)), "own", true)
		update(at(fmt.Sprintf("h%d.example", i), 1, 1), "elsewhere", true)
		if len(e.Visits) > maxDataTxtVisits {
			t.Fatalf("%d hosts are remembered", len(e.Visits))
		}
	}
	update(at("d.example", 1, uint64(20+2*(3*maxDataTxtVisits-1))), "own, delivered again", false)
}

// No text of a file with nosnippet is shown that may be prose, whatever its key.
func TestNoSnippetTakesUnknownKeys(t *testing.T) {
	p := page(1, "")
	p.Directives = crawl.NoSnippet
	e, _ := Update(Entry{}, p, []byte("- path: x.csv\n  title: X\n  description: secret\n  abstract: secret\n  notes: [secret, {a: secret}]\n  rows: secret\n  columns: {a: {description: secret}}\n"), "curtsy")
	ds, err := datasets(e, "curtsy")
	b, _ := json.Marshal(ds)
	if err != nil || len(ds) != 1 || ds[0].Title != "X" || strings.Contains(string(b), "secret") {
		t.Errorf("%s (%v)", b, err)
	}
}

func TestLive(t *testing.T) {
	e, _ := Update(Entry{}, page(1, ""), []byte(iris), "curtsy")
	day := 24 * time.Hour
	if !e.Live(at.Add(31*day-time.Second)) || e.Live(at.Add(31*day)) {
		t.Error("an expired copy is to be used for 30 days past its lifetime, and no longer")
	}
}

func TestEncode(t *testing.T) {
	e, _ := Update(Entry{}, page(1, ""), []byte(iris), "curtsy")
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil || got.URL != e.URL || string(got.Body) != iris || !got.Fetched.Equal(e.Fetched) || got.Visit != e.Visit {
		t.Errorf("%+v (%v), want %+v", got, err, e)
	}
}

// Formats §5.3: the record that concerns us applies to all fetches of datasets from its origin, and
// to no other origin.
func TestRule(t *testing.T) {
	e, _ := Update(Entry{}, page(1, ""), []byte("User-agent: *\nDisallow: /shut\nAllow: /open.csv\n\nUser-agent: curtsy\nAllow: /shut/but\nDisallow: /shut\n"), "curtsy")
	for _, c := range []struct {
		token string
		url   canon.URL
		line  int
	}{
		{"curtsy", "https://d.example/shut/x?y", 7}, {"curtsy", "https://d.example/shut/but", 0}, {"other", "https://d.example/shut/but", 2},
		{"curtsy", "https://d.example/open.csv", 0}, {"curtsy", "https://d.example/robots.txt", 0},
		{"curtsy", "http://d.example/shut", 0}, {"curtsy", "https://k.example/shut", 0}, {"curtsy", "https://d.example:444/shut", 0},
	} {
		rule, closed, err := e.Rule(c.token, c.url)
		if err != nil || closed != (c.line > 0) || closed && rule != (crawl.DataRule{Document: "https://d.example/data.txt", Line: c.line}) {
			t.Errorf("%s %s: %+v %v, %v", c.token, c.url, rule, closed, err)
		}
	}
}

// Changed is set when the effective content of a file changes. For an entry of an older version,
// which has no such time, the first change is that it exists.
func TestEntryDate(t *testing.T) {
	e, _ := Update(Entry{}, page(1, ""), []byte(iris), "curtsy")
	kept := e
	day := func(n int) time.Time { return at.AddDate(0, 0, n) }
	e.Date(&Entry{}, day(1))
	for i, step := range []struct {
		change func(*Entry)
		want   int
	}{
		{func(e *Entry) { e.Fetched, e.Fresh, e.Visit.N, e.Failed = day(9), time.Hour, 9, "x" }, 1},
		{func(e *Entry) { e.Body = []byte("- path: x\n") }, 3},
		{func(e *Entry) { e.NoSnippet = true }, 4},
		{func(e *Entry) { e.AliasOf = "https://main.example" }, 5},
		{func(e *Entry) { e.Until = day(9) }, 6},
		{func(e *Entry) { e.URL = "https://other.example/data.txt" }, 7},
	} {
		before := e
		step.change(&e)
		if e.Date(&before, day(i+2)); !e.Changed.Equal(day(step.want)) {
			t.Errorf("step %d: %v, want %v", i, e.Changed, day(step.want))
		}
	}
	again := kept
	again.Fetched = day(9)
	if again.Date(&kept, day(10)); !again.Changed.Equal(kept.Fetched) {
		t.Errorf("the same as before: %v, want %v", again.Changed, kept.Fetched)
	}
}
