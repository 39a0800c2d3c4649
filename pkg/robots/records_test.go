package robots_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Formats §1.5: values of Crawl-delay.
func TestFormats_1_5_CrawlDelay_Values(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  time.Duration // -1: ignored
	}{
		{"10", 10 * time.Second},
		{"0.5", 500 * time.Millisecond},
		{"0", 0},
		{"007", 7 * time.Second},
		{"1.25", 1250 * time.Millisecond},
		{"0.000000001", 1},
		{"0.0000000001", 1},
		{"0.0000000010", 1},
		{"0.00000000000", 0},
		{"10s", 10 * time.Second},
		{"10 s", 10 * time.Second},
		{"10 sec", 10 * time.Second},
		{"1 second", time.Second},
		{"2 Seconds", 2 * time.Second},
		{"2\tSECONDS", 2 * time.Second},
		{"5 # comment", 5 * time.Second},
		{"3600", time.Hour},
		{"9223372035.9", 9223372035900 * time.Millisecond},
		{"9223372037", math.MaxInt64},
		{"99999999999999999999999999999", math.MaxInt64},
		{"99999999999999999999999999999.5 s", math.MaxInt64},
		{"+1", -1},
		{"-1", -1},
		{"1e3", -1},
		{"1,5", -1},
		{"1.2.3", -1},
		{".", -1},
		{"", -1},
		{"s", -1},
		{"ten", -1},
		{"10 minutes", -1},
		{"10 ms", -1},
		{"10 secs", -1},
		{"10 10", -1},
		{"0x10", -1},
		{"NaN", -1},
		{"inf", -1},
		{"１０", -1},
	} {
		d, ok := rulesOf(t, "User-agent: *\nCrawl-delay: "+tt.value+"\n", "anybot").CrawlDelay()
		if ok != (tt.want >= 0) || ok && d != tt.want {
			t.Errorf("Crawl-delay: %s: %v, %v, want %v", tt.value, d, ok, tt.want)
		}
	}
}

// Formats §1.5: to whom a delay applies.
func TestFormats_1_5_CrawlDelay_Scope(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       time.Duration // in seconds; -1: none
	}{
		{"none", "User-agent: foobot\nDisallow: /\n", -1},
		{"empty file", "", -1},
		{"largest of several", "User-agent: foobot\nCrawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3\n", 7},
		{"bad one among good", "User-agent: foobot\nCrawl-delay: 2\nCrawl-delay: soon\n", 2},
		{"largest of merged groups", "User-agent: foobot\nCrawl-delay: 2\nDisallow: /\nUser-agent: foobot\nCrawl-delay: 5\n", 5},
		{"global", "User-agent: *\nCrawl-delay: 4\n", 4},
		{"not inherited", "User-agent: *\nCrawl-delay: 4\nDisallow:\nUser-agent: foobot\nDisallow: /\n", -1},
		{"another's", "User-agent: barbot\nCrawl-delay: 4\n", -1},
		{"top is the default", "Crawl-delay: 6\nUser-agent: foobot\nDisallow:\n", 6},
		{"top, no group", "Crawl-delay: 6\n", 6},
		{"top, nobody's group", "Crawl-delay: 6\nUser-agent: barbot\nCrawl-delay: 9\n", 6},
		{"largest at the top", "Crawl-delay: 6\nCrawl-delay: 8\nCrawl-delay: 7\n", 8},
		{"own before the top's", "Crawl-delay: 6\nUser-agent: foobot\nCrawl-delay: 1\n", 1},
		{"own zero before the top's", "Crawl-delay: 6\nUser-agent: foobot\nCrawl-delay: 0\n", 0},
	} {
		d, ok := rulesOf(t, tt.text, "foobot").CrawlDelay()
		if ok != (tt.want >= 0) || ok && d != tt.want*time.Second {
			t.Errorf("%s: %v, %v, want %d s", tt.name, d, ok, tt.want)
		}
	}
	if d, ok := robots.ForStatus(503, []byte("Crawl-delay: 5")).Rules("foobot", origin).CrawlDelay(); ok {
		t.Errorf("unreachable: delay %v", d)
	}
}

