package robots_test

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Formats §1.1: an empty body, or one without a parseable line, allows everything.
func TestFormats_1_1_NothingParseable(t *testing.T) {
	for _, body := range []string{
		"", "\n", "# nothing\n", "<!DOCTYPE html>\n<html><head><title>404: not found</title></head>\n<body>Disallow</body></html>\n",
		"{\"user-agent\": \"*\", \"disallow\": \"/\"}", "\x00\x01\x02", strings.Repeat("a", 1000),
	} {
		check(t, robots.Parse([]byte(body)).Rules("anybot", origin), "/", "/x")
	}
}

// Formats §1.1: rules found after redirects, also on another host, apply to the origin that was
// asked first. Host lines are therefore compared with this origin, and relative sitemaps are
// resolved against its robots.txt.
func TestFormats_1_1_FirstOrigin(t *testing.T) {
	first, last := mustOrigin(t, "http://a.example"), mustOrigin(t, "https://www.b.example")
	// served by last
	f := robots.Parse([]byte("User-agent: *\nDisallow: /x\nHost: https://www.b.example\nSitemap: /s.xml\n"))
	check(t, f.Rules("anybot", first), "!/", "!/x")
	check(t, f.Rules("anybot", last), "/", "!/x")
	if got := f.SitemapURLs(first.RobotsURL()); len(got) != 1 || got[0] != "http://a.example/s.xml" {
		t.Errorf("sitemaps %q", got)
	}
}

// Formats §1.2.1: a comment starts at any "#"; a literal one is written %23.
func TestFormats_1_2_1_Comments(t *testing.T) {
	r := rulesOf(t, "#c\nUser-agent: *#c\nDisallow: /a#b\nDisallow: /c%23d\nDisallow: # nothing\n#Disallow: /e\n", "anybot")
	check(t, r, "!/a", "!/ax", "!/c%23d", "/c", "/e", "/")
}

// Formats §1.2.2: blank lines and comments end no group.
func TestFormats_1_2_2_BlankLines(t *testing.T) {
	r := rulesOf(t, "User-agent: a\n\n# c\n\nUser-agent: b\n \t\nDisallow: /x\n\n\nDisallow: /y\n", "a")
	check(t, r, "!/x", "!/y")
}

// Formats §1.2.3: where groups begin.
func TestFormats_1_2_3_Groups(t *testing.T) {
	const text = "User-agent: a\nUser-agent: b\nDisallow: /x\nUser-agent: c\nDisallow: /y\n"
	check(t, rulesOf(t, text, "a"), "!/x", "/y")
	check(t, rulesOf(t, text, "b"), "!/x", "/y")
	check(t, rulesOf(t, text, "c"), "/x", "!/y")
	for _, other := range []string{"Sitemap: x", "Crawl-delay: 1", "Host: a.example", "Foo: bar", "foo bar baz", "Clean-param: x", "Mobile-agent-server: / none"} {
		check(t, rulesOf(t, "User-agent: a\n"+other+"\nUser-agent: b\nDisallow: /x\n", "a"), "!/x")
		check(t, rulesOf(t, "User-agent: a\nDisallow: /x\n"+other+"\nDisallow: /y\nUser-agent: b\nDisallow: /z\n", "b"), "/x", "/y", "!/z")
	}
}

// Formats §1.2.4: an empty rule matches nothing, but ends the list of user-agent lines.
func TestFormats_1_2_4_EmptyRule(t *testing.T) {
	for _, empty := range []string{"Disallow:", "Allow:", "Disallow: # all", "Disallow: nonsense"} {
		text := "User-agent: a\n" + empty + "\nUser-agent: b\nDisallow: /\n"
		check(t, rulesOf(t, text, "a"), "/", "/x")
		check(t, rulesOf(t, text, "b"), "!/")
	}
}

