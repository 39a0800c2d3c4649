package robots_test

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Behaviour that no standard requires, but other parsers or common sense do.

// Formats §1.2.7: the names that are read as others.
func TestLenient_1_2_7_MisspeltNames(t *testing.T) {
	for _, agent := range []string{"user-agent", "useragent", "user agent", "UserAgent", "User Agent"} {
		for _, disallow := range []string{"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "DisAlow"} {
			check(t, rulesOf(t, agent+": *\n"+disallow+": /x\n", "anybot"), "!/x", "/y")
		}
	}
	if f := robots.Parse([]byte("Site-map: /s.xml\nSite-Map: /t.xml\n")); len(f.Sitemaps) != 2 {
		t.Errorf("Sitemaps = %q", f.Sitemaps)
	}
	for _, line := range []string{"disallows: /x", "dis-allow: /x", "disallowed: /x", "disall: /x", "block: /x", "disallow-x: /x"} {
		check(t, rulesOf(t, "User-agent: *\n"+line+"\n", "anybot"), "/x")
	}
	for _, line := range []string{"alow: /x", "allaw: /x", "allows: /x", "al low: /x"} {
		check(t, rulesOf(t, "User-agent: *\nDisallow: /\n"+line+"\n", "anybot"), "!/x")
	}
	for _, line := range []string{"user--agent: *", "user  agent: *", "agent: *", "user-agents: *", "user_agent: *"} {
		check(t, rulesOf(t, line+"\nDisallow: /x\n", "anybot"), "/x")
	}
}

// Formats §1.2.7: two words without a colon.
func TestLenient_1_2_7_MissingColon(t *testing.T) {
	check(t, rulesOf(t, "User-agent *\ndisallow /x\n", "anybot"), "!/x", "/y")
	check(t, rulesOf(t, "User-agent\t*\n  dissallow \t /x  # c\n", "anybot"), "!/x", "/y")
	check(t, rulesOf(t, "User-agent *\ndisallow /x:y\n", "anybot"), "!/x:y", "/x")
	check(t, rulesOf(t, "User-agent *\nallow /x/y\nDisallow: /x\n", "anybot"), "/x/y", "!/x")
	check(t, rulesOf(t, "User-agent: *\ndisallow /x /y\n", "anybot"), "/x", "/y")
	check(t, rulesOf(t, "user agent *\ndisallow /x\n", "anybot"), "/x") // three words
	check(t, rulesOf(t, "User-agent: *\ndisallow/x\n", "anybot"), "/x")
	f := robots.Parse([]byte("sitemap https://www.example.org/s.xml\nsitemap /t.xml\nfoo bar\nhost www.example.org:443"))
	if len(f.Sitemaps) != 2 || f.HostHint != "www.example.org:443" {
		t.Errorf("sitemaps %q, host %q", f.Sitemaps, f.HostHint)
	}
	// A single word is not a rule, so it does not end the list of user-agent lines either.
	check(t, rulesOf(t, "User-agent: a\nDisallow\nUser-agent: b\nDisallow: /x\n", "a"), "!/x")
}

// Formats §1.2.7: lenient reading is reported.
func TestLenient_1_2_7_IsReported(t *testing.T) {
	f := robots.Parse([]byte("Useragent: *\nDisallow /x\nDisalow: /y\n"))
	if len(f.Diagnostics) != 3 {
		t.Errorf("diagnostics %+v", f.Diagnostics)
	}
}

func TestLenient_CrawlDelayWithBarePoint(t *testing.T) {
	for value, want := range map[string]time.Duration{".5": time.Second / 2, "5.": 5 * time.Second} {
		if d, ok := rulesOf(t, "User-agent: *\nCrawl-delay: "+value+"\n", "anybot").CrawlDelay(); d != want || !ok {
			t.Errorf("%s: %v, %v", value, d, ok)
		}
	}
}

func TestLenient_BlankInPattern(t *testing.T) {
	check(t, rulesOf(t, "User-agent: *\nDisallow: /a b\n", "anybot"), "!/a%20b", "/a")
}

func TestLenient_SubjectWithoutSlash(t *testing.T) {
	check(t, rulesOf(t, "User-agent: *\nDisallow: /a\n", "anybot"), "!a", "b")
}

func TestLenient_RootDot(t *testing.T) {
	const text = "User-agent: *\nDisallow:\nHost: www.example.org\n"
	o := robots.Origin{Scheme: "https", Host: "www.example.org.", Port: 443}
	check(t, robots.Parse([]byte(text)).Rules("anybot", o), "/")
}