// Formats §1.5: Sitemap lines, as written and resolved.
func TestFormats_1_5_Sitemap(t *testing.T) {
	const text = `Sitemap: https://www.example.org/A.xml
User-agent: a
SITEMAP:/b.xml?x=Y
Disallow: /
Sitemap: https://other.example/c.xml.gz # elsewhere
Sitemap: https://www.example.org/A.xml
Sitemap: ftp://www.example.org/d.xml
Sitemap: data:text/plain,x
Sitemap:
Sitemap: e.xml
Sitemap: //third.example/f.xml
Sitemap: HTTP://Www.Example.org/%7e/g h.xml
Sitemap: https://www.example.org/b.xml?x=Y
Sitemap: /a:b
Sitemap: https://
Sitemap: http:opaque
Sitemap: /%zz
`
	f := robots.Parse([]byte(text))
	want := []string{
		"https://www.example.org/A.xml", "/b.xml?x=Y", "https://other.example/c.xml.gz", "e.xml", "//third.example/f.xml",
		"HTTP://Www.Example.org/%7e/g h.xml", "https://www.example.org/b.xml?x=Y", "/a:b", "https://", "http:opaque", "/%zz",
	}
	if !slices.Equal(f.Sitemaps, want) {
		t.Errorf("Sitemaps\n got %q\nwant %q", f.Sitemaps, want)
	}
	want = []string{
		"https://www.example.org/A.xml", "https://www.example.org/b.xml?x=Y", "https://other.example/c.xml.gz",
		"https://www.example.org/e.xml", "https://third.example/f.xml", "HTTP://Www.Example.org/%7e/g h.xml",
		"https://www.example.org/a:b",
	}
	if got := f.SitemapURLs("https://www.example.org/robots.txt"); !slices.Equal(got, want) {
		t.Errorf("SitemapURLs\n got %q\nwant %q", got, want)
	}
	for _, base := range []string{"", "/robots.txt", "\x7f", "ftp://a.example/robots.txt"} {
		want := []string{want[0], want[2], want[5], "https://www.example.org/b.xml?x=Y"}
		got := f.SitemapURLs(base)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("SitemapURLs(%q) = %q", base, got)
		}
	}
}

