package robot

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/mobile/reading"
)

func TestSkeleton(t *testing.T) {
	const links = `<a href="b?c&amp;d" title="a secret">secret</a> <p>secret</p><area href='"q"'><iframe src=e></iframe><a rel=nofollow href=f><a name=g>`
	const kept = "<body>\n<a href=\"b?c&amp;d\"></a>\n<area href='\"q\"'/>\n<iframe src=\"e\"></iframe>\n<a rel=\"nofollow\" href=\"f\"></a>\n"
	for what, c := range map[string]struct{ contentType, header, page, want string }{
		"a tag": {page: `<html><head><title>secret</title><meta charset=utf-8><meta name="Robots" content="noindex"><meta name=description content=secret><link rel=canonical href=/x><link rel=stylesheet href=s><base href=/y/></head>` + links,
			want: "<meta charset=\"utf-8\"/>\n<meta name=\"Robots\" content=\"noindex\"/>\n<link rel=\"canonical\" href=\"/x\"/>\n<link rel=\"stylesheet\" href=\"s\"/>\n<base href=\"/y/\"/>\n" + kept},
		"a tag for our token":      {page: `<meta name=examplebot content=noindex>` + links, want: "<meta name=\"examplebot\" content=\"noindex\"/>\n" + kept},
		"a header":                 {header: "X-Robots-Tag: noindex\n", page: links, want: kept},
		"a header of text":         {header: "X-Robots-Tag: examplebot: none\n", contentType: "text/plain", page: "secret", want: ""},
		"a date that has passed":   {page: `<meta name=robots content="unavailable_after: 2026-11-28">` + links, want: "<meta name=\"robots\" content=\"unavailable_after: 2026-11-28\"/>\n" + kept},
		"a refresh":                {header: "Robots-Tag: noindex\n", page: `<p><meta http-equiv=refresh content="0; url=x" name=description>`, want: "<body>\n<meta http-equiv=\"refresh\" content=\"0; url=x\"/>\n"},
		"a template":               {header: "Robots-Tag: noindex\n", page: `<template>` + links + `</template><a href=z>`, want: "<body>\n<a href=\"z\"></a>\n"},
		"a byte order mark":        {header: "Robots-Tag: noindex\n", page: "\xef\xbb\xbf<a href=z>", want: "\xef\xbb\xbf<body>\n<a href=\"z\"></a>\n"},
		"XHTML":                    {contentType: "application/xhtml+xml", page: `<html><head><script/><meta name="robots" content="noindex"/></head><body><a href="z"/></body></html>`, want: "<meta name=\"robots\" content=\"noindex\"/>\n<body>\n<a href=\"z\"></a>\n"},
		"UTF-16":                   {page: utf16Page(`<meta name=robots content=noindex><a href="ä😀">`), want: "\xef\xbb\xbf<meta name=\"robots\" content=\"noindex\"/>\n<body>\n<a href=\"ä😀\"></a>\n"},
		"UTF-16 by its type":       {contentType: "text/html; charset=UTF-16LE", page: utf16Page(`<meta name=robots content=noindex>`)[2:], want: "\xef\xbb\xbf<meta name=\"robots\" content=\"noindex\"/>\n"},
		"a value with both quotes": {header: "Robots-Tag: noindex\n", page: `<a href=x"'y>`, want: "<body>\n<a href='x\"&#39;y'></a>\n"},
		"an address without value": {header: "Robots-Tag: noindex\n", page: `<a href>`, want: "<body>\n<a href=\"\"></a>\n"},

		"no tag":               {page: links, want: "-"},
		"another tag":          {page: `<meta name=robots content=nofollow>` + links, want: "-"},
		"another token":        {page: `<meta name=otherbot content=noindex>` + links, want: "-"},
		"a tag in the body":    {page: `<p><meta name=robots content=noindex>` + links, want: "-"},
		"a date to come":       {page: `<meta name=robots content="unavailable_after: 2026-11-30">` + links, want: "-"},
		"a tag in text":        {contentType: "text/plain", page: `<meta name=robots content=noindex>`, want: "-"},
		"escapes of a charset": {page: "<meta name=robots content=noindex>\x1b$B", want: "-"},
		"octets that are zero": {page: "<meta name=robots content=noindex>\x00", want: "-"},
	} {
		if c.contentType == "" {
			c.contentType = "text/html"
		}
		r := run{in: pages(), now: now, head: []byte("Status: 200\nContent-Type: " + c.contentType + "\n" + c.header)}
		got, ok := r.skeleton([]byte(c.page))
		if !ok {
			got = []byte("-")
		}
		if string(got) != c.want {
			t.Errorf("%s:\n%q, want\n%q", what, got, c.want)
		}
	}
}

