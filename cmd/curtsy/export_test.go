package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/piprate/json-gold/ld"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
)

// TestExportDatasets crawls a web of open data with the commands that a user types, and compares
// all exports with one another. Its script has these commands besides those of TestScripts:
//
//	opendata                   the web of testdata/datasets.txtar of internal/e2e; sets SEED0..SEED3
//	                           and RESOLVE
//	serve FILE                 a site whose /data.txt is FILE; sets SEED and RESOLVE
//	reads JSONL N              N datasets, each of which is written as it was read
//	table CSV JSONL            the same datasets in a table
//	expands JSONLD JSONL       the same datasets as linked data, understood without a network
//	same JSONL JSONL           the same datasets, wherever they were read
func TestExportDatasets(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/export",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("CURTSY_LISTEN", "off")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits, "opendata": scriptOpenData, "serve": scriptServe, "reads": scriptReads, "table": scriptTable,
			"expands": scriptExpands, "same": scriptSame,
		},
	})
}

func startPlain(ts *testscript.TestScript, hosts int) *simweb.Server {
	web, err := simweb.Start(simweb.Config{Hosts: hosts, PagesPerHost: 1, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsNone} }})
	ts.Check(err)
	ts.Defer(func() { web.Close() })
	ts.Setenv("RESOLVE", web.Resolve())
	return web
}

func scriptOpenData(ts *testscript.TestScript, _ bool, _ []string) {
	web := startPlain(ts, 4)
	for i := range 4 {
		ts.Setenv(fmt.Sprintf("SEED%d", i), fmt.Sprintf("http://h000%d.sim.test/", i))
	}
	a, err := txtar.ParseFile("../../internal/e2e/testdata/datasets.txtar")
	ts.Check(err)
	types := map[string]string{".txt": "text/plain", ".json": "application/json", ".jsonld": "application/ld+json"}
	for _, f := range a.Files {
		if host, file, _ := strings.Cut(f.Name, "/"); strings.HasPrefix(host, "h000") {
			web.Override("http://"+host+".sim.test/"+file, &simweb.Answer{ContentType: types[path.Ext(file)], Body: string(f.Data)})
		}
	}
}

func scriptServe(ts *testscript.TestScript, _ bool, args []string) {
	web := startPlain(ts, 1)
	ts.Setenv("SEED", web.Seeds()[0])
	web.Override(web.Seeds()[0]+"data.txt", &simweb.Answer{ContentType: "text/plain", Body: ts.ReadFile(args[0])})
}

// datasetsIn reads an export as JSON Lines.
func datasetsIn(ts *testscript.TestScript, file string) (all []crawl.DatasetInfo) {
	for line := range strings.Lines(ts.ReadFile(file)) {
		var d crawl.DatasetInfo
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		ts.Check(dec.Decode(&d))
		all = append(all, d)
	}
	return all
}

func written(ts *testscript.TestScript, d crawl.DatasetInfo) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	ts.Check(enc.Encode(d))
	return b.String()
}

func scriptReads(ts *testscript.TestScript, _ bool, args []string) {
	all := datasetsIn(ts, args[0])
	if strconv.Itoa(len(all)) != args[1] {
		ts.Fatalf("%d datasets, want %s", len(all), args[1])
	}
	text := ""
	for _, d := range all {
		text += written(ts, d)
	}
	if text != ts.ReadFile(args[0]) {
		ts.Fatalf("what is read is not what was written:\n%s", text)
	}
}

func scriptTable(ts *testscript.TestScript, _ bool, args []string) {
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	all := datasetsIn(ts, args[1])
	if len(rows) != len(all)+1 {
		ts.Fatalf("%d rows for %d datasets", len(rows), len(all))
	}
	for i, d := range all {
		row := map[string]string{}
		for k, name := range rows[0] {
			row[name] = rows[i+1][k]
		}
		spdx, count := "", ""
		if d.SPDX != nil {
			spdx = *d.SPDX
		}
		if d.Rows != nil {
			count = strconv.FormatInt(*d.Rows, 10)
		}
		for name, want := range map[string]string{
			"id": d.ID, "title": d.Title, "description": d.Description, "license": d.License, "spdx": spdx, "urls": strings.Join(d.URLs, " "),
			"creators": strings.Join(d.Creators, "; "), "rows": count, "identifier": d.Identifier, "fetched_at": d.FetchedAt.UTC().Format(time.RFC3339),
		} {
			if row[name] != want {
				ts.Fatalf("row %d: %s is %q, want %q", i+1, name, row[name], want)
			}
		}
	}
}

