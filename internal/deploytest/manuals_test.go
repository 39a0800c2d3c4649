//go:build external

package deploytest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/testaid"
)

// TestExternalManuals crawls Debian's manuals of PostgreSQL and Python with the rules of
// docs/examples/manuals.yaml. It counts the values of fields in the output of curtsy pages, and
// compares the facets and filters of curtsy search, of the HTTP interface and of the search page, a
// table of PostgreSQL that a feed filled, and a Parquet file that another library reads.
func TestExternalManuals(t *testing.T) {
	t.Parallel()
	browsing(t)
	m := crawlManuals(t, 1)
	m.logCounts()
	m.nearlyAllHave(map[string]float64{"manual": 1, "version": 1, "kind": 1, "release": .99, "breadcrumb": .99, "chapter": .95})
	m.kindsOfSources()
	m.interfaces(400)
	m.commands(0)
	m.database()
	m.parquet()
	for _, scripts := range []bool{false, true} {
		m.browse(scripts)
	}
}

// TestExternalSmokeManuals is the same with a part of the pages, without what takes long.
func TestExternalSmokeManuals(t *testing.T) {
	t.Parallel()
	m := crawlManuals(t, 20)
	m.nearlyAllHave(map[string]float64{"manual": 1, "version": 1, "kind": 1})
	m.interfaces(20)
	m.commands(2)
	m.database()
}

// Where docs/examples/manuals.yaml expects the manuals.
const (
	postgresManual = "http://postgresql.example.org/docs/15/"
	pythonManual   = "http://python.example.org/3.11/"
)

// manuals is a finished crawl of the manuals.
type manuals struct {
	t       *testing.T
	data    string
	search  string // the address of the search page
	folders map[string]string
	rows    []manualRow
	counts  fieldCounts
}

// manualRow is a page as curtsy pages shows it.
type manualRow struct {
	URL    string         `json:"url"`
	Fields map[string]any `json:"fields"`
}

// fieldCounts is on how many pages a field has a value.
type fieldCounts map[string]map[string]int

func (c fieldCounts) add(name, value string) {
	if c[name] == nil {
		c[name] = map[string]int{}
	}
	c[name][value]++
}

// addAll adds the value or the values of a field as they are in JSON.
func (c fieldCounts) addAll(name string, v any) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, one := range v {
			c.addAll(name, one)
		}
	case float64:
		c.add(name, strconv.FormatFloat(v, 'f', -1, 64))
	default:
		c.add(name, fmt.Sprint(v))
	}
}

// crawlManuals serves the manuals with nginx and crawls them, or of their files one of every so
// many.
func crawlManuals(t *testing.T, every int) *manuals {
	t.Helper()
	dir := t.TempDir()
	m := &manuals{t: t, data: filepath.Join(dir, "data"), folders: map[string]string{}}
	for address, pattern := range map[string]string{postgresManual: "/usr/share/doc/postgresql-doc-*/html", pythonManual: "/usr/share/doc/python3.*/html"} {
		found, _ := filepath.Glob(pattern)
		if len(found) == 0 {
			t.Fatalf("there is no %s: install Debian's packages postgresql-doc and python3-doc", pattern)
		}
		m.folders[address] = found[len(found)-1]
	}
	args := []string{"crawl", "--dir", m.data, "--contact", "me@example.org", "--listen", "off", "--allow-private", "--delay", "0s", "--scope", "prefix",
		"--sites", filepath.Join(root, "docs/examples/manuals.yaml")}
	who, servers := "", ""
	if os.Geteuid() == 0 {
		who = "user root;" // only root can read the directory of the test
	}
	for _, address := range slices.Sorted(maps.Keys(m.folders)) {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		port := freePort(t)
		servers += fmt.Sprintf("server { listen 127.0.0.1:%d; location %s { alias %s/; } }\n", port, u.Path, m.folders[address])
		args = append(args, "--resolve", fmt.Sprintf("%s=127.0.0.1:%d", u.Host, port))
		if every == 1 {
			args = append(args, address)
			continue
		}
		args = append(args, "--links=false")
		for i, name := range htmlFiles(t, m.folders[address]) {
			if i%every == 0 {
				args = append(args, address+name)
			}
		}
	}
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`%[1]s daemon off; pid %[2]s/nginx.pid; error_log stderr; events {}
http {
  access_log off; client_body_temp_path %[2]s/b; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
  types { text/html html; text/css css; text/javascript js; }
  index index.html;
  %[3]s
}
`, who, dir, servers)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon(t, "nginx", "-p", dir, "-c", conf)
	for _, port := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(servers, -1) {
		await(t, port)
	}
	run(t, program(t, "curtsy"), args...)
	m.rows, m.counts = jsonLines[manualRow](t, m.curtsy("pages", "--fields", "--json")), fieldCounts{}
	for _, r := range m.rows {
		for name, v := range r.Fields {
			m.counts.addAll(name, v)
		}
	}
	m.serve()
	return m
}

