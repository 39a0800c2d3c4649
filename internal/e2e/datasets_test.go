package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/queue"
)

// datasetWeb starts the web of testdata/datasets.txtar.
func datasetWeb(t *testing.T) (*website, *txtar.Archive) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/datasets.txtar")
	if err != nil {
		t.Fatal(err)
	}
	web := serve(t, simweb.Config{Hosts: 4, PagesPerHost: 1, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsNone} }})
	placeDatasets(web, a, "")
	return web, a
}

// placeDatasets puts the files under prefix into the web.
func placeDatasets(web *website, a *txtar.Archive, prefix string) {
	types := map[string]string{".txt": "text/plain; charset=utf-8", ".json": "application/json", ".jsonld": "application/ld+json"}
	for _, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, prefix)
		host, file, _ := strings.Cut(name, "/")
		if !ok || !strings.HasPrefix(host, "h000") {
			continue
		}
		web.Override("http://"+host+".sim.test/"+file, &simweb.Answer{ContentType: types[path.Ext(file)], Body: string(f.Data)})
	}
}

// lineOf returns a dataset as a line of JSON, without times.
func lineOf(t *testing.T, d crawl.DatasetInfo) string {
	t.Helper()
	if d.FetchedAt.IsZero() || d.DataTxt != "" && d.Expires.Sub(d.FetchedAt) != 7*24*time.Hour {
		t.Errorf("%s: fetched %v, expires %v", d.Name, d.FetchedAt, d.Expires)
	}
	d.FetchedAt, d.Expires = time.Time{}, time.Time{}
	for _, all := range [][]crawl.DatasetSource{d.Sources, d.AlsoDescribedAt} {
		for i := range all {
			all[i].FetchedAt = time.Time{}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`,"fetched_at":"0001-01-01T00:00:00Z"`, "", `,"expires":"0001-01-01T00:00:00Z"`, "", "\n", "").Replace(b.String())
}

// catalogue returns the datasets that the running services report.
func (r *rig) catalogue(t *testing.T) (lines []string) {
	t.Helper()
	var claims []crawl.DatasetClaim
	err := ask.Gather(t.Context(), r.q.NC, crawl.Names(r.spec.Name), "datasets", struct{}{}, r.spec.Shards, func(raw json.RawMessage) error {
		var c crawl.DatasetClaim
		err := json.Unmarshal(raw, &c)
		claims = append(claims, c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range catalog.Merge(claims) {
		lines = append(lines, lineOf(t, d))
	}
	return lines
}

// catalogueInFiles returns the datasets in the files of a crawl that has ended.
func (r *rig) catalogueInFiles(t *testing.T) (lines []string) {
	t.Helper()
	rd := r.files()
	defer rd.Close()
	err := questions.Pages.Each(t.Context(), rd, nil, func(p crawl.PageInfo) error {
		if strings.HasSuffix(p.URL, "/about.html") {
			t.Errorf("%s is stored although it has noindex: only its dataset should be", p.URL)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := rd.Datasets(t.Context(), func(d crawl.DatasetInfo) error { lines = append(lines, lineOf(t, d)); return nil }); err != nil {
		t.Fatal(err)
	}
	return lines
}

// compareLines compares lines with those of a file.
func compareLines(t *testing.T, file string, got []string) {
	t.Helper()
	if os.Getenv("UPDATE_DATASETS") != "" {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(b)), "\n")
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s:%d is missing:\n%s", file, i+1, want[i])
		case i >= len(want):
			t.Errorf("more than %s has:\n%s", file, got[i])
		case got[i] != want[i]:
			t.Errorf("%s:%d is\n%s, want\n%s", file, i+1, got[i], want[i])
		}
	}
}

// requested returns how often each path of the web was requested.
func requested(web *website) map[string]int {
	n := map[string]int{}
	for _, q := range web.Log() {
		n[strings.TrimSuffix(q.Host, ".sim.test")+q.Path]++
	}
	return n
}

// TestDatasetsInTheCrawl crawls sites that announce datasets in every supported way, and compares
// the catalogue with testdata/datasets.jsonl, record by record. Run it with UPDATE_DATASETS=1 to
// write that file, and read it.
func TestDatasetsInTheCrawl(t *testing.T) { simnet.Test(t, testDatasetsInTheCrawl) }

func testDatasetsInTheCrawl(t *testing.T) {
	web, a := datasetWeb(t)
	spec := specFor(web)
	spec.Seeds = nil
	for i := range 4 {
		spec.Seeds = append(spec.Seeds, fmt.Sprintf("http://h000%d.sim.test/", i))
	}
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	r.wait(time.Minute)
	first := requested(web)
	for _, p := range []string{"h0000/data.txt", "h0000/planets/data.txt", "h0001/iris/data.txt", "h0001/df/20240501T101112Z-c3943/data.txt", "h0001/gone/data.txt", "h0002/data.txt", "h0002/files/data.txt"} {
		if first[p] != 1 {
			t.Errorf("%s was asked for %d times, want once", p, first[p])
		}
	}
	for p, n := range first {
		closed := strings.Contains(p, "/closed/") || strings.Contains(p, "/secret/")
		switch path.Ext(p) {
		case ".csv", ".zip", ".rds", ".geojson", ".xlsx":
			closed = true // no page links to them: they are for `datasets get`
		}
		if closed {
			t.Errorf("%s was asked for %d times", p, n)
		}
	}
	compareLines(t, "testdata/datasets.jsonl", r.catalogue(t))
	// The files change: one is replaced, one cannot be read any more, one is deleted. The loss of
	// the page store makes all of them due.
	placeDatasets(web, a, "later/")
	web.Override("http://h0002.sim.test/files/data.txt", &simweb.Answer{Status: 404})
	for i := range r.spec.Shards {
		names := crawl.Names(r.spec.Name)
		l, err := r.q.OpenLog(t.Context(), queue.LogConfig{Stream: names.EventsStream(i), Subject: names.EventsSubject(i)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), crawl.AppendEvent(nil, &crawl.Event{StoreLost: "5f"})); err != nil {
			t.Fatal(err)
		}
	}
	r.wait(time.Minute)
	r.stop()
	polite(t, web, 0)
	again := requested(web)
	for p, want := range map[string]int{
		"h0000/data.txt": 2, "h0000/planets/data.txt": 1, // nothing links to it any more
		// The file that links to it is refused, and the copies of both stay.
		"h0001/data.txt": 2, "h0001/iris/data.txt": 1,
		"h0002/data.txt": 2, "h0002/files/data.txt": 2,
	} {
		if again[p] != want {
			t.Errorf("%s was asked for %d times in all, want %d", p, again[p], want)
		}
	}
	compareLines(t, "testdata/datasets-later.jsonl", r.catalogueInFiles(t))
}
