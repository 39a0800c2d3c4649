package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document/documenttest"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/curtsy/curtsy/pkg/canon"
)

// directed is a page with directives about its use.
type directed struct {
	name   string // also of what only this page holds: its title, words, link and dataset
	header string
	meta   string
	max    int  // how many characters a snippet of it may have; 0: any number
	quiet  bool // its word says data-nosnippet
	pdf    bool // it is a PDF, which has no meta and tells of no datasets
}

// directives are the rows of TestDirectives: each directive of a page, in a header field and in a
// meta element.
var directives = []directed{
	{name: "plain"},
	{name: "noindex-header", header: "X-Robots-Tag: noindex"},
	{name: "noindex-meta", meta: "noindex"},
	{name: "noindex-ours", header: "X-Robots-Tag: curtsy: noindex"},
	{name: "noindex-other", header: "X-Robots-Tag: otherbot: noindex"},
	{name: "none", meta: "none"},
	{name: "nofollow", header: "X-Robots-Tag: nofollow"},
	{name: "nosnippet-header", header: "Robots-Tag: nosnippet"},
	{name: "nosnippet-meta", meta: "nosnippet"},
	{name: "max-snippet-0", meta: "max-snippet:0"},
	{name: "max-snippet-header", header: "X-Robots-Tag: max-snippet:40", max: 40},
	{name: "max-snippet-meta", meta: "max-snippet:40", max: 40},
	{name: "max-snippet-us", header: "X-Robots-Tag: max-snippet:90; curtsy: max-snippet:40; otherbot: max-snippet:1", meta: "max-snippet:60", max: 40},
	{name: "max-snippet-tiny", meta: "max-snippet:10", max: 10}, // less than its word
	{name: "max-snippet-any", meta: "max-snippet:-1"},
	{name: "data-nosnippet", quiet: true},
	{name: "noarchive-header", header: "X-Robots-Tag: noarchive"},
	{name: "noarchive-meta", meta: "noarchive"},
	{name: "both", header: "X-Robots-Tag: noarchive", meta: "nosnippet"},
	{name: "expired-header", header: "X-Robots-Tag: unavailable_after: 2020-01-02"},
	{name: "expired-meta", meta: "unavailable_after: 2 Jan 2020 10:00:00 GMT"},
	{name: "expires-later", meta: "unavailable_after: 2999-01-02"},
	{name: "expires-soon"}, // its date is made when it is asked for
	{name: "noindex-later"},
	{name: "pdf-plain", pdf: true},
	{name: "pdf-noindex", header: "X-Robots-Tag: noindex", pdf: true},
	{name: "pdf-none", header: "X-Robots-Tag: curtsy: none", pdf: true},
	{name: "pdf-nosnippet", header: "X-Robots-Tag: nosnippet", pdf: true},
	{name: "pdf-max-snippet", header: "X-Robots-Tag: max-snippet:40", max: 40, pdf: true},
	{name: "pdf-noarchive", header: "X-Robots-Tag: noarchive", pdf: true},
	{name: "pdf-nofollow", header: "X-Robots-Tag: nofollow", pdf: true},
	{name: "pdf-expired", header: "X-Robots-Tag: unavailable_after: 2020-01-02", pdf: true},
}

// directedLimits is how curtsy explain shows the excerpts of pages that limit them.
var directedLimits = map[string]string{
	"nosnippet-header":   "snippets not allowed: nosnippet in its X-Robots-Tag or Robots-Tag header",
	"nosnippet-meta":     "snippets not allowed: nosnippet in its robots meta",
	"max-snippet-0":      "snippets not allowed: nosnippet in its robots meta",
	"max-snippet-header": "snippets at most 40 characters: max-snippet:40 in its X-Robots-Tag or Robots-Tag header",
	"max-snippet-meta":   "snippets at most 40 characters: max-snippet:40 in its robots meta",
	"max-snippet-us":     "snippets at most 40 characters: max-snippet:40 in its X-Robots-Tag or Robots-Tag header",
	"max-snippet-tiny":   "snippets at most 10 characters: max-snippet:10 in its robots meta",
	"data-nosnippet":     "snippets all but 2 parts of the text: data-nosnippet in its text",
	"pdf-nosnippet":      "snippets not allowed: nosnippet in its X-Robots-Tag or Robots-Tag header",
	"pdf-max-snippet":    "snippets at most 40 characters: max-snippet:40 in its X-Robots-Tag or Robots-Tag header",
	"both":               "snippets not allowed: nosnippet in its robots meta",
}