// Formats §1.2.5: rules before the first user-agent line apply to nobody.
func TestFormats_1_2_5_RulesBeforeGroups(t *testing.T) {
	check(t, rulesOf(t, "Disallow: /x\nUser-agent: *\nDisallow: /y\n", "anybot"), "/x", "!/y")
	check(t, rulesOf(t, "Disallow: /\n", "anybot"), "/")
}

// Formats §1.2.6: other records apply to the agents named above them in the group.
func TestFormats_1_2_6_OtherRecordsOfAGroup(t *testing.T) {
	delay := func(text, token string) (time.Duration, bool) { return rulesOf(t, text, token).CrawlDelay() }

	const above = "User-agent: a\nCrawl-delay: 9\nUser-agent: b\nDisallow: /x\n"
	if d, ok := delay(above, "a"); d != 9*time.Second || !ok {
		t.Errorf("a: %v, %v", d, ok)
	}
	if d, ok := delay(above, "b"); ok {
		t.Errorf("b has a delay: %v", d)
	}
	check(t, rulesOf(t, above, "a"), "!/x")
	check(t, rulesOf(t, above, "b"), "!/x")

	const after = "User-agent: a\nUser-agent: b\nDisallow: /x\nCrawl-delay: 9\n"
	for _, token := range []string{"a", "b"} {
		if d, ok := delay(after, token); d != 9*time.Second || !ok {
			t.Errorf("%s: %v, %v", token, d, ok)
		}
	}
	// A block is the user-agent lines since the last other line. Blank lines and comments do not
	// count as lines.
	for _, tt := range []struct {
		text string
		want map[string]time.Duration
	}{
		{"User-agent: a\nCrawl-delay: 9\nUser-agent: b\nCrawl-delay: 60\nDisallow: /x\n", map[string]time.Duration{"a": 9, "b": 60, "c": 0}},
		{"User-agent: a\nUser-agent: b\nCrawl-delay: 9\nUser-agent: c\nCrawl-delay: 60\nDisallow: /x\n", map[string]time.Duration{"a": 9, "b": 9, "c": 60}},
		{"User-agent: a\n\n# x\nUser-agent: b\nCrawl-delay: 9\n", map[string]time.Duration{"a": 9, "b": 9}},
		{"User-agent: a\nSitemap: http://a.example/\nUser-agent: b\nCrawl-delay: 9\nDisallow: /x\n", map[string]time.Duration{"a": 0, "b": 9}},
		// other records share them
		{"User-agent: a\nUnknown: x\nCrawl-delay: 9\nUser-agent: b\nDisallow: /x\n", map[string]time.Duration{"a": 9, "b": 0}},
		{"User-agent: a\nCrawl-delay: 9\nUser-agent: b\nDisallow: /x\nCrawl-delay: 60\n", map[string]time.Duration{"a": 60, "b": 60}},
		{"User-agent: a\nCrawl-delay: 9\nUser-agent: b\nDisallow:\nCrawl-delay: 60\n", map[string]time.Duration{"a": 60, "b": 60}},
		{"User-agent: a\nCrawl-delay: 9\nUser-agent: b\nCrawl-delay: 60\nUser-agent: a\nCrawl-delay: 5\nDisallow: /x\n", map[string]time.Duration{"a": 9, "b": 60}},
		{"User-agent: a\nDisallow: /x\nUser-agent: b\nCrawl-delay: 9\nUser-agent: c\nCrawl-delay: 60\n", map[string]time.Duration{"a": 0, "b": 9, "c": 60}},
		{"User-agent: spbot\nCrawl-delay: 9\nUser-agent: *\nDisallow: /x\n", map[string]time.Duration{"spbot": 9, "a": 0}},
		{"User-agent: *\nDisallow: /x\nUser-agent: spbot\nUser-agent: a\nHost: b.example\nUser-agent: c\nCrawl-delay: 60\n", map[string]time.Duration{"spbot": 0, "a": 0, "c": 60}},
	} {
		for token, want := range tt.want {
			if d, ok := delay(tt.text, token); d != want*time.Second || ok != (want > 0) {
				t.Errorf("%q: %s has %v, %v; want %v", tt.text, token, d, ok, want*time.Second)
			}
		}
	}
	// The agent is named twice, before and after.
	if _, ok := delay("User-agent: a\nCrawl-delay: 9\nUser-agent: a\nDisallow: /x\n", "a"); !ok {
		t.Error("a named again has no delay")
	}
}