// unconnected is a loader of documents for a processor that has no network.
type unconnected struct{}

func (unconnected) LoadDocument(u string) (*ld.RemoteDocument, error) {
	return nil, fmt.Errorf("the document wants %s loaded", u)
}

func scriptExpands(ts *testscript.TestScript, _ bool, args []string) {
	var doc map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	opts := ld.NewJsonLdOptions("")
	opts.DocumentLoader = unconnected{}
	expanded, err := ld.NewJsonLdProcessor().Expand(doc, opts)
	ts.Check(err)
	prefixes := doc["@context"].(map[string]any)
	delete(doc, "@context")
	// Every value of the document is a value of its expansion, and nothing is added.
	had, has := values(doc, prefixes), values(any(expanded), nil)
	if !slices.Equal(had, has) {
		ts.Fatalf("expansion changes the values from\n%s\nto\n%s", strings.Join(had, "\n"), strings.Join(has, "\n"))
	}
	for _, id := range ids(any(expanded)) {
		if u, err := url.Parse(id); err != nil || !u.IsAbs() || u.Host == "" && !strings.HasPrefix(id, "urn:uuid:") || strings.ContainsAny(id, " <>\"{}|\\^`") {
			ts.Fatalf("%q is no address", id)
		}
	}
	sets := expanded[0].(map[string]any)["http://www.w3.org/ns/dcat#dataset"].([]any)
	all := datasetsIn(ts, args[1])
	if len(sets) != len(all) {
		ts.Fatalf("%d datasets of %d", len(sets), len(all))
	}
	for i, d := range all {
		says := values(sets[i], nil)
		want := slices.Concat(d.URLs, d.Creators, d.Keywords, []string{d.ID, cmp.Or(d.Title, d.Name), d.Description, d.License, d.Page, d.Publisher, d.Version, d.Issued, d.Modified})
		if d.SPDX != nil {
			want = append(want, "http://spdx.org/licenses/"+*d.SPDX)
		}
		for _, s := range d.Sources {
			want = append(want, s.Document)
		}
		for _, f := range d.Files {
			kind := f.MediaType
			if strings.Contains(kind, "/") { // a type that is registered, or might be
				kind = "https://www.iana.org/assignments/media-types/" + kind
			}
			want = append(want, f.SHA256, f.MD5, kind, f.Name)
		}
		for _, w := range want {
			if w != "" && !slices.Contains(says, w) {
				ts.Fatalf("dataset %s: %q is lost; there are %q", d.ID, w, says)
			}
		}
	}
}

// ids are the addresses of all nodes in an expanded document.
func ids(v any) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			all = append(all, ids(e)...)
		}
	case map[string]any:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "@id" {
				all = append(all, s)
			}
			all = append(all, ids(e)...)
		}
	}
	return all
}

// values are all values in a document, sorted: names of nodes and types in full.
func values(v any, prefixes map[string]any) (all []string) {
	switch v := v.(type) {
	case string:
		if prefix, rest, ok := strings.Cut(v, ":"); ok && prefixes[prefix] != nil && !strings.HasPrefix(rest, "//") {
			v = prefixes[prefix].(string) + rest
		}
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, values(e, prefixes)...)
		}
	case map[string]any:
		for _, e := range v {
			all = append(all, values(e, prefixes)...)
		}
	default:
		return []string{fmt.Sprint(v)}
	}
	slices.Sort(all)
	return all
}

// scriptSame compares the descriptions of datasets. Their source and time differ with the place in
// which they are read. The format has a word for files that it does not name, and none for a
// dataset without files.
func scriptSame(ts *testscript.TestScript, _ bool, args []string) {
	says := func(file string) (all []string) {
		for _, d := range datasetsIn(ts, file) {
			d.Origin, d.DataTxt, d.Form, d.Line, d.External, d.Allowed = "", "", "", 0, false, false
			d.FetchedAt, d.Expires, d.Sources, d.Provenance, d.Conflicts = time.Time{}, time.Time{}, nil, nil, nil
			d.LicenseByHost, d.AlsoDescribedAt = false, nil
			d.Type = cmp.Or(d.Type, "files")
			all = append(all, written(ts, d))
		}
		slices.Sort(all)
		return all
	}
	if a, b := says(args[0]), says(args[1]); !slices.Equal(a, b) {
		ts.Fatalf("not the same:\n%s\n%s", strings.Join(a, ""), strings.Join(b, ""))
	}
}