// Formats §1.5: Clean-param lines, which count anywhere in the file.
func TestFormats_1_5_CleanParam(t *testing.T) {
	for _, tt := range []struct{ lines, url, want string }{
		{"sid", "/a?sid=1", "/a"},
		{"sid", "/a?sid=1&x=2", "/a?x=2"},
		{"sid", "/a?x=2&sid=1", "/a?x=2"},
		{"sid", "/a?x=2&sid=1&y=3", "/a?x=2&y=3"},
		{"sid", "/a?sid", "/a"},
		{"sid", "/a?sid=1&sid=2", "/a"},
		{"sid", "/a?SID=1", "/a?SID=1"},
		{"sid", "/a?side=1", "/a?side=1"},
		{"sid", "/a", "/a"},
		{"sid", "/a?", "/a?"},
		{"sid", "/a?x=sid", "/a?x=sid"},
		{"sid", "/a?x=1#sid", "/a?x=1"},
		{"sid", "?sid=1", ""},
		{"sid", "/a?x&&sid&", "/a?x&&"},
		{"a&b", "/p?a=1&b=2&c=3", "/p?c=3"},
		{"a&&b&", "/p?a=1&b=2&c=3&=4", "/p?c=3&=4"},
		{"s /forum/showthread.php", "/forum/showthread.php?s=1&t=8243", "/forum/showthread.php?t=8243"},
		{"s /forum/showthread.php", "/forum/show.php?s=1", "/forum/show.php?s=1"},
		{"s /forum", "/forum/x?s=1", "/forum/x"},
		{"s /forum", "/forums?s=1", "/forums"},
		{"s /forum", "/Forum?s=1", "/Forum?s=1"},
		{"s /forum*/show", "/forum_old/showthread.php?s=1", "/forum_old/showthread.php"},
		{"s *.php", "/x.php5?s=1", "/x.php5"},
		{"s *", "/x?s=1", "/x"},
		{"s /x", "/%78?s=1", "/%78"},
		{"имя", "/x?%D0%B8%D0%BC%D1%8F=1", "/x"},
		{"s /a\nClean-param: t", "/a?s&t&u", "/a?u"},
		{"s /a\nClean-param: s /b", "/b?s", "/b"},
		{"s\t/a", "/a?s", "/a"},
		// Ignored: an invalid path, more than two words, nothing at all.
		{"s /a$", "/a?s", "/a?s"},
		{"s /a?", "/a?s", "/a?s"},
		{"s /%61", "/a?s", "/a?s"},
		{"s a", "/a?s", "/a?s"},
		{"s /a b", "/a?s", "/a?s"},
		{"&", "/a?&s", "/a?&s"},
		{"", "/a?s", "/a?s"},
	} {
		for _, before := range []string{"", "User-agent: other\nDisallow: /\n"} {
			f := robots.Parse([]byte(before + "Clean-param: " + tt.lines + "\n"))
			if got := f.CleanURL(tt.url); got != tt.want {
				t.Errorf("Clean-param: %s: CleanURL(%s) = %q, want %q", tt.lines, tt.url, got, tt.want)
			}
		}
	}
}

func TestFormats_1_5_CleanParam_Fields(t *testing.T) {
	f := robots.Parse([]byte("Clean-param: a&B /x*\nClean-param: c\n"))
	if len(f.CleanParams) != 2 {
		t.Fatalf("CleanParams = %+v", f.CleanParams)
	}
	if p := f.CleanParams[0]; !slices.Equal(p.Params, []string{"a", "B"}) || p.Prefix != "/x*" || p.Line != 1 {
		t.Errorf("first: %+v", p)
	}
	if p := f.CleanParams[1]; !slices.Equal(p.Params, []string{"c"}) || p.Prefix != "" || p.Line != 2 {
		t.Errorf("second: %+v", p)
	}
}

// Formats §1.5: a Clean-param line of more than 500 characters is ignored.
func TestFormats_1_5_CleanParam_Limit(t *testing.T) {
	const name = "Clean-param: s /"
	for _, tt := range []struct {
		line   string
		counts bool
	}{
		{name + strings.Repeat("a", 500-len(name)), true},
		{name + strings.Repeat("a", 501-len(name)), false},
		{"  " + name + strings.Repeat("a", 500-len(name)) + " # comment", true},
		{"Clean-param: s&" + strings.Repeat("ü", 485), true}, // characters, not bytes
		{"Clean-param: s&" + strings.Repeat("ü", 486), false},
	} {
		f := robots.Parse([]byte(tt.line + "\n"))
		if got := len(f.CleanParams) == 1; got != tt.counts {
			t.Errorf("line of %d bytes counts %v, want %v", len(tt.line), got, tt.counts)
		}
	}
}

// Formats §1.5: known records without effect are reported and change nothing.
func TestFormats_1_5_WithoutEffect(t *testing.T) {
	for _, line := range []string{"Noindex: /", "Request-rate: 1/10", "Visit-time: 0600-0845", "ACAP-crawler: *", "Nofollow: /", "Unheard-of: /"} {
		f := robots.Parse([]byte("User-agent: *\nDisallow: /a\n" + line + "\nDisallow: /b\n"))
		check(t, f.Rules("anybot", origin), "!/a", "!/b", "/")
		if len(f.Diagnostics) != 1 || f.Diagnostics[0].Line != 3 || f.Diagnostics[0].Text != line {
			t.Errorf("%s: diagnostics %+v", line, f.Diagnostics)
		}
	}
}