// Formats §1.2.8: lines may be long, patterns up to 8 KiB after normalisation.
func TestFormats_1_2_8_LongLines(t *testing.T) {
	const limit = 8 << 10
	for _, tt := range []struct {
		name, pattern, path string
		counts              bool
	}{
		{"at the limit", "/" + strings.Repeat("a", limit-1), "/" + strings.Repeat("a", limit-1), true},
		{"past the limit", "/" + strings.Repeat("a", limit), "/" + strings.Repeat("a", limit), false},
		{"anchor at the limit", "/" + strings.Repeat("a", limit-2) + "$", "/" + strings.Repeat("a", limit-2), true},
		{"anchor past the limit", "/" + strings.Repeat("a", limit-1) + "$", "/" + strings.Repeat("a", limit-1), false},
		{"encoded at the limit", "/ab" + strings.Repeat("\xff", (limit-3)/3) + "cd", "/ab" + strings.Repeat("%FF", (limit-3)/3) + "cd", true},
		{"encoded past the limit", "/" + strings.Repeat("\xff", limit/3+1), "/" + strings.Repeat("%FF", limit/3+1), false},
		{"escaped, shorter when normal", "/" + strings.Repeat("%61", limit-1), "/" + strings.Repeat("a", limit-1), true},
	} {
		f := robots.Parse([]byte("User-agent: *\nDisallow: " + tt.pattern + "\nDisallow: /other\n"))
		r := f.Rules("anybot", origin)
		if got := !r.Match(tt.path).Allowed; got != tt.counts {
			t.Errorf("%s: rule counts %v, want %v", tt.name, got, tt.counts)
		}
		if tt.counts != (len(f.Diagnostics) == 0) {
			t.Errorf("%s: diagnostics for lines %d", tt.name, len(f.Diagnostics))
		}
		check(t, r, "!/other", "/x")
	}
	// The comment does not count, and a line as long as the file is read.
	long := "User-agent: *\nDisallow: /x " + strings.Repeat(" ", 200_000) + "#" + strings.Repeat("c", 200_000) + "\nDisallow: /y"
	check(t, rulesOf(t, long, "anybot"), "!/x", "!/y")
}

// Formats §1.4: the table.
func TestFormats_1_4_Table(t *testing.T) {
	for _, tt := range []struct {
		rules string
		paths []string
	}{
		{"D /a , A /a/b", []string{"/a/bc"}},
		{"D /x , A /x", []string{"/x"}},
		{"A /p , D /*.htm", []string{"!/page.htm"}},
		{"A /$ , D /", []string{"/", "!/z"}},
		{"D /*?s=", []string{"!/f?s=1", "/f?t=1"}},
		{"D /%7Eu/", []string{"!/~u/x"}},
		{"D /b%C3%BC", []string{"!/bü"}},
		{"D /a%2Fb", []string{"/a/b"}},
		{"D", []string{"/", "/anything"}},
	} {
		t.Run(tt.rules, func(t *testing.T) {
			text := "User-agent: *\n"
			for _, rule := range strings.Split(tt.rules, " , ") {
				name, pattern, _ := strings.Cut(rule, " ")
				text += map[string]string{"A": "Allow: ", "D": "Disallow: "}[name] + pattern + "\n"
			}
			check(t, rulesOf(t, text, "anybot"), tt.paths...)
		})
	}
}

