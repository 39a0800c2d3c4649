package siterules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/rulefile"
)

func read(t testing.TB, entry, page string) Output {
	t.Helper()
	r := mustParse(t, "sites:\n  x.example:\n    "+entry+"\n")
	return r.For("https://x.example/").Read(Input{URL: "https://x.example/", ContentType: "text/html", Body: []byte(page)})
}

// Pages for which selectors and expressions would take quadratic time or worse. The budget ends
// them, and Cut says so; the other fields are read.
func TestHostilePages(t *testing.T) {
	deep := strings.Repeat("<div>", 250) + strings.Repeat("<b></b>", 50_000)
	wide := strings.Repeat("<p>x", 20_000)
	for name, c := range map[string]struct{ entry, page, cut string }{
		"descendants": {`fields: {f: {css: "div div div div div div div div i"}, g: {const: a}}`, deep, ""},
		"siblings":    {`fields: {f: {css: "p ~ p ~ p ~ p ~ i"}, g: {const: a}}`, wide, ""},
		"nth":         {`fields: {f: {css: "p:nth-last-child(2n+1) i"}, g: {const: a}}`, wide, "the CSS selectors took too many steps; later ones found nothing"},
		"has":         {`fields: {f: {css: "div:has(i)"}, g: {const: a}}`, deep, ""},
		"contains":    {`fields: {f: {css: "div:contains('zzz')"}, g: {const: a}}`, strings.Repeat("<div>y", 250) + strings.Repeat("z y ", 1<<19), "the CSS selectors took too many steps; later ones found nothing"},
		"xpath":       {`fields: {f: {xpath: "//p[count(preceding-sibling::p) > count(following-sibling::p)]/i"}, g: {const: a}}`, wide, "the XPath expressions took too many steps; later ones found nothing"},
		"nested":      {`fields: {f: {xpath: "//*[//*[//p = 'q']]"}, g: {const: a}}`, wide, "the XPath expressions took too many steps; later ones found nothing"},
		"json":        {`fields: {f: {jsonld: a.b}, g: {const: a}}`, `<script type="application/ld+json">{"a":[` + strings.Repeat(`{"b":[]},`, 60_000) + `1]}</script>`, `jsonld "a.b" passes too many values`},
		"much json":   {`fields: {f: {jsonld: a}, g: {const: a}}`, `<script type="application/ld+json">{"a":"` + strings.Repeat("x", maxJSONLD) + `"}</script>`, "the page has more than 1 MiB of JSON-LD"},
		"json depth":  {`fields: {f: {jsonld: a}, g: {const: a}}`, `<script type="application/ld+json">` + strings.Repeat(`{"a":[`, 4000) + strings.Repeat(`]}`, 4000) + `</script>`, ""},
		"elements":    {`fields: {f: {css: i}, g: {const: a}}`, strings.Repeat("<br>", maxNodes+1), "the page has more than 200000 elements and texts; rules see only its beginning"},
		"attributes":  {`fields: {f: {css: "[b=c] i"}, g: {const: a}}`, "<p " + strings.Repeat("a ", 200_000) + ">", ""},
	} {
		out := read(t, c.entry, c.page)
		if got := strings.Join(out.Cut, "; "); got != c.cut {
			t.Errorf("%s: cut %q, want %q", name, got, c.cut)
		}
		if got := fmt.Sprint(out.Empty, out.Ruled.Fields); got != "[f] [{g keyword false [a]}]" {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}

// Limits of values, at the limit and past it.
func TestValueLimits(t *testing.T) {
	list := func(n int) (page string) {
		for i := range n {
			page += fmt.Sprintf("<li>v%d", i)
		}
		return page
	}
	for _, c := range []struct {
		entry, page string
		values, len int
		cut         string
	}{
		{`fields: {f: {css: li, many: true}}`, list(MaxValues), MaxValues, 2, ""},
		{`fields: {f: {css: li, many: true}}`, list(MaxValues + 1), MaxValues, 2, "field f has more than 32 values"},
		{`fields: {f: {css: li, many: true}}`, list(MaxValues) + list(MaxValues), MaxValues, 2, ""},
		{`fields: {f: {css: p}}`, "<p>" + strings.Repeat("é", MaxKeyword/2), 1, MaxKeyword, ""},
		{`fields: {f: {css: p}}`, "<p>x" + strings.Repeat("é", MaxKeyword/2), 1, MaxKeyword - 1, "field f: a value is longer than 1024 bytes"},
		{`fields: {f: {css: p, type: text}}`, "<p>" + strings.Repeat("x", MaxLongText), 1, MaxLongText, ""},
		{`fields: {f: {css: p, type: text}}`, "<p>" + strings.Repeat("x", MaxLongText+1), 1, MaxLongText, "field f: a value is longer than 16384 bytes"},
	} {
		out := read(t, c.entry, c.page)
		if len(out.Ruled.Fields) != 1 || strings.Join(out.Cut, "; ") != c.cut {
			t.Fatalf("%s: %d fields, cut %q, want %q", c.entry, len(out.Ruled.Fields), out.Cut, c.cut)
		}
		if v := out.Ruled.Fields[0].Values; len(v) != c.values || len(v[0]) != c.len {
			t.Errorf("%s: %d values of %d bytes, want %d of %d", c.entry, len(v), len(v[0]), c.values, c.len)
		}
	}
	entry := "fields: {a: {css: p, type: text}, b: {css: p, type: text}, c: {css: p, type: text}, d: {css: p, type: text}, e: {css: i}}"
	page := "<p>" + strings.Repeat("x", MaxLongText) + "</p><i>y"
	out := read(t, entry, page)
	if len(out.Ruled.Fields) != 4 || strings.Join(out.Empty, " ") != "e" || strings.Join(out.Cut, "") != "the fields of the page have more than 65536 bytes" {
		t.Errorf("past the limit of a page: %d fields, %q, %q", len(out.Ruled.Fields), out.Empty, out.Cut)
	}
	if out = read(t, entry, strings.Replace(page, "xxxx", "xxx", 1)); len(out.Ruled.Fields) != 5 || len(out.Cut) > 0 {
		t.Errorf("at the limit of a page: %d fields, %q", len(out.Ruled.Fields), out.Cut)
	}
}

// Limits of files, at the limit and past it.
func TestFileLimits(t *testing.T) {
	fields := func(n, from int) string {
		var b strings.Builder
		b.WriteString("    fields:\n")
		for i := range n {
			fmt.Fprintf(&b, "      f%d: {css: p}\n", from+i)
		}
		return b.String()
	}
	many := func(sites int) string {
		var b strings.Builder
		b.WriteString("sites:\n")
		for i := range sites {
			fmt.Fprintf(&b, "  h%d.example:\n%s", i, fields(32, 32*i))
		}
		return b.String()
	}
	long := strings.Repeat("a", MaxText)
	for name, c := range map[string]struct{ at, past, want string }{
		"bytes":   {"sites: {} #" + strings.Repeat("x", MaxFile-11), "sites: {} #" + strings.Repeat("x", MaxFile-10), "1:1: the file has 262145 bytes; at most 262144 are allowed"},
		"fields":  {"sites:\n  a.example:\n" + fields(64, 0), "sites:\n  a.example:\n" + fields(65, 0), "4:7: the entry has 65 fields; at most 64 are allowed"},
		"names":   {many(8), many(9), "1:1: the file has fields with 288 different names; at most 256 are allowed"},
		"text":    {"sites: {a.example: {fields: {f: {css: " + long + "}}}}", "sites: {a.example: {fields: {f: {css: " + long + "a}}}}", "1:39: css has 1025 bytes; at most 1024 are allowed"},
		"list":    {"sites: {a.example: {include: [" + strings.Repeat("/a,", MaxList) + "]}}", "sites: {a.example: {include: [" + strings.Repeat("/a,", MaxList+1) + "]}}", "1:30: include has 257 elements; at most 256 are allowed"},
		"parts":   {"sites: {a.example: {skip: [{css: '" + strings.Repeat("a ", 64) + "'}]}}", "sites: {a.example: {skip: [{css: '" + strings.Repeat("a ", 65) + "'}]}}", "1:34: css has 65 parts; at most 64 are allowed"},
		"delay":   {"sites: {a.example: {delay: 24h}}", "sites: {a.example: {delay: 24h1ms}}", `1:28: delay "24h1ms" is longer than a day; use exclude for what is not to be fetched`},
		"merged":  {"sites:\n  a.example:\n" + fields(40, 0) + "  a.example/x/:\n" + fields(24, 40), "sites:\n  a.example:\n" + fields(40, 0) + "  a.example/x/:\n" + fields(25, 40), `44:1: "a.example/x/" has 65 fields together with those of the entries above it; at most 64 are allowed`},
		"aliases": {"sites: {a.example: {include: [/a, /b]}}", "a: &a [x,x]\nb: &b [*a,*a]\nsites: *b", "1:1: unknown key \"a\"; only sites is allowed here, with the sites below it\nsites.yaml:2:1: unknown key \"b\"; only sites is allowed here, with the sites below it\nsites.yaml:3:8: sites: " + rulefile.References},
	} {
		if _, err := Parse("sites.yaml", c.at); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
		if _, err := Parse("sites.yaml", c.past); err == nil || err.Error() != "sites.yaml:"+c.want {
			t.Errorf("%s past the limit: %v, want %s", name, err, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		kind crawl.FieldType
		raw  string
		want string
	}{
		{crawl.FieldNumber, "007", "7"}, {crawl.FieldNumber, "1e3", "1000"}, {crawl.FieldNumber, "-0", "0"}, {crawl.FieldNumber, "1,5", ""},
		{crawl.FieldNumber, "12 345 678", "12345678"}, {crawl.FieldNumber, "0x10", ""}, {crawl.FieldNumber, "NaN", ""}, {crawl.FieldNumber, "1e999", ""},
		{crawl.FieldNumber, "16.20", "16.2"}, {crawl.FieldNumber, "1_000", ""}, {crawl.FieldNumber, "−5", "-5"}, {crawl.FieldNumber, "1e21", "1e+21"},
		{crawl.FieldBoolean, "Yes", "true"}, {crawl.FieldBoolean, "0", "false"}, {crawl.FieldBoolean, "maybe", ""},
		{crawl.FieldDate, "2024-05-06T23:00:00-03:00", "2024-05-07T02:00:00Z"}, {crawl.FieldDate, "May 6, 2024", "2024-05-06T00:00:00Z"},
		{crawl.FieldDate, "Mon, 06 May 2024 10:00:00 CEST", ""}, {crawl.FieldDate, "05/06/2024", ""}, {crawl.FieldDate, "2024", "2024-01-01T00:00:00Z"},
		{crawl.FieldDate, "2024-13-01", ""}, {crawl.FieldDate, "9999-12-31T23:00:00-05:00", ""},
		{crawl.FieldKeyword, " a\u00a0\tb\u00ad\x00 ", "a b"}, {crawl.FieldText, "a\xffb", "a\uFFFDb"},
	} {
		if got, _, _ := canonical(c.kind, nil, c.raw); got != c.want {
			t.Errorf("%s %q = %q, want %q", c.kind, c.raw, got, c.want)
		}
	}
}