// htmlFiles are the names of the pages in a folder and in those below it. The lists of all terms
// and contents, which are as large as all other pages together, are left out.
func htmlFiles(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		short := strings.TrimPrefix(name, folder+"/")
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(short, ".html") && !strings.HasPrefix(short, "_") &&
			!slices.Contains([]string{"bookindex.html", "contents.html", "genindex-all.html"}, short) {
			names = append(names, short)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// serve starts the search page.
func (m *manuals) serve() {
	m.t.Helper()
	p := start(m.t, "curtsy serve", "curtsy", "serve", "--dir", m.data, "--listen", "127.0.0.1:0")
	testaid.Until(m.t, "curtsy serve writes where", func() bool {
		text, _ := os.ReadFile(p.log)
		if _, after, ok := strings.Cut(string(text), "search: "); ok && strings.Contains(after, "\n") {
			m.search, _, _ = strings.Cut(after, "\n")
		} else if p.over() {
			m.t.Fatalf("curtsy serve ended: %s", text)
		}
		return m.search != ""
	})
}

// curtsy runs a command about the crawl.
func (m *manuals) curtsy(args ...string) []byte {
	m.t.Helper()
	return run(m.t, program(m.t, "curtsy"), append(args, "--dir", m.data)...)
}

func jsonLines[T any](t *testing.T, b []byte) (all []T) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var row T
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// logCounts writes how many pages have which values, for people.
func (m *manuals) logCounts() {
	for _, manual := range m.values("manual") {
		pages, counts := 0, fieldCounts{}
		for _, r := range m.rows {
			if r.Fields["manual"] == manual {
				pages++
				for name, v := range r.Fields {
					counts.addAll(name, v)
					counts.add("", name)
				}
			}
		}
		m.t.Logf("%s: %d pages", manual, pages)
		for _, name := range slices.Sorted(maps.Keys(counts[""])) {
			m.t.Logf("  %s: empty on %d pages, %d values; most: %s", name, pages-counts[""][name], len(counts[name]), strings.Join(most(counts[name], 12), ", "))
		}
	}
}

// most are the values that most pages have, with their numbers.
func most(counts map[string]int, n int) (all []string) {
	for _, v := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) }) {
		all = append(all, fmt.Sprintf("%s %d", v, counts[v]))
	}
	return all[:min(n, len(all))]
}

// values are the values of a field in the order of the alphabet.
func (m *manuals) values(name string) []string { return slices.Sorted(maps.Keys(m.counts[name])) }

// nearlyAllHave checks on which part of the pages fields have a value.
func (m *manuals) nearlyAllHave(fields map[string]float64) {
	m.t.Helper()
	if len(m.rows) < 50 || len(m.counts["manual"]) != 2 || len(m.counts["kind"]) < 3 || len(m.counts["released"]) == 0 || len(m.counts["deprecated"]) != 2 {
		m.t.Errorf("%d pages, of which the manuals are %v, the kinds %v, the dates %v, deprecated %v", len(m.rows), m.counts["manual"], m.counts["kind"], m.counts["released"], m.counts["deprecated"])
	}
	for name, part := range fields {
		with := 0
		for _, r := range m.rows {
			if r.Fields[name] != nil {
				with++
			}
		}
		if float64(with) < part*float64(len(m.rows)) {
			m.t.Errorf("%s is empty on %d of %d pages", name, len(m.rows)-with, len(m.rows))
		}
	}
}

// kindsOfSources compares kinds with what the files of the manuals contain, which no rule reads.
func (m *manuals) kindsOfSources() {
	m.t.Helper()
	for _, c := range []struct{ kind, address, files, contains string }{
		{"SQL command", postgresManual, "sql-*.html", `title="SQL Commands">Up</a>`},
		{"library module", pythonManual, "library/*.html", `id="module-`},
	} {
		names, _ := filepath.Glob(filepath.Join(m.folders[c.address], c.files))
		want := 0
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				m.t.Fatal(err)
			}
			if bytes.Contains(text, []byte(c.contains)) {
				want++
			}
		}
		if got := m.counts["kind"][c.kind]; got != want || want == 0 {
			m.t.Errorf("%d pages are of kind %s, want %d", got, c.kind, want)
		}
	}
}

