package sitemap

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

func all(t testing.TB, text string, o Options) ([]Entry, Summary, error) {
	t.Helper()
	var got []Entry
	sum, err := Read(strings.NewReader(text), o, func(e Entry) error { got = append(got, e); return nil })
	if sum.Entries != len(got) {
		t.Errorf("%d entries counted, %d handed out", sum.Entries, len(got))
	}
	return got, sum, err
}

const urlset = `<?xml version="1.0" encoding="UTF-8"?>
<!-- written by hand -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url>
    <loc> http://a.example/?x=1&amp;y=2 </loc><lastmod>2026-03-04</lastmod><changefreq>Weekly</changefreq><priority>0.8</priority>
    <image:image><image:loc>http://a.example/i.png</image:loc></image:image>
  </url>
  <url><image:image><image:loc>http://a.example/j.png</image:loc></image:image><loc><![CDATA[http://a.example/b]]></loc></url>
  <url><lastmod>2026</lastmod></url>
  <url><loc>/relative</loc><lastmod>never</lastmod><priority>7</priority><changefreq>sometimes</changefreq></url>
</urlset>`

func TestURLSet(t *testing.T) {
	got, sum, err := all(t, urlset, Options{})
	want := []Entry{
		{Loc: "http://a.example/?x=1&y=2", LastMod: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), ChangeFreq: "weekly", Priority: 0.8},
		{Loc: "http://a.example/b", Priority: 0.5},
		{Loc: "/relative", Priority: 0.5},
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, %v", got, err)
	}
	if sum.Kind != URLSet || sum.Skipped != 1 || sum.Truncated || sum.Bytes != int64(len(urlset)) {
		t.Errorf("summary %+v", sum)
	}
}

func TestForms(t *testing.T) {
	date := time.Date(2026, 11, 19, 8, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		name, text string
		kind       Kind
		want       []Entry
	}{
		{"index", `<sitemapindex><sitemap><loc>http://a.example/1.xml.gz</loc><lastmod>2026-11-19T10:30+02:00</lastmod></sitemap><sitemap><loc>http://a.example/2.xml</loc></sitemap></sitemapindex>`,
			Index, []Entry{{Loc: "http://a.example/1.xml.gz", LastMod: date, Priority: 0.5, Sitemap: true}, {Loc: "http://a.example/2.xml", Priority: 0.5, Sitemap: true}}},
		{"prefixed", `<s:urlset xmlns:s="x"><s:url><s:loc>http://a.example/</s:loc><loc>http://b.example/</loc></s:url></s:urlset>`,
			URLSet, []Entry{{Loc: "http://a.example/", Priority: 0.5}}},
		{"text", "\xef\xbb\xbf\r\n  http://a.example/\rhttps://a.example/b c\nhttps://a.example/d", Text,
			[]Entry{{Loc: "http://a.example/", Priority: 0.5}, {Loc: "https://a.example/d", Priority: 0.5}}},
		{"rss", `<rss version="2.0"><channel><link>http://a.example/</link><item><title>x</title><link>http://a.example/n1</link><pubDate>Thu, 19 Nov 2026 08:30:00 GMT</pubDate></item><item><guid>http://a.example/n2</guid></item></channel></rss>`,
			Feed, []Entry{{Loc: "http://a.example/n1", LastMod: date, Priority: 0.5}, {Loc: "http://a.example/n2", Priority: 0.5}}},
		{"atom", `<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.example/"/><entry><link rel="edit" href="http://a.example/edit"/><link href="http://a.example/e1"/><published>2026-11-01T00:00:00Z</published><updated>2026-11-19T08:30:00Z</updated></entry></feed>`,
			Feed, []Entry{{Loc: "http://a.example/e1", LastMod: date, Priority: 0.5}}},
		{"rss 1.0", `<rdf:RDF xmlns:rdf="x"><item rdf:about="y"><link>http://a.example/r</link><dc:date>2026-11-19T08:30:00Z</dc:date></item></rdf:RDF>`,
			Feed, []Entry{{Loc: "http://a.example/r", LastMod: date, Priority: 0.5}}},
		{"latin 1", "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://a.example/\xe9</loc></url></urlset>",
			URLSet, []Entry{{Loc: "http://a.example/é", Priority: 0.5}}},
		{"unknown charset", "<?xml version='1.0' encoding='klingon'?><urlset><url><loc>http://a.example/x</loc></url></urlset>",
			URLSet, []Entry{{Loc: "http://a.example/x", Priority: 0.5}}},
		{"bare ampersand", `<urlset><url><loc>http://a.example/?a=1&b=2</loc></url></urlset>`, URLSet, []Entry{{Loc: "http://a.example/?a=1&b=2", Priority: 0.5}}},
		{"unclosed", `<urlset><url><loc>http://a.example/1</loc><lastmod></url><url><loc>http://a.example/2</loc></url></urlset>`,
			URLSet, []Entry{{Loc: "http://a.example/1", Priority: 0.5}, {Loc: "http://a.example/2", Priority: 0.5}}},
		{"empty", `<urlset/>`, URLSet, nil},
	} {
		got, sum, err := all(t, c.text, Options{})
		if err != nil || sum.Kind != c.kind || fmt.Sprint(got) != fmt.Sprint(c.want) || sum.Truncated {
			t.Errorf("%s: got %v, %+v, %v, want %v", c.name, got, sum, err, c.want)
		}
	}
}