const directedHost = "http://h0000.sim.test/"

func (d directed) url() string {
	if d.pdf {
		return directedHost + d.name + ".pdf"
	}
	return directedHost + d.name + ".html"
}

// word is on no other page. It is a name in letters, which search reads as a single word.
func (d directed) word() string {
	return "zebra" + strings.NewReplacer("-", "", "0", "o").Replace(d.name)
}

// field is the value of the field kind, which is on no other page, either.
func (d directed) field() string { return strings.Replace(d.word(), "zebra", "yak", 1) }

// answer is the page; more are other header lines.
func (d directed) answer(more ...string) *simweb.Answer {
	data := fmt.Sprintf(`{"@context":"https://schema.org/","@type":"Dataset","name":"data-%s","description":"The prose %s says of its data.",`+
		`"distribution":{"@type":"DataDownload","contentUrl":"%sfiles/%s.csv"}}`, d.name, d.word(), directedHost, d.name)
	meta := ""
	if d.meta != "" {
		meta = `<meta name="robots" content="` + d.meta + `">`
	}
	if d.header != "" {
		more = append(more, d.header)
	}
	word := d.word()
	if d.pdf {
		say := documenttest.Content{Title: "Title of " + d.name, Text: "Here the " + word + " walks along the quiet harbour.", Link: directedHost + "to/" + d.name}
		return &simweb.Answer{Header: more, ContentType: "application/pdf", Body: string(say.PDF())}
	}
	kind := "<b>" + d.field() + "</b>"
	if d.quiet {
		word, kind = "<span data-nosnippet>"+word+"</span>", "<span data-nosnippet>"+kind+"</span>"
	}
	return &simweb.Answer{Header: more, Body: fmt.Sprintf(`<!DOCTYPE html><html lang="en"><head><title>Title of %s</title>%s`+
		`<script type="application/ld+json">%s</script></head><body><p>Here the %s walks along the quiet harbour.</p>%s<a href="/to/%s">on</a></body></html>`,
		d.name, meta, data, word, kind, d.name)}
}

// looking is what all columns show at one time. Commands that print lists are run once.
type looking struct {
	t     *testing.T
	dir   string
	lists map[string]string
	mcp   *helper
	odd   []string // where two columns contradict one another
}

func (l *looking) wrong(format string, args ...any) {
	l.odd = append(l.odd, fmt.Sprintf(format, args...))
}

func (l *looking) run(args ...string) string {
	l.t.Helper()
	key := strings.Join(args, " ")
	out, ok := l.lists[key]
	if !ok {
		out = curtsy(l.t, 0, append(args, "--dir", l.dir)...)
		l.lists[key] = out
	}
	return out
}

// assistant is a session of an assistant, opened once.
func (l *looking) assistant() *helper {
	if l.mcp == nil {
		l.mcp = assistant(l.t, "--dir", l.dir)
	}
	return l.mcp
}

// files is a folder with an export of a file a page, made once.
func (l *looking) files() string {
	if l.lists["files"] == "" {
		l.lists["files"] = filepath.Join(l.t.TempDir(), "files")
		curtsy(l.t, 0, "export", "pages", "--format", "files", "--content", "html", "--out", l.lists["files"], "--dir", l.dir)
	}
	return l.lists["files"]
}