// A page that asks not to be indexed is sent as its skeleton, others are not.
func TestSkeletonIsSent(t *testing.T) {
	page := pageOf(`<meta name=robots content=noindex><p>secret<a href=b>`)
	want(t, &fake{docs: map[string]doc{"/a": page}}, pages(), "S/a\n"+page.head+"\n<meta name=\"robots\" content=\"noindex\"/>\n<body>\n<a href=\"b\"></a>\n", `E{"listed":1,"sent":1,"unchanged":0,"left_out":0}`)
}

func utf16Page(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// FuzzSkeleton: a skeleton means to a crawl what the page means, and no text is left in it. If the
// robot sends the page, either the crawl finds that it may be indexed, or the robot was not sure.
func FuzzSkeleton(f *testing.F) {
	f.Add([]byte(`<html><head><title>secret</title><meta charset=utf-8><meta name="Robots" content="noindex"><link rel=canonical href=/x><base href=/y/></head><body><a href=b>secret</a>`), "", false)
	f.Add([]byte(`<p><meta http-equiv=refresh content="0; url=x"><template><a href=x></template><iframe src=y><noscript><a href=z></noscript>`), "noindex", false)
	f.Add([]byte(`<head><noscript><meta name=robots content=none><link rel=next href=a?b&amp;c></noscript></head><frameset><frame src=x>`), "", true)
	f.Add([]byte(`<script/><meta name=robots content="noindex"/><a href=x"'y>`), "nofollow", true)
	f.Fuzz(func(t *testing.T, page []byte, header string, xhtml bool) {
		// Other charsets only differ in what stands for characters beyond ASCII in addresses.
		page = append([]byte(bom), page...)
		if strings.ContainsFunc(header, func(c rune) bool { return c < ' ' || c > '~' }) {
			return
		}
		contentType := "text/html"
		if xhtml {
			contentType = "application/xhtml+xml"
		}
		r := run{in: pages(), now: now, head: []byte("Status: 200\nContent-Type: " + contentType + "\nX-Robots-Tag: " + header + "\n")}
		tags, ok := r.skeleton(page)
		scan := func(body []byte) htmlscan.Result {
			var s htmlscan.Scanner
			return s.Scan(htmlscan.Page{URL: "http://h.example/d/", Body: body, ContentType: contentType, HTML: true, Header: map[string][]string{"X-Robots-Tag": {header}}, Token: "ExampleBot"})
		}
		of := scan(page)
		if ok != of.Directives.At(now).NoIndex {
			t.Fatalf("the robot: %v, the crawl: %v", ok, of.Directives)
		}
		if !ok {
			return
		}
		got := scan(tags)
		if !slices.Equal(got.Links, of.Links) || got.Directives != of.Directives || got.Meta != of.Meta || got.Canonical != of.Canonical || !reflect.DeepEqual(got.Tags, of.Tags) || !slices.Equal(got.Feeds, of.Feeds) {
			t.Fatalf("%q:\n%+v, want\n%+v", tags, got, of)
		}
		if outside(tags) != "" {
			t.Fatalf("%q has text: %q", tags, outside(tags))
		}
	})
}

// outside is what stands between tags.
func outside(tags []byte) string {
	var text []byte
	for quote := byte(0); len(tags) > 0; tags = tags[1:] {
		switch c := tags[0]; {
		case quote == '<' && (c == '"' || c == '\''):
			quote = c
		case quote == '<' && c == '>':
			quote = 0
		case quote == 0 && c == '<':
			quote = c
		case quote == 0:
			text = append(text, c)
		case quote == c:
			quote = '<'
		}
	}
	return strings.TrimSpace(string(bytes.TrimPrefix(text, []byte(bom))))
}

// FuzzFacts: facts of any page are a record, and its JSON has what was put in.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(`<html lang=a><title>b</title><meta name=description content=c><a href="d">e</a>`), "text/html")
	f.Add([]byte("\xff\xfea\x00\x3d\xd8\x00\xde"), "text/html")
	f.Add([]byte("\x80\xff"), "text/plain; charset=latin1")
	f.Fuzz(func(t *testing.T, page []byte, contentType string) {
		if strings.ContainsFunc(contentType, func(c rune) bool { return c < ' ' || c > '~' }) {
			return
		}
		r := run{in: pages(), now: now, head: []byte("Status: 200\nContent-Type: " + contentType + "\n")}
		record := r.facts("/a", page, false)
		if _, err := reading.ParseRecord(record); err != nil {
			t.Fatalf("%q: %v", record, err)
		}
	})
}