func TestUTF16(t *testing.T) {
	for _, order := range []func(uint16) []byte{
		func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} },
		func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} },
	} {
		var b []byte
		for _, u := range utf16.Encode([]rune("\ufeff<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>http://a.example/é𝄞</loc></url></urlset>")) {
			b = append(b, order(u)...)
		}
		if got, _, err := all(t, string(b), Options{}); err != nil || len(got) != 1 || got[0].Loc != "http://a.example/é𝄞" {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestNotSitemap(t *testing.T) {
	for _, text := range []string{"", "  \n", "<!doctype html><html><body>404</body></html>", "not found", "\x1f\x8b\x00", `{"a":1}`, "<!-- only a comment -->"} {
		if got, sum, err := all(t, text, Options{}); !errors.Is(err, ErrNotSitemap) || len(got) > 0 {
			t.Errorf("%q: %v, %+v, %v", text, got, sum, err)
		}
	}
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGzip(t *testing.T) {
	z := zipped(t, urlset)
	if got, sum, err := all(t, z, Options{}); err != nil || len(got) != 3 || sum.Truncated {
		t.Errorf("got %d, %+v, %v", len(got), sum, err)
	}
	if got, sum, err := all(t, z[:len(z)-20], Options{}); err != nil || !sum.Truncated || len(got) == 0 {
		t.Errorf("broken off: %d, %+v, %v", len(got), sum, err)
	}
}

func many(n int) string {
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := range n {
		fmt.Fprintf(&b, "<url><loc>http://a.example/%d</loc></url>", i)
	}
	return b.String() + "</urlset>"
}

func TestLimits(t *testing.T) {
	got, sum, err := all(t, many(10), Options{MaxEntries: 10})
	if err != nil || len(got) != 10 || sum.Truncated {
		t.Errorf("at the limit: %d, %+v, %v", len(got), sum, err)
	}
	got, sum, err = all(t, many(11), Options{MaxEntries: 10})
	if err != nil || len(got) != 10 || !sum.Truncated {
		t.Errorf("past the limit: %d, %+v, %v", len(got), sum, err)
	}
	text := many(10)
	if got, sum, err := all(t, text, Options{MaxBytes: int64(len(text))}); err != nil || len(got) != 10 || sum.Truncated {
		t.Errorf("as many bytes as allowed: %d, %+v, %v", len(got), sum, err)
	}
	if got, sum, err := all(t, zipped(t, text), Options{MaxBytes: int64(len(text)) - 30}); err != nil || len(got) != 9 || !sum.Truncated || sum.Bytes != int64(len(text))-30 {
		t.Errorf("more bytes than allowed: %d, %+v, %v", len(got), sum, err)
	}
	list := strings.Repeat("http://a.example/x\n", 3)
	if got, sum, err := all(t, list, Options{MaxBytes: int64(len(list)) - 2}); err != nil || len(got) != 2 || !sum.Truncated {
		t.Errorf("a list cut in a line: %v, %+v, %v", got, sum, err)
	}
	fits := "http://a.example/" + strings.Repeat("x", MaxLoc-17)
	if got, sum, _ := all(t, "<urlset><url><loc>"+fits+"</loc></url><url><loc>"+fits+"x</loc></url></urlset>", Options{}); len(got) != 1 || sum.Skipped != 1 {
		t.Errorf("long URLs: %d handed out, %+v", len(got), sum)
	}
	if got, sum, _ := all(t, fits+"\n"+strings.Repeat("http://", 1<<16)+"\n"+fits, Options{}); len(got) != 2 || sum.Skipped != 1 {
		t.Errorf("a long line: %d handed out, %+v", len(got), sum)
	}
}

func TestEachEndsIt(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	sum, err := Read(strings.NewReader(many(10)), Options{}, func(Entry) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if err != stop || n != 3 || sum.Entries != 3 {
		t.Errorf("%d calls, %+v, %v", n, sum, err)
	}
}

// A gzipped file of 50,000 entries is read with little memory.
func TestMemory(t *testing.T) {
	z := zipped(t, many(MaxEntries))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	n := 0
	_, err := Read(strings.NewReader(z), Options{}, func(Entry) error {
		if n++; n%5000 == 0 {
			runtime.ReadMemStats(&after)
			most = max(most, after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))
		}
		return nil
	})
	if err != nil || n != MaxEntries {
		t.Fatalf("%d entries, %v", n, err)
	}
	if most > 20<<20 {
		t.Errorf("heap grew by %d MiB", most>>20)
	}
	t.Logf("heap grew by %d KiB at most", most>>10)
}

// endless is a head followed by one letter forever.
type endless struct {
	head string
	n    int
}

func (e *endless) Read(p []byte) (n int, err error) {
	n = copy(p, e.head)
	e.head = e.head[n:]
	for ; n < len(p); n++ {
		p[n] = 'x'
	}
	e.n += n
	return n, nil
}

// Endless tokens in a file cost little memory and end the reading soon; articles of ordinary length
// are read.
func TestLongTokens(t *testing.T) {
	const first = "<urlset><url><loc>http://a.example/</loc></url>"
	for _, tt := range []struct {
		head    string
		entries int
	}{
		{first, 1}, {first + "<!--", 1}, {first + "<![CDATA[", 1}, {first + "<url><loc>", 1}, {first + "<", 1}, {first + "<url a='", 1}, {first + "&", 1},
		{"<?xml version='1.0' encoding='ISO-8859-1'?>" + first, 1}, {"<urlset a='", -1}, {"<!DOCTYPE ", -1}, {"<feed><entry><link href='http://a.example/'/></entry><title>", 1},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e := &endless{head: tt.head}
		sum, err := Read(e, Options{}, func(Entry) error { return nil })
		runtime.ReadMemStats(&after)
		if tt.entries < 0 != errors.Is(err, ErrNotSitemap) || tt.entries >= 0 && (sum.Entries != tt.entries || !sum.Truncated || err != nil) {
			t.Errorf("%q: %+v, %v", tt.head, sum, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 || e.n > 2<<20 {
			t.Errorf("%q: %d bytes read, %d KiB of memory", tt.head, e.n, used>>10)
		}
	}
	article := "<feed><entry><link href='http://a.example/1'/><content><![CDATA[" + strings.Repeat("word ", 80_000) + "]]></content></entry><entry><link href='http://a.example/2'/></entry></feed>"
	if got, sum, err := all(t, article, Options{}); err != nil || len(got) != 2 || sum.Truncated {
		t.Errorf("an article: %d, %+v, %v", len(got), sum, err)
	}
}

func TestParseDate(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Time
	}{
		{"2026", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"2026-11", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
		{"2026-11-19T10:30:00.25+02:00", time.Date(2026, 11, 19, 8, 30, 0, 250e6, time.UTC)},
		{"2026-11-19T10:30:00+0200", time.Date(2026, 11, 19, 8, 30, 0, 0, time.UTC)},
		{"2026-11-19 10:30:00", time.Date(2026, 11, 19, 10, 30, 0, 0, time.UTC)},
		{"Thu, 19 Nov 2026 10:30:00 +0200", time.Date(2026, 11, 19, 8, 30, 0, 0, time.UTC)},
		{"Thu, 5 Nov 2026 10:30:00 GMT", time.Date(2026, 11, 5, 10, 30, 0, 0, time.UTC)},
		{"Thu, 19 Nov 26 10:30:00 +0200", time.Date(2026, 11, 19, 8, 30, 0, 0, time.UTC)},
		{"Thu, 19 Nov 26 10:30:00 GMT", time.Date(2026, 11, 19, 10, 30, 0, 0, time.UTC)},
		{"Thu, 05 Nov 26 10:30 EST", time.Date(2026, 11, 5, 15, 30, 0, 0, time.UTC)},
		{"5 Nov 26 10:30 UT", time.Date(2026, 11, 5, 10, 30, 0, 0, time.UTC)},
		{"5 Nov 2026 10:30 PDT", time.Date(2026, 11, 5, 17, 30, 0, 0, time.UTC)},
		{"5 Nov 99 10:30:00 PST", time.Date(1999, 11, 5, 18, 30, 0, 0, time.UTC)},
		{"Thu, 19 Nov 2026 10:30:00 EDT", time.Date(2026, 11, 19, 14, 30, 0, 0, time.UTC)},
		{"Thu, 19 Nov 2026 10:30:00 CST", time.Date(2026, 11, 19, 16, 30, 0, 0, time.UTC)},
		{"Thursday, 19-Nov-26 10:30:00 MST", time.Date(2026, 11, 19, 17, 30, 0, 0, time.UTC)},
		{"Thu Nov 19 10:30:00 2026", time.Date(2026, 11, 19, 10, 30, 0, 0, time.UTC)},
		// wrong by a day at most
		{"Thu, 19 Nov 2026 10:30:00 XYZ", time.Date(2026, 11, 19, 10, 30, 0, 0, time.UTC)},
		{"5 Nov 85 10:30:00 GMT", time.Time{}},
		{"0001-01-01", time.Time{}}, {"1970-01-01", time.Time{}}, {"yesterday", time.Time{}}, {strings.Repeat("2", 100), time.Time{}},
	} {
		if got := ParseDate(c.text); !got.Equal(c.want) {
			t.Errorf("ParseDate(%q) = %v, want %v", c.text, got, c.want)
		}
	}
}

// The properties of a feed: its address, its hubs, and the time for which it need not be read
// again.
func TestFeedHead(t *testing.T) {
	long := "http://hub.example/" + strings.Repeat("x", MaxLoc)
	for _, tt := range []struct {
		text string
		want Summary
	}{
		{`<rss><channel><ttl> 45 </ttl><atom:link rel="self" href="http://a.example/feed"/><atom:link href=" http://hub.example/ " rel="HUB"/><item><link>/1</link><ttl>9</ttl></item><ttl>7</ttl></channel></rss>`,
			Summary{Kind: Feed, Entries: 1, TTL: 45 * time.Minute, Self: "http://a.example/feed", Hubs: []string{"http://hub.example/"}}},
		{`<feed><link rel="self hub" href="/x"/><link rel=hub href="` + long + `"/><entry><link href="/1"/><link rel="hub" href="/no"/></entry><link rel="self" href="/y"/></feed>`,
			Summary{Kind: Feed, Entries: 1, Self: "/x", Hubs: []string{"/x"}}},
		{`<feed>` + strings.Repeat(`<link rel="hub" href="/h"/>`, MaxHubs+1) + `</feed>`, Summary{Kind: Feed, Hubs: slices.Repeat([]string{"/h"}, MaxHubs)}},
		{`<rss><channel><ttl>-5</ttl><ttl>many</ttl><ttl>99999999999999</ttl></channel></rss>`, Summary{Kind: Feed}},
		{`<urlset><link rel="hub" href="/h"/><ttl>5</ttl></urlset>`, Summary{Kind: URLSet}},
	} {
		got, err := Read(strings.NewReader(tt.text), Options{}, func(Entry) error { return nil })
		got.Bytes = 0
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v (%v), want %+v", tt.text, got, err, tt.want)
		}
		if _, err := ReadFeed(strings.NewReader(tt.text), Options{}, func(Entry) error { return nil }); errors.Is(err, ErrNotSitemap) != (tt.want.Kind != Feed) {
			t.Errorf("%s: as a feed: %v", tt.text, err)
		}
	}
}

// A guid with isPermaLink="false" is not an address (RSS 2.0, guid).
func TestFeedGUID(t *testing.T) {
	got, sum, err := all(t, `<rss><channel><item><guid isPermaLink="false">http://a.example/1</guid></item><item><guid isPermaLink="true">http://a.example/2</guid></item>`+
		`<item><guid isPermaLink=" False ">http://a.example/3</guid><link>http://a.example/4</link></item></channel></rss>`, Options{})
	if err != nil || len(got) != 2 || got[0].Loc != "http://a.example/2" || got[1].Loc != "http://a.example/4" {
		t.Errorf("%v, %+v, %v", got, sum, err)
	}
}

// Addresses in a feed are relative to its xml:base, if it has one (RFC 4287 §2).
func TestFeedBase(t *testing.T) {
	long := "http://a.example/" + strings.Repeat("x/", MaxLoc)
	for text, want := range map[string]string{
		`<feed xml:base="http://b.example/blog/"><link rel="self" href="self"/><entry xml:base="2026/"><link href="one"/></entry><entry><link href="two"/></entry></feed>`: "http://b.example/blog/2026/one http://b.example/blog/two self http://b.example/blog/self",
		`<rss><channel xml:base="http://b.example/"><item><link>one</link></item><item><link xml:base="/c/">two</link></item></channel></rss>`:                             "http://b.example/one http://b.example/c/two self ",
		`<feed><entry xml:base="/c/"><title><b></b></title><link href="one"/></entry><entry><link href="two"/></entry></feed>`:                                             "/c/one two self ",
		`<feed xml:base="c/"><entry><link href="one"/></entry><entry><link href="http://b.example/two"/></entry></feed>`:                                                   "one http://b.example/two self ",
		`<feed xml:base="` + long + `"><entry><link href="one"/></entry></feed>`:                                                                                           "one self ",
		`<urlset xml:base="http://b.example/"><url><loc>one</loc></url></urlset>`:                                                                                          "one self ",
	} {
		got, sum, err := all(t, text, Options{})
		line := ""
		for _, e := range got {
			line += e.Loc + " "
		}
		if line += "self " + sum.Self; err != nil || line != want {
			t.Errorf("%.200s: %v %q, want %q", text, err, line, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("<rss><channel><ttl>5</ttl><atom:link rel='hub' href='x'/><item><link>y</link></item></channel></rss>"))
	f.Add([]byte(urlset))
	f.Add([]byte(zipped(f, urlset)))
	f.Add([]byte("http://a.example/\nhttp://b.example/"))
	f.Add([]byte("\xff\xfe<\x00a\x00>\x00"))
	f.Add([]byte("<feed><entry><link href='x'/></entry>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := Options{MaxBytes: 1 << 16, MaxEntries: 100}
		n := 0
		sum, err := Read(bytes.NewReader(body), o, func(e Entry) error {
			if e.Loc == "" || len(e.Loc) > MaxLoc || e.Priority < 0 || e.Priority > 1 {
				t.Errorf("handed out %+v", e)
			}
			n++
			return nil
		})
		if n != sum.Entries || n > o.MaxEntries || sum.Bytes > o.MaxBytes || len(sum.Hubs) > MaxHubs || sum.TTL < 0 || len(sum.Self) > MaxLoc {
			t.Errorf("%d entries, %+v", n, sum)
		}
		if err != nil && (!errors.Is(err, ErrNotSitemap) || n > 0) {
			t.Errorf("error %v after %d entries", err, n)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := many(10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Read(strings.NewReader(text), Options{}, func(Entry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleRead() {
	file := `<urlset><url><loc>https://a.example/new</loc><lastmod>2026-11-19</lastmod></url></urlset>`
	sum, err := Read(strings.NewReader(file), Options{}, func(e Entry) error {
		fmt.Println(e.Loc, e.LastMod.Format(time.DateOnly))
		return nil
	})
	fmt.Println(sum.Kind, sum.Entries, err)
	// Output:
	// https://a.example/new 2026-11-19
	// urlset 1 <nil>
}

// collect returns the addresses in a sitemap; those of other sitemaps come after "S ".
func collect(t *testing.T, text string) (lines []string, sum Summary) {
	t.Helper()
	sum, err := Read(strings.NewReader(text), Options{}, func(e Entry) error {
		mark := ""
		if e.Sitemap {
			mark = "S "
		}
		lines = append(lines, mark+e.Loc)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, sum
}

func TestAlternates(t *testing.T) {
	const head = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">`
	link := func(lang, href string) string {
		return `<xhtml:link rel="alternate" hreflang="` + lang + `" href="` + href + `"/>`
	}
	lines, sum := collect(t, head+`<url><loc>/en</loc>`+link("de", "/de")+link("en", "/en")+link("fr", "/fr")+`<xhtml:link rel="x" href="/no"/></url>`+
		`<url><loc>/de</loc>`+link("en", "/en")+link("fr", "/fr")+`</url></urlset>`)
	if got := strings.Join(lines, " "); got != "/en /de /fr /de /en" || sum.Entries != 2 {
		t.Errorf("%s; %d entries", got, sum.Entries)
	}
	// They have a separate limit, so that languages do not displace pages.
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, "<url><loc>/%d</loc>%s</url>", i, link("de", fmt.Sprintf("/de/%d", i)))
	}
	n := 0
	sum, err := Read(strings.NewReader(head+b.String()+"</urlset>"), Options{MaxEntries: 10}, func(Entry) error { n++; return nil })
	if err != nil || n != 20 || sum.Entries != 10 || !sum.Truncated {
		t.Errorf("%d addresses, %+v, %v", n, sum, err)
	}
}

// utf16LE returns a text in UTF-16 with its byte order mark.
func utf16LE(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

func TestPreamble(t *testing.T) {
	const file = `<?xml version="1.0"?><urlset><url><loc>/a</loc></url></urlset>`
	for _, before := range []string{
		"<br />\n<b>Warning</b>: x in <b>/a.php</b> on line <b>3</b><br />\n", "Notice: Undefined index in /a.php\n\n", "\n\n \t", "<!-- a -->", "\ufeff\n",
		strings.Repeat("x", maxPreamble-200), "<!-- <urlset><url><loc>/old</loc></url></urlset> -->", "Notice\n<!-- <rss> --><!--\n<feed\n-->\n",
	} {
		for coding, text := range map[string]string{"UTF-8": before + file, "UTF-16": utf16LE(before + file)} {
			if lines, _ := collect(t, text); strings.Join(lines, " ") != "/a" {
				t.Errorf("%s behind %.40q: %q", coding, before, lines)
			}
		}
	}
	for _, none := range []string{"<html><body>" + strings.Repeat("x", 2*maxPreamble) + file, "<html><body>nothing</body></html>",
		"<html><!-- " + file + " --><body>nothing</body></html>", "<html><!-- " + file} {
		if _, err := Read(strings.NewReader(none), Options{}, func(Entry) error { return nil }); !errors.Is(err, ErrNotSitemap) {
			t.Errorf("%.40q: %v", none, err)
		}
	}
}

func TestMixedForms(t *testing.T) {
	lines, _ := collect(t, `<sitemapindex><url><loc>/a.xml</loc></url><sitemap><loc>/b</loc></sitemap><url><loc>/c.xml.gz?x</loc></url><url><loc>/page</loc></url></sitemapindex>`)
	if got := strings.Join(lines, ", "); got != "S /a.xml, S /b, S /c.xml.gz?x, /page" {
		t.Error(got)
	}
	lines, _ = collect(t, `<urlset><sitemap><loc>/b</loc></sitemap><url><loc>/page.xml</loc></url></urlset>`)
	if got := strings.Join(lines, ", "); got != "S /b, /page.xml" {
		t.Error(got)
	}
}