// Formats §1.4: what is matched.
func TestFormats_1_4_Subject(t *testing.T) {
	r := rulesOf(t, "User-agent: *\nDisallow: /$\nDisallow: /?q\nDisallow: /a/../b\nDisallow: //c\n", "anybot")
	check(t, r, "!/", "!", "!#f", "!/#f", "!?q", "!/?q#f", "/x", "!/a/../b", "/b", "!//c", "/c", "/a#/?q")
}

// Formats §1.4: a "%" that begins no escape counts as %25, in rule and subject.
func TestFormats_1_4_StrayPercent(t *testing.T) {
	check(t, rulesOf(t, "User-agent: *\nDisallow: /100%/\nDisallow: /50%$\nDisallow: /x%*y\nDisallow: /a%4\n", "anybot"),
		"!/100%25/x", "!/100%/x", "/100", "!/50%25", "!/50%", "/50%25x", "!/x%25zy", "!/x%zy", "!/a%254", "!/a%4", "/a%41z", "/aA")
}

// Formats §1.4: only patterns that start with "/" or "*" match anything.
func TestFormats_1_4_PatternStart(t *testing.T) {
	for _, pattern := range []string{"x", "x/", "?q", "$", "%2Fx", "https://www.example.org/x", ".", "\\x", "%2A"} {
		f := robots.Parse([]byte("User-agent: *\nDisallow: " + pattern + "\n"))
		check(t, f.Rules("anybot", origin), "/", "/x", "/x/", "/?q", "/https://www.example.org/x")
		if len(f.Diagnostics) != 1 {
			t.Errorf("%s: diagnostics %+v", pattern, f.Diagnostics)
		}
	}
}

// Formats §1.4: index.html is an ordinary file, and does not stand for its directory as in one
// other crawler.
func TestFormats_1_4_NoDirectoryIndex(t *testing.T) {
	check(t, rulesOf(t, "User-agent: *\nDisallow: /\nAllow: /a/index.html\n", "anybot"), "!/a/", "!/a", "/a/index.html")
	check(t, rulesOf(t, "User-agent: *\nDisallow: /a/index.html\n", "anybot"), "/a/", "!/a/index.html")
}

// Formats §1.4: octets are counted in the normal form, wildcard and anchor one each, "**" as
// written.
func TestFormats_1_4_Octets(t *testing.T) {
	for _, tt := range []struct {
		rules, path string
		line        int // line of the deciding rule; line 1 is the user-agent line
	}{
		{"Disallow: /abc\nAllow: /a*", "/abc", 2},    // 4 > 3
		{"Disallow: /a*\nAllow: /ab", "/abc", 3},     // tie
		{"Disallow: /a**\nAllow: /ab", "/abc", 2},    // 4 > 3
		{"Disallow: /ab$\nAllow: /ab", "/ab", 2},     // 4 > 3
		{"Disallow: /%61%62\nAllow: /a", "/ab", 2},   // normal form: 3 > 2
		{"Disallow: /%61\nAllow: /ab", "/ab", 3},     // normal form: 2 < 3
		{"Disallow: /ü\nAllow: /*%BC$", "/ü", 2},     // 7 > 6
		{"Disallow: /a b\nAllow: /a*b*", "/a b", 2},  // 6 > 5
		{"Allow: /a\nAllow: /a\nAllow: /a", "/a", 2}, // equal: the first is named
		{"Disallow: /a*\nDisallow: /ab", "/ab", 2},   // equal
		{"Disallow: /ab\nDisallow: /a*", "/ab", 2},   // equal
		{"Disallow: /a$b\nAllow: /a%24b", "/a$b", 3}, // two spellings of one pattern
	} {
		v := rulesOf(t, "User-agent: *\n"+tt.rules+"\n", "anybot").Match(tt.path)
		if v.Line != tt.line {
			t.Errorf("%q, %s: %+v, want line %d", tt.rules, tt.path, v, tt.line)
		}
	}
}
