package robots_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Helpers for the tests of this folder.

var origin = robots.Origin{Scheme: "https", Host: "www.example.org", Port: 443}

func rulesOf(t *testing.T, text, token string) *robots.Rules {
	t.Helper()
	return robots.Parse([]byte(text)).Rules(token, origin)
}

// check compares verdicts; a path after "!" must be denied.
func check(t *testing.T, r *robots.Rules, paths ...string) {
	t.Helper()
	for _, p := range paths {
		path, denied := strings.CutPrefix(p, "!")
		if v := r.Match(path); v.Allowed == denied {
			t.Errorf("Match(%q) = %+v, want allowed %v", path, v, !denied)
		}
	}
}

func mustOrigin(t *testing.T, raw string) robots.Origin {
	t.Helper()
	o, err := robots.ParseOrigin(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func encodeUTF16(text string, bigEndian bool) []byte {
	b := []byte{}
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		if bigEndian {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

func TestZeroValuesAllowEverything(t *testing.T) {
	var f robots.File
	check(t, f.Rules("anybot", origin), "/", "/x?y", "")
	check(t, new(robots.Rules), "/", "/x?y", "")
	if got := f.CleanURL("/a?b=1"); got != "/a?b=1" {
		t.Errorf("CleanURL = %q", got)
	}
	if c := f.Claim(origin); c != (robots.Claim{}) {
		t.Errorf("Claim = %+v", c)
	}
	if target, ok := f.AgentServer("/"); ok {
		t.Errorf("AgentServer = %q", target)
	}
}

func TestForStatus(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /private\n")
	for _, tt := range []struct {
		codes []int
		paths []string
	}{
		{[]int{200, 203, 204, 206, 299}, []string{"/", "!/private", "/robots.txt"}},
		{[]int{400, 401, 403, 404, 410, 418, 428, 430, 451, 499}, []string{"/", "/private", "/robots.txt"}},
		{[]int{402, 429, 500, 502, 503, 504, 599, 0, -1, 100, 199, 301, 304, 600, 999}, []string{"!/", "!/private", "/robots.txt", "!/robots.txt?x"}},
	} {
		for _, code := range tt.codes {
			t.Logf("status %d", code)
			check(t, robots.ForStatus(code, body).Rules("anybot", origin), tt.paths...)
		}
	}
	if v := robots.ForStatus(503, nil).Rules("anybot", origin).Match("/"); v != (robots.Verdict{}) {
		t.Errorf("unreachable: %+v, want no rule named", v)
	}
}

func TestForState(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /private\n")
	for state, paths := range map[robots.State][]string{
		robots.Parsed:      {"/", "!/private"},
		robots.Unavailable: {"/", "/private"},
		robots.Unreachable: {"!/", "!/private"},
		robots.Redirect:    {"!/", "!/private"},
	} {
		check(t, robots.ForState(state, body).Rules("anybot", origin), paths...)
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		robots.Parsed: "parsed", robots.Unavailable: "unavailable", robots.Unreachable: "unreachable", robots.Redirect: "redirect",
		robots.UseCopy: "copy", robots.UseNothing: "nothing", robots.UseAllowAll: "allow all",
		robots.HostMatch: "match", robots.HostNoMatch: "nomatch", robots.HostIgnored: "ignored",
		robots.ClaimNone: "none", robots.ClaimSelf: "self", robots.ClaimTarget: "target",
		robots.Origin{}: "", origin: "https://www.example.org",
	} {
		if got.String() != want {
			t.Errorf("%#v: %q, want %q", got, got, want)
		}
	}
}

// Formats §0: a bad line is skipped, counted and reported by number and reason; the others count.
func TestFormats_0_Diagnostics(t *testing.T) {
	text := strings.Join([]string{
		"Allow: /early",              // 1 before any group
		"User-agent: *",              // 2
		"just some words here",       // 3 no colon
		"Noindex: /x",                // 4 no effect
		"Disallow: x",                // 5 never matches
		"Crawl-delay: soon",          // 6
		"Host: under_score.example",  // 7
		"Mobile-agent-server: /",     // 8
		"Sitemap: ftp://a.example/s", // 9
		"Clean-param: a b c",         // 10
		"User-agent: 007",            // 11
		"Sitemap:",                   // 12
		"Disallow: /fine # yes",      // 13 nothing odd
		"",                           // 14
	}, "\n")
	f := robots.Parse([]byte(text))
	var lines []int
	for _, d := range f.Diagnostics {
		lines = append(lines, d.Line)
		if d.Reason == "" || d.Text == "" {
			t.Errorf("line %d: reason %q, text %q", d.Line, d.Reason, d.Text)
		}
	}
	for i := range 14 {
		if line := i + 1; (line != 2 && line < 13) != contains(lines, line) {
			t.Errorf("line %d: diagnostics name lines %v", line, lines)
		}
	}
	if f.Odd != len(f.Diagnostics) {
		t.Errorf("Odd = %d, want %d", f.Odd, len(f.Diagnostics))
	}
	// line 13 is in the group of line 11, which applies to nobody
	check(t, f.Rules("anybot", origin), "/early", "/x", "/fine")
}

func contains(s []int, n int) bool {
	for _, m := range s {
		if m == n {
			return true
		}
	}
	return false
}

func TestDiagnosticsAreBounded(t *testing.T) {
	for _, tt := range []struct{ lines, listed int }{
		{robots.MaxDiagnostics, robots.MaxDiagnostics},
		{robots.MaxDiagnostics + 1, robots.MaxDiagnostics},
	} {
		f := robots.Parse(bytes.Repeat([]byte("?\n"), tt.lines))
		if len(f.Diagnostics) != tt.listed || f.Odd != tt.lines {
			t.Errorf("%d bad lines: %d listed, %d counted", tt.lines, len(f.Diagnostics), f.Odd)
		}
	}
	f := robots.Parse([]byte(strings.Repeat("x", 1000)))
	if n := len(f.Diagnostics[0].Text); n != 200 {
		t.Errorf("text of %d bytes, want 200", n)
	}
}

func TestVerdictNamesTheLine(t *testing.T) {
	r := rulesOf(t, "User-agent: *\r\n\r\ndisallow:/shop   # keep out\rAllow: /shop/open\n", "anybot")
	for path, want := range map[string]robots.Verdict{
		"/shop":      {Allowed: false, Line: 3, Rule: "disallow:/shop"},
		"/shop/open": {Allowed: true, Line: 4, Rule: "Allow: /shop/open"},
		"/":          {Allowed: true},
	} {
		if got := r.Match(path); got != want {
			t.Errorf("Match(%q) = %+v, want %+v", path, got, want)
		}
	}
}

func TestParseKeepsNoReferenceToBody(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /a\nSitemap: /s.xml\nHost: a.example\n")
	f := robots.Parse(body)
	for i := range body {
		body[i] = 'x'
	}
	check(t, f.Rules("anybot", robots.Origin{}), "!/a", "/b")
	if f.Sitemaps[0] != "/s.xml" || f.HostHint != "a.example" {
		t.Errorf("file changed with the body: %q, %q", f.Sitemaps, f.HostHint)
	}
}

func TestRulesAreSafeForConcurrentUse(t *testing.T) {
	f := robots.Parse([]byte("User-agent: *\nDisallow: /a*b\nAllow: /c\nCrawl-delay: 1\nMobile-agent-server: / a://b\nClean-param: s\n"))
	done := make(chan bool)
	for range 4 {
		go func() {
			for range 100 {
				r := f.Rules("anybot", origin)
				r.Match("/axb")
				r.CrawlDelay()
				r.AgentServer("/x")
				f.Claim(origin)
				f.CleanURL("/x?s=1")
				f.SitemapURLs(origin.RobotsURL())
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
}