// short reports hits of a page whose snippets are longer than it allows.
func (l *looking) short(d directed, hits ...crawl.Hit) {
	l.t.Helper()
	for _, h := range hits {
		if n := utf8.RuneCountInString(text(h.Snippet)); d.max > 0 && n > d.max {
			l.wrong("%s: a snippet of %d characters, at most %d: %q", d.name, n, d.max, *h.Snippet)
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// line is the first line of a list that has a text, "" if none has.
func line(list, text string) string {
	for l := range strings.Lines(list) {
		if strings.Contains(l, text) {
			return l
		}
	}
	return ""
}

// directedColumns are the places in which a page can appear. Each is "-" if nothing of the page
// does.
var directedColumns = []struct {
	name string
	see  func(l *looking, d directed) string
}{
	{"search", func(l *looking, d directed) string {
		out := l.run("search", d.word())
		return seen(strings.Contains(out, "Title of "+d.name+"\n"), strings.Contains(out, d.word()))
	}},
	{"search-json", func(l *looking, d directed) string {
		out := l.run("search", "--json", "--explain", d.word())
		var h crawl.Hit
		if out != "" && json.Unmarshal([]byte(out), &h) != nil || h.Snippet == nil && len(h.Marks) > 0 {
			l.wrong("search --json: %s", out)
		}
		l.short(d, h)
		return seen(h.URL == d.url(), strings.Contains(out, d.word()))
	}},
	{"pages", func(l *looking, d directed) string {
		table, lines := line(l.run("pages"), d.url()), line(l.run("pages", "--json"), `"url":"`+d.url())
		if (table == "") != (lines == "") {
			l.wrong("pages lists %q, pages --json %q", table, lines)
		}
		return seen(strings.Contains(table, "Title of "+d.name), strings.Contains(lines, d.word()))
	}},
	{"page-text", func(l *looking, d directed) string { return l.page(d, "text") }},
	{"page-html", func(l *looking, d directed) string { return l.page(d, "html") }},
	{"mcp-search", func(l *looking, d directed) string {
		a, _ := l.assistant().asks("search", args{"query": d.word()})
		for _, h := range a.Hits {
			if h.URL == d.url() {
				l.short(d, crawl.Hit{Snippet: &h.Snippet})
				return seen(true, strings.Contains(h.Snippet, d.word()))
			}
		}
		return seen(false, strings.Contains(fmt.Sprint(a), d.word()))
	}},
	{"mcp-page", func(l *looking, d directed) string {
		p, said, failed := l.assistant().call("page", args{"url": d.url()})
		l.short(d, crawl.Hit{Snippet: &p.Text})
		return seen(!failed && p.URL == d.url(), strings.Contains(said+p.Text, d.word()))
	}},
	{"http-search", func(l *looking, d directed) string {
		var a search.Answer
		out := l.get("/api/v1/search?explain=1&q=" + d.word())
		if err := json.Unmarshal([]byte(out), &a); err != nil {
			l.wrong("%v", err)
		}
		l.short(d, a.Hits...)
		body, err := json.Marshal(a.Hits)
		if err != nil {
			l.wrong("%v", err)
		}
		return seen(strings.Contains(string(body), d.url()), strings.Contains(string(body), d.word()))
	}},
	{"http-html", func(l *looking, d directed) string {
		_, hits, _ := strings.Cut(l.get("/search?q="+d.word()), `<ol class="hits"`)
		hits, _, _ = strings.Cut(hits, "</ol>")
		return seen(strings.Contains(hits, "Title of "+d.name+"<"), strings.Contains(hits, `<p class="snippet"`) && strings.Contains(hits, d.word()))
	}},
	{"http-text", func(l *looking, d directed) string { return l.record(d, "text") }},
	{"http-source", func(l *looking, d directed) string { return l.record(d, "html") }},
	{"jsonl", func(l *looking, d directed) string {
		row := line(l.run("export", "pages"), `"url":"`+d.url()+`"`)
		return seen(row != "", strings.Contains(row, d.word()))
	}},
	{"parquet", func(l *looking, d directed) string {
		out := l.run("export", "pages", "--format", "parquet")
		rows, err := parquet.Read[export.Page](strings.NewReader(out), int64(len(out)))
		if err != nil {
			l.wrong("%v", err)
		}
		for _, p := range rows {
			if p.URL == d.url() {
				return seen(true, strings.Contains(text(p.Text), d.word()))
			}
		}
		return seen(false, strings.Contains(out, d.url()))
	}},
	{"csv", func(l *looking, d directed) string {
		rows, err := csv.NewReader(strings.NewReader(l.run("export", "pages", "--format", "csv"))).ReadAll()
		if err != nil {
			l.wrong("%v", err)
		}
		for _, row := range rows {
			if row[slices.Index(rows[0], "url")] == d.url() {
				return seen(true, strings.Contains(row[slices.Index(rows[0], "text")], d.word()))
			}
		}
		return seen(false, false)
	}},
	{"bulk", func(l *looking, d directed) string {
		out := l.run("export", "pages", "--format", "bulk")
		row := line(out, `"url":"`+d.url()+`"`)
		if strings.Contains(out, export.DocumentID(d.url())) != (row != "") {
			l.wrong("%s: an action without its document, or the reverse", d.name)
		}
		return seen(row != "", strings.Contains(row, d.word()))
	}},
	{"files", func(l *looking, d directed) string {
		out := filepath.Join(l.files(), export.FileName(canon.URL(d.url()), "html"))
		body, err := os.ReadFile(out)
		index, ierr := os.ReadFile(filepath.Join(l.files(), export.IndexFile))
		if ierr != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.wrong("%v, %v", err, ierr)
		}
		row := line(string(index), `"url":"`+d.url()+`"`)
		if strings.Contains(row, `"file":`) != (err == nil) {
			l.wrong("%s: the index says %q of its file: %v", d.name, row, err)
		}
		return seen(row != "", strings.Contains(string(body), d.word()))
	}},
	{"markdown", func(l *looking, d directed) string {
		row := line(l.run("export", "pages", "--format", "markdown"), `"url":"`+d.url()+`"`)
		return seen(row != "", strings.Contains(row, d.word()))
	}},
	{"chunks", func(l *looking, d directed) string {
		row := line(l.run("export", "pages", "--format", "chunks"), `"url":"`+d.url()+`"`)
		return seen(row != "", strings.Contains(row, d.word()))
	}},
	{"text", func(l *looking, d directed) string {
		out := l.run("export", "pages", "--format", "text")
		return seen(strings.Contains(out, d.url()), strings.Contains(out, d.word()))
	}},
	{"html", func(l *looking, d directed) string {
		out := l.run("export", "pages", "--format", "html")
		return seen(strings.Contains(out, "<title>Title of "+d.name+"<"), strings.Contains(out, d.word()))
	}},
	{"links", func(l *looking, d directed) string {
		row := line(l.run("export", "links"), `"from":"`+d.url()+`"`)
		return seen(row != "", strings.Contains(row, "/to/"+d.name))
	}},
	{"links-parquet", func(l *looking, d directed) string {
		out := l.run("export", "links", "--format", "parquet")
		rows, err := parquet.Read[export.Link](strings.NewReader(out), int64(len(out)))
		if err != nil {
			l.wrong("%v", err)
		}
		from := func(r export.Link) bool { return r.From == d.url() }
		return seen(slices.ContainsFunc(rows, from), slices.ContainsFunc(rows, func(r export.Link) bool { return from(r) && strings.HasSuffix(text(r.To), "/to/"+d.name) }))
	}},
	{"datasets", func(l *looking, d directed) string {
		row := line(l.run("datasets", "--json"), "data-"+d.name)
		if table := line(l.run("datasets"), "data-"+d.name); (table == "") != (row == "") {
			l.wrong("datasets lists %q, datasets --json %q", table, row)
		}
		return seen(row != "", strings.Contains(row, d.word()))
	}},
	{"dcat", func(l *looking, d directed) string {
		out := l.run("export", "datasets", "--format", "dcat")
		return seen(strings.Contains(out, "data-"+d.name), strings.Contains(out, d.word()))
	}},
	{"sets-parquet", func(l *looking, d directed) string {
		out := l.run("export", "datasets", "--format", "parquet")
		rows, err := parquet.Read[export.Dataset](strings.NewReader(out), int64(len(out)))
		if err != nil {
			l.wrong("%v", err)
		}
		named := func(r export.Dataset) bool { return text(r.Name) == "data-"+d.name || text(r.Title) == "data-"+d.name }
		return seen(slices.ContainsFunc(rows, named), slices.ContainsFunc(rows, func(r export.Dataset) bool { return strings.Contains(text(r.Description), d.word()) }))
	}},
	{"sets-bulk", func(l *looking, d directed) string {
		row := line(l.run("export", "datasets", "--format", "bulk"), "data-"+d.name)
		return seen(row != "", strings.Contains(row, d.word()))
	}},
	{"fields", func(l *looking, d directed) string {
		var shown []string
		show := func(where, text string) {
			shown = append(shown, fmt.Sprintf("%s:%v", where, strings.Contains(text, d.field())))
		}
		show("pages", line(l.run("pages", "--json"), `"url":"`+d.url()))
		show("search", l.run("search", "--json", d.word()))
		var row struct {
			Fields crawl.Fields `json:"fields"`
		}
		if out := line(l.run("export", "pages"), `"url":"`+d.url()+`"`); out != "" && json.Unmarshal([]byte(out), &row) != nil {
			l.wrong("%s", out)
		}
		show("export", fmt.Sprint(row.Fields))
		show("filter", l.run("search", "--json", "kind:"+d.field()))
		shows := strings.HasSuffix(shown[0], "true")
		for _, s := range shown {
			if strings.HasSuffix(s, "true") != shows {
				l.wrong("%s: the field is %v", d.name, shown)
			}
		}
		return map[bool]string{true: "whole", false: "-"}[shows]
	}},
	{"explain", func(l *looking, d directed) string {
		x := l.explain(d.url())
		limits := strings.Join(strings.Fields(line(l.run("explain", d.url()), "snippets ")), " ")
		if strings.HasPrefix(limits, "snippets none, because the page must not be shown after ") && d.name == "expires-soon" {
			limits = "" // TestDirectives looks at it
		}
		if want := directedLimits[d.name]; limits != want {
			l.wrong("%s: curtsy explain says %q of its excerpts, want %q", d.name, limits, want)
		}
		if x.Reason == "" {
			return x.State
		}
		return x.State + ":" + string(x.Reason)
	}},
	{"followed", func(l *looking, d directed) string {
		return map[bool]string{true: "yes", false: "no"}[l.explain(directedHost+"to/"+d.name).Seen]
	}},
}

func (l *looking) explain(u string) (x crawl.Explanation) {
	if err := json.Unmarshal([]byte(l.run("explain", "--json", u)), &x); err != nil {
		l.wrong("%v", err)
	}
	return x
}

// seen is a cell: whether the page is shown, and its text.
func seen(shown, text bool) string {
	switch {
	case shown && text:
		return "whole"
	case text:
		return "TEXT-ALONE"
	case shown:
		return "bare"
	}
	return "-"
}

// get asks for something by HTTP, as curtsy serve answers it.
func (l *looking) get(path string) string {
	from, err := engine.OpenFiles(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	defer from.Close()
	rec := httptest.NewRecorder()
	search.New(search.Options{Crawl: from}).ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
	if rec.Code != http.StatusOK && rec.Code != http.StatusNotFound {
		l.wrong("%s: %d %s", path, rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// record asks for one page by HTTP.
func (l *looking) record(d directed, content string) string {
	body := l.get("/api/v1/pages?content=" + content + "&url=" + d.url())
	return seen(strings.Contains(body, `"fetched_at"`), strings.Contains(body, d.word()))
}

// page asks for one page.
func (l *looking) page(d directed, format string) string {
	from, err := engine.OpenFiles(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	defer from.Close()
	rec, found, err := from.Page(l.t.Context(), d.url(), format)
	if err != nil {
		l.t.Fatal(err)
	}
	content := rec.Text + rec.HTML
	if (rec.Withheld == "") == (content == "") && found {
		l.wrong("%s as %s: withheld %q, and %d bytes of content", d.url(), format, rec.Withheld, len(content))
	}
	return seen(found, strings.Contains(content, d.word()))
}

// see returns the rows of some pages, and the contradictions in them.
func see(t *testing.T, dir string, pages ...directed) string {
	t.Helper()
	rows, odd := looked(t, dir, pages...)
	for _, o := range odd {
		t.Error(o)
	}
	return rows
}

// looked is see for pages that may change meanwhile.
func looked(t *testing.T, dir string, pages ...directed) (rows string, odd []string) {
	t.Helper()
	l := &looking{t: t, dir: dir, lists: map[string]string{}}
	var b strings.Builder
	for _, d := range pages {
		b.WriteString(d.name)
		for _, c := range directedColumns {
			b.WriteString(" " + c.see(l, d))
		}
		b.WriteByte('\n')
	}
	return b.String(), l.odd
}

// holds compares rows cell by cell.
func holds(t *testing.T, when, got, want string) {
	t.Helper()
	rows, seen := strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(got), "\n")
	if len(rows) != len(seen) {
		t.Fatalf("%s: %d rows, want %d", when, len(seen), len(rows))
	}
	for i, row := range rows {
		w, g := strings.Fields(row), strings.Fields(seen[i])
		if n := len(directedColumns) + 1; len(w) != n || len(g) != n || w[0] != g[0] {
			t.Fatalf("%s: %q against %q", when, g, w)
		}
		for j, c := range directedColumns {
			if w[j+1] != g[j+1] {
				t.Errorf("%s: %s in %s is %s, want %s", when, w[0], c.name, g[j+1], w[j+1])
			}
		}
	}
}

// TestDirectives: the directives of a page are obeyed wherever it could appear, from the request to
// the answer. Whole is a page with its text, bare one without.
func TestDirectives(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 1, Mix: func(int) simweb.Behavior { return simweb.Behavior{Pages: -1} }})
		var links strings.Builder
		var date time.Time // when the page that expires soon does
		var once sync.Once
		named := map[string]directed{}
		for _, d := range directives {
			named[d.name] = d
			fmt.Fprintf(&links, `<a href="%s">%s</a> `, d.url(), d.name)
			web.Override(d.url(), d.answer())
		}
		soon, later := named["expires-soon"], named["noindex-later"]
		web.Handle(soon.url(), func(string, string) simweb.Answer {
			once.Do(func() { date = time.Now().Add(6 * time.Second).Truncate(time.Second).UTC() })
			return *soon.answer("X-Robots-Tag: unavailable_after: " + date.Format(time.RFC1123))
		})
		web.Override(directedHost, &simweb.Answer{Body: "<!DOCTYPE html><title>home</title>" + links.String()})
		dir, sites := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "sites.yaml")
		if err := os.WriteFile(sites, []byte("sites:\n  h0000.sim.test:\n    fields: {kind: {css: b, type: keyword}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		curtsy(t, app.ExitOK, "crawl", "--dir", dir, "--sites", sites, "--allow-private", "--delay", "0s", "--types", "html,text,pdf", "--resolve", web.Resolve(), directedHost)

		if before, odd := looked(t, dir, soon); time.Now().Before(date) {
			for _, o := range odd {
				t.Error(o)
			}
			holds(t, "before its date", before, `
			expires-soon     whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes`)
		} else {
			t.Log("the machine is too slow to see a page before it expires")
		}
		holds(t, "after the crawl", see(t, dir, slices.DeleteFunc(slices.Clone(directives), func(d directed) bool { return d.name == soon.name })...), `
			plain            whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			noindex-header   -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes
			noindex-meta     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes
			noindex-ours     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes
			noindex-other    whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			none             -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex no
			nofollow         whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole -     -     whole whole whole whole whole stored          no
			nosnippet-header bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole bare  bare  bare  bare  -     stored          yes
			nosnippet-meta   bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole bare  bare  bare  bare  -     stored          yes
			max-snippet-0    bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole bare  bare  bare  bare  -     stored          yes
			max-snippet-header whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			max-snippet-meta whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			max-snippet-us   whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			max-snippet-tiny bare  bare  bare  whole whole bare  bare  bare  bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole -     stored          yes
			max-snippet-any  whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			data-nosnippet   bare  bare  bare  bare  whole bare  bare  bare  bare  bare  whole bare  bare  bare  bare  whole bare  bare  bare  whole whole whole whole whole whole whole -     stored          yes
			noarchive-header whole whole bare  bare  bare  whole bare  whole whole bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole whole whole whole whole whole stored          yes
			noarchive-meta   whole whole bare  bare  bare  whole bare  whole whole bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole whole whole whole whole whole stored          yes
			both             bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole bare  bare  bare  bare  -     stored          yes
			expired-header   -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes
			expired-meta     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes
			expires-later    whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			noindex-later    whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole stored          yes
			pdf-plain        whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole -     -     -     -     -     stored yes
			pdf-noindex      -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes
			pdf-none         -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex no
			pdf-nosnippet    bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole -     -     -     -     -     stored yes
			pdf-max-snippet  whole whole bare  whole whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole -     -     -     -     -     stored yes
			pdf-noarchive    whole whole bare  bare  bare  whole bare  whole whole bare  bare  bare  bare  bare  bare  bare  bare  -     -     -     whole whole -     -     -     -     -     stored yes
			pdf-nofollow     whole whole bare  whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole whole -     -     -     -     -     -     -     stored no
			pdf-expired      -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes`)

		for time.Now().Before(date) {
			time.Sleep(50 * time.Millisecond)
		}
		holds(t, "when its date has passed and nothing runs", see(t, dir, soon), `
			expires-soon     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     stored          yes`)

		want := "the page must not be shown after " + date.Format("2006-01-02 15:04:05 MST") + ": unavailable_after in its X-Robots-Tag or Robots-Tag header"
		if got := curtsy(t, app.ExitOK, "explain", "--dir", dir, soon.url()); !strings.Contains(got, want) {
			t.Errorf("curtsy explain does not say why the page is found nowhere:\n%s", got)
		}

		later.header = "X-Robots-Tag: noindex"
		web.Override(later.url(), later.answer())
		for _, p := range []directed{later, soon} {
			curtsy(t, app.ExitOK, "refetch", "--dir", dir, p.url())
		}
		curtsy(t, app.ExitOK, "crawl", "--dir", dir)
		holds(t, "after a later crawl", see(t, dir, later, soon), `
			noindex-later    -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes
			expires-soon     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     -     refused:noindex yes`)
	})
}
