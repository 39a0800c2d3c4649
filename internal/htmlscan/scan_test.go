package htmlscan

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

const here = canon.URL("http://example.org/dir/page.html?q=1")

func scan(t testing.TB, body string) Result {
	t.Helper()
	var s Scanner
	return s.Scan(Page{URL: here, Body: []byte(body), ContentType: "text/html; charset=utf-8", HTML: true, Token: "testbot"})
}

func TestLinks(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"a", `<a href="x">`, "/dir/x"},
		{"area, frame, iframe", `<area href=/1><frame src=/2><iframe src="/3">`, "/1 /2 /3"},
		{"in order, each once", `<a href=b><a href=a><a href=b#x><a href="./b"><a href=" b ">`, "/dir/b /dir/a"},
		{"not the page itself", `<a href=""><a href="#x"><a href="page.html?q=1"><a href="?q=1#y"><a href="page.html">`, "/dir/page.html"},
		{"schemes", `<a href="mailto:a@b"><a href="javascript:x()"><a href=" JAVASCRIPT:x"><a href="data:,x"><a href="tel:1"><a href="HTTPS://s.example/">`, "https://s.example/"},
		{"a colon that is no scheme", `<a href="a/b:c"><a href="./x:y"><a href="1:2">`, "/dir/a/b:c /dir/x:y /dir/1:2"},
		{"references", `<a href="?a=1&amp;b=2"><a href="?a=1&b=2&copy=3"><a href="&#47;x"><a href="&sol;y">`, "/dir/page.html?a=1&b=2 /dir/page.html?a=1&b=2&copy=3 /x /y"},
		{"newlines", "<a href=\"\n/a\nb\">", "/ab"},
		{"base", `<a href=before><base href="/other/"><a href=after><base href=/third/>`, "/other/before /other/after"},
		{"base of another host", `<base target=_top><base href="http://b.example/x/y"><a href=z>`, "http://b.example/x/z"},
		{"broken base", `<base href="mailto:x"><a href=z>`, "/dir/z"},
		{"nofollow", `<a href=1 rel=nofollow><a rel="external NOFOLLOW noopener" href=2><area rel=nofollow href=3><a href=4 rel="nofollower"><a href=5 rel=ugc><link rel="next nofollow" href=6>`, "/dir/4 /dir/5"},
		{"first rel counts", `<a rel=x rel=nofollow href=1><a rel=nofollow rel=x href=2>`, "/dir/1"},
		{"rel with a reference", `<a rel="no&#102;ollow" href=1>`, ""},
		{"link", `<link rel=stylesheet href=1><link rel="alternate stylesheet" href=2><link rel=icon href=3><link rel=preload href=4>` +
			`<link rel=next href=5><link rel=PREV href=6><link rel=canonical href=7><link rel=alternate hreflang=de href=8><link href=9>` +
			`<link rel=alternate type="application/rss+xml" href=10><link rel=alternate type="text/html; charset=utf-8" href=11>` +
			`<link rel="dns-prefetch" href="//x.example"><link rel=amphtml href=12><link rel=manifest href=13>`, "/dir/5 /dir/6 /dir/7 /dir/8 /dir/11 /dir/12"},
		{"linked data", `<link rel=alternate type="application/ld+json" href=1><link rel=describedby type=" Application/LD+JSON; profile=x" href=2>` +
			`<link rel=describedby href=3><link rel=alternate type="application/json" href=4><link rel=icon type="application/ld+json" href=5>` +
			`<link rel="describedby nofollow" type="application/ld+json" href=6>`, "/dir/1 /dir/2"},
		{"sets of links", `<link rel=linkset type="application/linkset+json" href=1><link rel=linkset type="application/linkset" href=2>` +
			`<link rel=linkset href=3><link rel=describedby type="application/linkset+json" href=4><link rel=linkset type="application/ld+json" href=5>`, "/dir/1"},
		{"refresh", `<meta http-equiv=Refresh content="5; url=next">`, "/dir/next"},
		{"refresh in body", `<body>x<meta http-equiv=refresh content="0;URL='/q'">`, "/q"},
		{"comments and scripts", `<!-- <a href=1> --><script>"<a href=2>"</script><style><a href=3></style><textarea><a href=4></textarea><a href=5>`, "/dir/5"},
		{"noscript", `<noscript><a href=1></noscript>`, "/dir/1"},
		{"template", `<template><a href=1><template><a href=2></template><a href=3></template><a href=4>`, "/dir/4"},
		{"svg", `<svg><a xlink:href="x"/><a href="y"/></svg>`, "/dir/y"},
		{"cut off", `<a href=1><a href=2`, "/dir/1"},
	} {
		r := scan(t, tt.page)
		var got []string
		for _, u := range r.Links {
			got = append(got, strings.TrimPrefix(string(u), "http://example.org"))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}

func TestFeeds(t *testing.T) {
	const alt = `<link rel=alternate type=application/rss+xml href=`
	for page, want := range map[string]string{
		alt + `/feed>`: "[http://example.org/feed]",
		`<base href=/b/>` + alt + `feed?a&amp;b><link type=" Application/Atom+XML; charset=utf-8" rel="x ALTERNATE" href=//c.test/>` + alt + `feed?a&amp;b>`: "[http://example.org/b/feed?a&b http://c.test/]",
		alt + `/1>` + alt + `/2>` + alt + `/3>` + alt + `/4>` + alt + `/5>`:                                                                                  "[http://example.org/1 http://example.org/2 http://example.org/3 http://example.org/4]",
		`<link rel=alternate type=text/html href=/1><link rel=feed type=application/rss+xml href=/2><a rel=alternate type=application/rss+xml href=/3>`:      "[]",
		`<link rel="alternate nofollow" type=application/rss+xml href=/1>`:                                                                                   "[]",
		`<meta name=robots content=nofollow>` + alt + `/1>`:                                                                                                  "[]",
		`<body>` + alt + `/1>`:                   "[]",
		alt + `javascript:1>` + alt + `http://>`: "[]",
	} {
		if got := fmt.Sprint(scan(t, page).Feeds); got != want {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"none", `<link rel=next href=x>`, ""},
		{"one", `<link rel=canonical href="page.html">`, "/dir/page.html"},
		{"among other relations", `<link rel="shortlink CANONICAL" href="/p">`, "/p"},
		{"a reference, a fragment", `<link rel=canonical href=" /p?a=1&amp;b=2#top ">`, "/p?a=1&b=2"},
		{"its own", `<link rel=canonical href="?q=1#x"><link rel=canonical href="?q=1#x">`, ""},
		{"the same twice", `<link rel=canonical href=/p><link rel=canonical href=/p>`, "/p"},
		{"two", `<link rel=canonical href=/p><link rel=canonical href=/r>`, ""},
		{"base after it", `<link rel=canonical href=p><base href="/b/">`, "/b/p"},
		{"another host", `<link rel=canonical href="//b.example">`, "http://b.example/"},
		{"unusable", `<link rel=canonical href="mailto:x">`, ""},
		{"without an address", `<link rel=canonical>`, ""},
		{"implied head", `<title>x</title><link rel=canonical href=/p>`, "/p"},
		{"in the body", `<p>a visitor says <link rel=canonical href=/p>`, ""},
		{"after a good one in the body", `<link rel=canonical href=/p><p>x<link rel=canonical href=/r>`, "/p"},
		{"in a template", `<template><link rel=canonical href=/p></template>`, ""},
		{"in a noscript", `<noscript><link rel=canonical href=/p></noscript>`, "/p"},
		{"a is no link", `<a rel=canonical href=/p>`, ""},
		{"nofollow", `<meta name=robots content=nofollow><link rel=canonical href=/p>`, "/p"},
		{"nofollow itself", `<link rel="canonical nofollow" href=/p>`, "/p"},
	} {
		if got := strings.TrimPrefix(string(scan(t, tt.page).Canonical), "http://example.org"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	var s Scanner
	header := http.Header{"X-Robots-Tag": {"nofollow"}} // the body is not read then
	r := s.Scan(Page{URL: here, Body: []byte("<link rel=canonical href=/p><base href=/b/><p><a href=x>"), HTML: true, Header: header})
	if r.Canonical != "http://example.org/p" || len(r.Links) != 0 {
		t.Errorf("with a header that says nofollow: %+v", r)
	}
	if r := s.Scan(Page{URL: here, Body: []byte("<link rel=canonical href=/p>")}); r.Canonical != "" {
		t.Errorf("of plain text: %+v", r)
	}
	if r := s.Scan(Page{URL: here, Body: []byte("<meta charset=windows-1252><link rel=canonical href='/\xe9?\xe9'>"), HTML: true}); r.Canonical != "http://example.org/%C3%A9?%E9" {
		t.Errorf("in another charset: %s", r.Canonical)
	}
}

// The directives of the markup are reported separately from those of the header, because a 304 may
// replace the latter.
func TestMetaAlone(t *testing.T) {
	var s Scanner
	r := s.Scan(Page{URL: here, Body: []byte("<meta name=robots content=nosnippet>"), HTML: true, Header: http.Header{"X-Robots-Tag": {"noarchive"}}, Token: "testbot"})
	if r.Meta != (robotstag.Directives{NoSnippet: true}) || r.Directives != (robotstag.Directives{NoSnippet: true, NoArchive: true}) {
		t.Errorf("%+v", r)
	}
}

func TestRefresh(t *testing.T) {
	for in, want := range map[string]string{
		"5; url=x": "x", "5;url=x": "x", "5 url=x": "x", "5, x": "x", "5; x": "x", "0;URL=\"a b\" c": "a b", "0; url = 'x'": "x",
		" 5 ;  url  =  x": "x", "5.5; url=x": "x", ".5;url=x": "x", "5": "", "": "", "x": "", "url=x": "", ";url=x": "", "5;": "", "5; url=": "",
		"5; urlx": "urlx", "5; url x": "url x", "5x; url=y": "", "5; url='x": "x", "-1; url=x": "", "5;\turl=x\n": "x\n",
	} {
		got, ok := refreshTarget([]byte(in))
		if string(got) != want || ok != (want != "") {
			t.Errorf("refreshTarget(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
}

func TestDirectives(t *testing.T) {
	var s Scanner
	for _, tt := range []struct {
		page   string
		header http.Header
		want   robotstag.Directives
		links  int
	}{
		{`<a href=x>`, nil, robotstag.Directives{}, 1},
		{`<meta name=robots content="noindex"><a href=x>`, nil, robotstag.Directives{NoIndex: true}, 1},
		{`<meta name=robots content="nofollow"><a href=x>`, nil, robotstag.Directives{NoFollow: true}, 0},
		{`<meta name=TESTBOT content="none"><a href=x>`, nil, robotstag.Directives{NoIndex: true, NoFollow: true}, 0},
		{`<meta name=otherbot content="none"><a href=x>`, nil, robotstag.Directives{}, 1},
		{`<p><meta name=robots content="noindex"><a href=x>`, nil, robotstag.Directives{}, 1},
		{`<title>t</title><noscript><meta name=robots content="nosnippet"></noscript><a href=x>`, nil, robotstag.Directives{NoSnippet: true}, 1},
		{`<a href=x>`, http.Header{"X-Robots-Tag": {"nofollow"}}, robotstag.Directives{NoFollow: true}, 0},
		{`<meta name=robots content=noindex><a href=x>`, http.Header{"Robots-Tag": {"testbot=nofollow"}}, robotstag.Directives{NoFollow: true, NoIndex: true}, 0},
		{`<meta name="robots" content="no&#105;ndex">`, nil, robotstag.Directives{NoIndex: true}, 0},
		{`&#32;<meta name="robots" content="noindex">`, nil, robotstag.Directives{NoIndex: true}, 0},
		{`&nbsp;<meta name="robots" content="noindex">`, nil, robotstag.Directives{}, 0},
		{"\uFEFF<meta name=robots content=noindex>", nil, robotstag.Directives{NoIndex: true}, 0},
	} {
		r := s.Scan(Page{URL: here, Body: []byte(tt.page), HTML: true, Header: tt.header, Token: "testbot"})
		if r.Directives != tt.want || len(r.Links) != tt.links {
			t.Errorf("%s %v: %+v, %d links", tt.page, tt.header, r.Directives, len(r.Links))
		}
	}
	// Text has headers, but no tags.
	r := s.Scan(Page{URL: here, Body: []byte(`<meta name=robots content=noindex><a href=x>`), Header: http.Header{"Robots-Tag": {"nosnippet"}}, Token: "testbot"})
	if r.Directives != (robotstag.Directives{NoSnippet: true}) || len(r.Links) != 0 {
		t.Errorf("text: %+v", r)
	}
}

func encodeAs(t *testing.T, name, s string) []byte {
	t.Helper()
	e, _ := charset.Lookup(name)
	b, err := e.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCharsets(t *testing.T) {
	const page = `<a href="/ÿäö?q=é">x</a>`
	const utf8Link, latinLink = "http://example.org/%C3%BF%C3%A4%C3%B6?q=%C3%A9", "http://example.org/%C3%BF%C3%A4%C3%B6?q=%E9"
	meta := func(cs string) string { return `<meta charset="` + cs + `">` }
	for _, tt := range []struct {
		name, contentType string
		body              []byte
		want, link        string
	}{
		{"header", "text/html; charset=UTF-8", []byte(page), "utf-8", utf8Link},
		{"quoted", `text/html; charset="utf8"`, []byte(page), "utf-8", utf8Link},
		{"broken parameters", `text/html; charset=iso-8859-1; x`, encodeAs(t, "latin1", page), "windows-1252", latinLink},
		{"unknown name", "text/html; charset=klingon", []byte(page), "utf-8", utf8Link},
		{"nothing, valid", "text/html", []byte(page), "utf-8", utf8Link},
		{"nothing, not valid", "", encodeAs(t, "latin1", page), "windows-1252", latinLink},
		{"latin1 header", "text/html; charset=ISO-8859-1", encodeAs(t, "latin1", page), "windows-1252", latinLink},
		{"latin1 meta", "text/html", encodeAs(t, "latin1", meta("iso-8859-1")+page), "windows-1252", latinLink},
		{"header before meta", "text/html; charset=utf-8", []byte(meta("iso-8859-1") + page), "utf-8", utf8Link},
		{"old meta", "text/html", encodeAs(t, "latin1", `<meta http-equiv=content-type content="text/html; charset=latin1">`+page), "windows-1252", latinLink},
		{"BOM before header", "text/html; charset=iso-8859-1", []byte("\xEF\xBB\xBF" + page), "utf-8", utf8Link},
		{"utf-16", "text/html", append([]byte("\xFE\xFF"), encodeAs(t, "utf-16be", page)...), "utf-16be", utf8Link},
		{"utf-16 little", "text/html", append([]byte("\xFF\xFE"), encodeAs(t, "utf-16le", page)...), "utf-16le", utf8Link},
		{"utf-16 by header", "text/html; charset=utf-16le", encodeAs(t, "utf-16le", page), "utf-16le", utf8Link},
		{"utf-16 by meta cannot be", "text/html", []byte(meta("utf-16") + page), "utf-8", utf8Link},
		{"koi8", "text/html; charset=koi8-r", encodeAs(t, "koi8-r", `<a href="/ж?q=ж">`), "koi8-r", "http://example.org/%D0%B6?q=%D6"},
		{"shift-jis", "text/html; charset=shift_jis", encodeAs(t, "shift_jis", `<a href="/表?q=表">`), "shift_jis", "http://example.org/%E8%A1%A8?q=%95\\"},
		{"ascii as latin1", "text/html; charset=latin1", []byte(`<a href="/x">`), "windows-1252", "http://example.org/x"},
		{"unencodable", "text/html; charset=latin1", encodeAs(t, "latin1", `<a href="/x?q=&#1078;é">`), "windows-1252", "http://example.org/x?q=%26%231078;%E9"},
	} {
		var s Scanner
		r := s.Scan(Page{URL: here, Body: tt.body, ContentType: tt.contentType, HTML: true})
		if r.Charset != tt.want || len(r.Links) != 1 || string(r.Links[0]) != tt.link {
			t.Errorf("%s: %s %v, want %s %s", tt.name, r.Charset, r.Links, tt.want, tt.link)
		}
	}
	if got := html.Charset([]byte("plain \xE9"), "text/plain"); got != "windows-1252" {
		t.Errorf("text: %s", got)
	}
}

func TestMaxLinks(t *testing.T) {
	var b strings.Builder
	for i := range MaxLinks + 5 {
		fmt.Fprintf(&b, "<a href=/%d><a href=/%d#x>", i, i)
	}
	var s Scanner
	r := s.Scan(Page{URL: here, Body: []byte(b.String()), HTML: true})
	if len(r.Links) != MaxLinks || !r.Cut {
		t.Errorf("%d links, cut %v", len(r.Links), r.Cut)
	}
	r = s.Scan(Page{URL: here, Body: []byte("<a href=1>"), HTML: true})
	if len(r.Links) != 1 || r.Cut {
		t.Errorf("the page after: %d links, cut %v", len(r.Links), r.Cut)
	}
}

// Hostile pages: each takes time in proportion to its size, some 0.1 s. In proportion to the square
// they would take hours, and go test would stop at its time limit.
func TestHostilePages(t *testing.T) {
	n := testaid.Volume(4<<20, 128<<10)
	fill := func(s string) []byte { return []byte(strings.Repeat(s, n/len(s))) }
	cat := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	for name, page := range map[string][]byte{
		"dashes, then angles":   cat([]byte("<!--"), fill("-")[:n/2], []byte("x"), fill(">")[:n/2]),
		"open comments":         fill("<!--"),
		"open tags":             fill("<a href="),
		"open quotes":           fill(`<a href="`),
		"less-thans":            fill("<"),
		"ends":                  fill("</"),
		"scripts":               fill("<script><!--<script>"),
		"almost script's end":   cat([]byte("<script>"), fill("</scrip")),
		"almost title's end":    cat([]byte("<title>"), fill("</titl")),
		"attributes":            cat([]byte("<a "), fill("a=b ")),
		"equal signs":           cat([]byte("<a "), fill("=")),
		"slashes":               cat([]byte("<a "), fill("/")),
		"references":            cat([]byte(`<a href="`), fill("&#65;"), []byte(`">`)),
		"ampersands":            cat([]byte(`<a href="`), fill("&"), []byte(`">`)),
		"references in text":    fill("&amp;"),
		"long rel":              cat([]byte(`<a href=x rel="`), fill("x "), []byte(`">`)),
		"links into one bucket": fill("<a href=//x.example/a>"),
		"templates":             fill("<template>"),
		"metas":                 fill("<meta name=robots content=all>"),
		"refreshes":             fill("<meta http-equiv=refresh content='1;url=x'>"),
		"bases":                 fill("<base href=x>"),
		"utf-16":                cat([]byte("\xFE\xFF"), fill("\x00<\x00a\x00 ")),
	} {
		t.Run(name, func(*testing.T) {
			var s Scanner
			s.Scan(Page{URL: here, Body: page, HTML: true, Token: "testbot"})
		})
	}
}

// A used Scanner finds the same as a new one.
func TestReuse(t *testing.T) {
	pages := []string{markupSeeds[0], `<base href=/b/><a href=x>`, `<a href=x rel=nofollow>`, "\xFE\xFF\x00<\x00p", strings.Repeat("<a href=/"+strings.Repeat("x", 300)+">", 50), `<a href=1><a href=2>`}
	var s Scanner
	for i := range 100 {
		p := Page{URL: here, Body: []byte(pages[i%len(pages)]), HTML: true, Token: "testbot"}
		got := s.Scan(p)
		var fresh Scanner
		want := fresh.Scan(p)
		if !slices.Equal(got.Links, want.Links) || got.Directives != want.Directives || got.Charset != want.Charset {
			t.Fatalf("page %d: %+v, want %+v", i, got, want)
		}
	}
}

// markupSeeds are those of html.FuzzTokens.
var markupSeeds = []string{
	`<!doctype html><html><head><title>a<b>c</title><meta name=robots content="noindex"></head><body><a href="x?a=1&amp;b=2&copy=3&copy;&#38;">t</a>`,
	`<a href=x/><a href='a"b' rel=nofollow><A HREF="1" href="2"><a / href = "x" /><a =x href><a href=>`,
	`<script>var a = "<a href=x>"; <!-- <script> </script> --> </script><a href=y>`,
	`<script><!-- <a href=1> --></script><a href=2><script><!--<script></script><a href=3></script><a href=4>`,
	`<script><!-- <3 </script><a href=1>`, `<script></scriptx></script ><a href=1>`, `<script><!--></script><a href=1>`,
	`<style><a href=1></style><a href=2><textarea><a href=3></textarea><title></title><a href=4><xmp></xmp x><iframe src=a><a href=5></iframe>`,
	`<noscript><a href=1></noscript><plaintext><a href=2>`, `<noembed><a href=1></noembed><noframes><a href=1></noframes><a href=2>`,
	`<!--><a href=1>--><a href=2><!---><a href=3><!-- -- --!><a href=4><!----><a href=5><!--a-><a href=6>-->`,
	`<!x><a href=1><!><a href=2><?php > <a href=3> ?><a href=4></><a href=5></ x><a href=6></a b=">"><a href=7>`,
	"<a\thref\n=\r\"x\r\ny\">\x00<a\x00 hr\x00ef=\"\x00\">", `< a><1><a`, `<a href="unclosed`, `<a href=x`, `</`, `</a`, `<`, `<!`, `<!-`, `<!--`, `</scr`, `<script>x</scr`,
	`<a href="&">&<a href="&#">&<a href="&#x">&<a href="&;"><a href="&amp"><a href="&ampx"><a href="&lt=1"><a href="&lt;=1">`,
	`<svg><a xlink:href="x" href="y"/></svg><math><![CDATA[<a href=x>]]></math>`, `<title/>x<a href=1></title><a href=2>`, `<a<b href=x>`,
}

func FuzzScan(f *testing.F) {
	for _, s := range markupSeeds {
		f.Add([]byte(s), "text/html")
	}
	f.Add([]byte("<meta charset=koi8-r><a href='\xC1?\xC1'>"), "")
	f.Add([]byte("\xFF\xFE<\x00a\x00"), "text/html; charset=utf-16")
	f.Add([]byte("\x1b$B<a href=x>"), "text/html; charset=iso-2022-jp")
	f.Add([]byte("<meta http-equiv=refresh content='5;url=x'>"), "text/html; charset=utf-8")
	var s Scanner
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		orig := bytes.Clone(body)
		r := s.Scan(Page{URL: here, Body: body, ContentType: contentType, HTML: true, Token: "testbot"})
		if !bytes.Equal(orig, body) {
			t.Error("the page was changed")
		}
		seen := map[canon.URL]bool{here: true}
		for _, u := range r.Links {
			if again, err := canon.Parse(string(u)); err != nil || again != u || seen[u] {
				t.Errorf("link %q: %q, %v, seen %v", u, again, err, seen[u])
			}
			seen[u] = true
		}
		if r.Directives.NoFollow && len(r.Links) > 0 {
			t.Error("links of a nofollow page")
		}
		if r.Charset == "utf-8" {
			want := robotstag.New("testbot")
			want.ScanHTML(body)
			if r.Directives != want.Directives() {
				t.Errorf("directives %+v, want %+v", r.Directives, want.Directives())
			}
		}
	})
}

func FuzzRefresh(f *testing.F) {
	for _, s := range []string{"5; url=x", "0;URL='a b'", "5", ";", "1.5,\"x", "5; urlx"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		target, ok := refreshTarget(v)
		if ok != (len(target) > 0) || !bytes.Contains(v, target) {
			t.Errorf("refreshTarget(%q) = %q, %v", v, target, ok)
		}
	})
}