// filter is a filter of one value, as it is typed.
func filter(name, value string) string { return fmt.Sprintf("%s:%q", name, value) }

// narrowings are filters with the number of pages that they leave, by our count: all values of the
// fields, at most most of each, and ranges.
func (m *manuals) narrowings(most int) map[string]int {
	all := map[string]int{}
	for name, counts := range m.counts {
		// A filter compares without regard to letter case.
		folded := map[string]int{}
		for v, n := range counts {
			folded[query.Fold(v)] += n
		}
		values := m.values(name)
		for i, v := range values {
			if i%(len(values)/most+1) == 0 && !strings.ContainsAny(v, `"“”\`) {
				all[filter(name, v)] = folded[query.Fold(v)]
			}
		}
	}
	count := func(q string, passes func(r manualRow) bool) {
		for _, r := range m.rows {
			if passes(r) {
				all[q]++
			}
		}
	}
	number := func(r manualRow) float64 { n, _ := r.Fields["sections"].(float64); return n }
	count("sections:>=5", func(r manualRow) bool { return number(r) >= 5 })
	count("sections:2..4 kind:guide", func(r manualRow) bool { return number(r) >= 2 && number(r) <= 4 && r.Fields["kind"] == "guide" })
	count("-manual:python version:15", func(r manualRow) bool { return r.Fields["manual"] == "PostgreSQL" && r.Fields["version"] == "15" })
	count("released:2023..2024", func(r manualRow) bool {
		s, _ := r.Fields["released"].(string)
		return s >= "2023" && s < "2025"
	})
	count("kind:tutorial kind:guide", func(r manualRow) bool { return r.Fields["kind"] == "tutorial" || r.Fields["kind"] == "guide" })
	return all
}

// get fetches a page of the search server.
func (m *manuals) get(address string) *http.Response {
	m.t.Helper()
	at, err := url.Parse(m.search)
	if err == nil {
		at, err = at.Parse(address)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	res, err := http.Get(at.String())
	if err != nil {
		m.t.Fatal(err)
	}
	if res.StatusCode != 200 {
		m.t.Fatalf("%s: %s", at, res.Status)
	}
	return res
}

// answer is an answer of the HTTP interface.
func (m *manuals) answer(q string) (a struct {
	Total  int                           `json:"total"`
	Facets map[string][]crawl.FacetValue `json:"facets"`
}) {
	m.t.Helper()
	res := m.get("/api/v1/search?per=1&q=" + url.QueryEscape(q))
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		m.t.Fatal(err)
	}
	return a
}

// page is the search page at an address, and the number of pages that it says it has found.
func (m *manuals) page(address string) (d *goquery.Document, total int) {
	m.t.Helper()
	res := m.get(address)
	defer res.Body.Close()
	d, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return d, numberIn(d.Find("main .sum").Text())
}

var digits = regexp.MustCompile(`\d[\d,]*`)

// numberIn is the first number in a text, -1 if there is none.
func numberIn(text string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(digits.FindString(text), ",", ""))
	if err != nil {
		return -1
	}
	return n
}

// interfaces compares filters and facets of the HTTP interface and of the search page with our
// counts.
func (m *manuals) interfaces(most int) {
	m.t.Helper()
	for q, want := range m.narrowings(most) {
		if got := m.answer(q).Total; got != want {
			m.t.Errorf("the HTTP interface finds %d pages of %s, want %d", got, q, want)
		}
		if _, got := m.page("/search?q=" + url.QueryEscape(q)); got != want {
			m.t.Errorf("the search page finds %d pages of %s, want %d", got, q, want)
		}
	}
	for _, manual := range m.values("manual") {
		counts := fieldCounts{}
		for _, r := range m.rows {
			if r.Fields["manual"] == manual {
				for name, v := range r.Fields {
					counts.addAll(name, v)
				}
			}
		}
		facets := m.answer(filter("manual", manual)).Facets
		for _, name := range []string{"kind", "version", "release", "chapter", "sections", "deprecated", "breadcrumb"} {
			want := counts[name]
			if len(want) > 200 { // a field with so many values is not counted
				want = nil
			}
			got := facets[name]
			if len(got) != min(len(want), 20) {
				m.t.Errorf("%s: the facet %s has %d values, want %d", manual, name, len(got), min(len(want), 20))
			}
			least := int64(len(m.rows))
			for _, v := range got {
				if least = min(least, v.Count); v.Count != int64(want[v.Value]) {
					m.t.Errorf("%s: %s %s has %d pages, want %d", manual, name, v.Value, v.Count, want[v.Value])
				}
			}
			for v, n := range want { // what is left out is not more frequent
				if int64(n) > least && !slices.ContainsFunc(got, func(f crawl.FacetValue) bool { return f.Value == v }) {
					m.t.Errorf("%s: the facet %s lacks %s, which %d pages have", manual, name, v, n)
				}
			}
		}
		m.followFacets(manual)
	}
}

// followFacets follows each link of the facets on the search page, and then removes the filter.
func (m *manuals) followFacets(manual string) {
	m.t.Helper()
	from := "/search?q=" + url.QueryEscape(filter("manual", manual))
	d, all := m.page(from)
	followed := 0
	d.Find("aside section").Each(func(_ int, s *goquery.Selection) {
		if name := s.Find("h3").Text(); m.counts[name] == nil {
			return
		}
		s.Find("a").Each(func(_ int, a *goquery.Selection) {
			to, _ := a.Attr("href")
			u, err := url.Parse(to)
			if err != nil {
				m.t.Fatal(err)
			}
			if strings.TrimSpace(u.Query().Get("q")) == "" || strings.Contains(a.Text(), "Remove") {
				return
			}
			fields := strings.Fields(strings.ReplaceAll(a.Text(), "pages", " "))
			want, err := strconv.Atoi(strings.ReplaceAll(fields[len(fields)-1], ",", ""))
			if err != nil {
				m.t.Fatalf("%q has no number", a.Text())
			}
			narrowed, got := m.page(to)
			if got != want {
				m.t.Errorf("%s leads to %d pages, want %d", to, got, want)
			}
			back, _ := narrowed.Find(".chips a").Last().Attr("href")
			if _, got := m.page(back); got != all {
				m.t.Errorf("without the filter of %s there are %d pages, want %d", to, got, all)
			}
			followed++
		})
	})
	if followed < 8 {
		m.t.Errorf("%s: only %d links are below the facets", from, followed)
	}
}

// commands compares curtsy search with our counts: of some kinds, the first most, 0 for all.
func (m *manuals) commands(most int) {
	m.t.Helper()
	kinds := m.values("kind")
	if most > 0 {
		kinds = kinds[:min(most, len(kinds))]
	}
	for _, kind := range kinds {
		args := []string{"search", "--json", "--limit", "1000", filter("kind", kind)}
		if m.counts["kind"][kind] > 300 { // only so many are ranked
			args = append(args, "--sort=sections")
		}
		n := 0
		for _, hit := range jsonLines[crawl.Hit](m.t, m.curtsy(args...)) {
			n += 1 + len(hit.Also)
		}
		if n != m.counts["kind"][kind] {
			m.t.Errorf("curtsy search lists %d pages of kind %s, want %d", n, kind, m.counts["kind"][kind])
		}
	}
	facets := string(m.curtsy("search", "--facets", "--limit", "1", "-manual:nothing"))
	for kind, n := range m.counts["kind"] {
		line := regexp.MustCompile(`(?m)^kind:"?` + regexp.QuoteMeta(kind) + `"? +([\d,]+)$`).FindStringSubmatch(facets)
		if line == nil || numberIn(line[1]) != n {
			m.t.Errorf("curtsy search --facets has %q of kind %s, want %d", line, kind, n)
		}
	}
	last := 1e9
	for i, hit := range jsonLines[crawl.Hit](m.t, m.curtsy("search", "--json", "--limit", "20", "--sort=-sections", "sections:>=1")) {
		n, err := strconv.ParseFloat(strings.Join(hit.Fields.Get("sections"), ""), 64)
		if err != nil || n > last || i == 0 && m.counts["sections"][strconv.FormatFloat(n, 'f', -1, 64)] == 0 {
			m.t.Errorf("hit %d has %v sections, the one before %v", i+1, hit.Fields.Get("sections"), last)
		}
		last = n
	}
	if last == 1e9 {
		m.t.Error("sorted by sections there is no page")
	}
}

// same compares counts of another program with ours.
func (m *manuals) same(who string, got fieldCounts) {
	m.t.Helper()
	for name, want := range m.counts {
		if !maps.Equal(got[name], want) {
			m.t.Errorf("%s counts of %s: %v\nwant %v", who, name, most(got[name], 30), most(want, 30))
		}
	}
	if len(got) != len(m.counts) {
		m.t.Errorf("%s has %d fields, want %d", who, len(got), len(m.counts))
	}
}

// database feeds the pages to a PostgreSQL, which counts them.
func (m *manuals) database() {
	m.t.Helper()
	d := startDatabase(m.t)
	m.curtsy("feed", "--to", d.url("&table=pages").String())
	got := fieldCounts{}
	for _, row := range d.query(`SELECT f.key, v.value, count(DISTINCT id) FROM pages, jsonb_each(fields) f, jsonb_array_elements_text(
			CASE jsonb_typeof(f.value) WHEN 'array' THEN f.value ELSE jsonb_build_array(f.value) END) v GROUP BY 1, 2`) {
		parts := strings.Split(row, "|")
		n, err := strconv.Atoi(parts[len(parts)-1])
		if err != nil {
			m.t.Fatal(row)
		}
		name, value := parts[0], strings.Join(parts[1:len(parts)-1], "|")
		if got[name] == nil {
			got[name] = map[string]int{}
		}
		got[name][value] = n
	}
	m.same("PostgreSQL", got)
	if n := d.query("SELECT count(*) FROM pages"); n[0] != strconv.Itoa(len(m.rows)) {
		m.t.Errorf("PostgreSQL has %s pages, want %d", n[0], len(m.rows))
	}
	for sql, q := range map[string]string{
		`fields @> '{"kind": "tutorial"}'`: "kind:tutorial", `fields @> '{"breadcrumb": ["SQL Commands"]}'`: `breadcrumb:"SQL Commands"`,
		`(fields->>'sections')::numeric >= 5`: "sections:>=5", `(fields->>'released')::timestamptz >= '2023-01-01Z'`: "released:>=2023",
		`(fields->>'deprecated')::boolean`: "deprecated:true",
	} {
		want := m.answer(q).Total
		if n := d.query("SELECT count(*) FROM pages WHERE " + sql); n[0] != strconv.Itoa(want) || want == 0 {
			m.t.Errorf("PostgreSQL has %s pages with %s, the search %d", n[0], sql, want)
		}
	}
}

// parquet exports the pages, and counts what arrow-go reads.
func (m *manuals) parquet() {
	m.t.Helper()
	name := filepath.Join(m.t.TempDir(), "pages.parquet")
	if err := os.WriteFile(name, m.curtsy("export", "pages", "--format", "parquet"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-tags", "arrow", "./parquet/rows", name)
	cmd.Dir = filepath.Join(root, "bench") // a module of its own
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("%v\n%s", err, tail(stderr.Bytes()))
	}
	got, rows := fieldCounts{}, jsonLines[map[string]any](m.t, out)
	for _, row := range rows {
		for name := range m.counts {
			v := row[name]
			if s, ok := v.(string); ok && name == "released" {
				at, err := time.Parse(time.RFC3339, s)
				if err != nil {
					m.t.Fatal(err)
				}
				v = at.UTC().Format(time.RFC3339)
			}
			got.addAll(name, v)
		}
	}
	m.same("arrow-go", got)
	if len(rows) != len(m.rows) {
		m.t.Errorf("arrow-go reads %d rows, want %d", len(rows), len(m.rows))
	}
}

// browse narrows a search in a browser, and removes the filter again.
func (m *manuals) browse(scripts bool) {
	m.t.Helper()
	b := startBrowser(m.t, 1200, scripts)
	b.open(m.search + "?q=" + url.QueryEscape("manual:PostgreSQL"))
	all := numberIn(b.text(".sum"))
	b.fits("the answer")
	b.keep(fmt.Sprintf("manuals-scripts-%v", scripts))
	b.follow(`aside a[href*="kind%3A%22sql+command%22"]`)
	if got, want := numberIn(b.text(".sum")), m.counts["kind"]["SQL command"]; got != want || got == all {
		m.t.Errorf("a click on SQL command leads to %d pages, want %d", got, want)
	}
	if chip := b.text(".chips li:last-child"); !strings.Contains(chip, "kind: SQL command") {
		m.t.Errorf("the filter is shown as %q", chip)
	}
	b.fits("the narrowed answer")
	b.keep(fmt.Sprintf("manuals-narrowed-scripts-%v", scripts))
	b.follow(`.chips li:last-child a`)
	if got := numberIn(b.text(".sum")); got != all {
		m.t.Errorf("without the filter there are %d pages, want %d", got, all)
	}
}
