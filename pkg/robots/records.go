package robots

import "strings"

// recordKind is the kind of record a line is, by its name.
type recordKind uint8

const (
	kindUnknown recordKind = iota
	kindUserAgent
	kindAllow
	kindDisallow
	kindSitemap
	kindCrawlDelay
	kindHost
	kindCleanParam
	kindMobileAgentServer
	kindContentUsage
	kindContentSignal
	kindLicense
)

// spelling is one spelling of a record name.
type spelling struct {
	name string
	kind recordKind
	odd  bool // misspelled, but accepted by widely used parsers (formats §1.2.7)
}

// spellings has all names by their length, so that one comparison decides for nearly every line.
// Allow has no misspellings: a lenient reading may close a part of a site, but not open it.
var spellings = func() (t [20][]spelling) {
	for _, s := range []spelling{
		{"user-agent", kindUserAgent, false},
		{"useragent", kindUserAgent, true},
		{"user agent", kindUserAgent, true},
		{"allow", kindAllow, false},
		{"disallow", kindDisallow, false},
		{"dissallow", kindDisallow, true},
		{"dissalow", kindDisallow, true},
		{"disalow", kindDisallow, true},
		{"diasllow", kindDisallow, true},
		{"disallaw", kindDisallow, true},
		{"sitemap", kindSitemap, false},
		{"site-map", kindSitemap, true},
		{"crawl-delay", kindCrawlDelay, false},
		{"host", kindHost, false},
		{"clean-param", kindCleanParam, false},
		{"mobile-agent-server", kindMobileAgentServer, false},
		{"content-usage", kindContentUsage, false},
		{"content-signal", kindContentSignal, false},
		{"license", kindLicense, false},
	} {
		t[len(s.name)] = append(t[len(s.name)], s)
	}
	return t
}()

// kindOf looks up a complete record name, ignoring ASCII case.
func kindOf(name string) (kind recordKind, odd bool) {
	if len(name) < len(spellings) {
		for _, s := range spellings[len(name)] {
			if equalFold(name, s.name) {
				return s.kind, s.odd
			}
		}
	}
	return kindUnknown, false
}

// splitRecord splits a line, without comment and outer blanks, into its kind and value, and
// describes what is odd about it.
//
// A missing colon is ignored if the line has exactly two words and the first is a known name
// (formats §1.2.7). A colon inside the second word, as in "sitemap https://example.org/s.xml", does
// not count as the line's colon.
func splitRecord(line string) (kind recordKind, value, oddity string) {
	colon := strings.IndexByte(line, ':')
	if colon >= 0 {
		if kind, odd := kindOf(trim(line[:colon])); kind != kindUnknown {
			if odd {
				oddity = "misspelled name: read as the name that it resembles"
			}
			return kind, trim(line[colon+1:]), oddity
		}
	}
	if name, rest := cutWord(line); rest != "" {
		if value, more := cutWord(rest); more == "" {
			if kind, _ := kindOf(name); kind != kindUnknown {
				return kind, value, "no colon after the name: read as if it had one"
			}
		}
	}
	if colon < 0 {
		return kindUnknown, "", "no colon: skipped"
	}
	return kindUnknown, "", "this crawler does not use this kind of line: skipped"
}
