package robots

import "strings"

// recordKind is the kind of record a line is, by its name.
type recordKind uint8

const (
	unknown recordKind = iota
	userAgent
	allow
	disallow
	sitemap
	crawlDelay
	host
	cleanParam
	mobileAgentServer
)

// splitRecord splits a line, freed of comment and outer blanks, into its kind and value. A missing colon is overlooked
// when the line has exactly two words and the first is a name we know (§1.2.7); that the second may have a colon in it,
// as in "sitemap https://example.org/s.xml", does not make it the missing one.
func splitRecord(line string) (recordKind, string) {
	if i := strings.IndexByte(line, ':'); i >= 0 {
		if kind := kindOf(trim(line[:i])); kind != unknown {
			return kind, trim(line[i+1:])
		}
	}
	if name, value := cutWord(line); value != "" {
		if _, more := cutWord(value); more == "" {
			return kindOf(name), value
		}
	}
	return unknown, ""
}

// kindOf looks a record name up, ignoring ASCII case. The misspellings are those that widely used parsers accept; there is
// none for allow, since reading too much into a line may only ever close a site, not open it (§1.2.7).
func kindOf(name string) recordKind {
	// By length first: nearly all lines are settled with one comparison.
	switch len(name) {
	case 4:
		return pick(name, host, "host")
	case 5:
		return pick(name, allow, "allow")
	case 7:
		if lowerByte(name[0]) == 's' {
			return pick(name, sitemap, "sitemap")
		}
		return pick(name, disallow, "disalow")
	case 8:
		if lowerByte(name[0]) == 's' {
			return pick(name, sitemap, "site-map")
		}
		return pick(name, disallow, "disallow", "dissalow", "diasllow", "disallaw")
	case 9:
		if lowerByte(name[0]) == 'u' {
			return pick(name, userAgent, "useragent")
		}
		return pick(name, disallow, "dissallow")
	case 10:
		return pick(name, userAgent, "user-agent", "user agent")
	case 11:
		if lowerByte(name[1]) == 'r' {
			return pick(name, crawlDelay, "crawl-delay")
		}
		return pick(name, cleanParam, "clean-param")
	case 19:
		return pick(name, mobileAgentServer, "mobile-agent-server")
	}
	return unknown
}

func pick(name string, kind recordKind, spellings ...string) recordKind {
	for _, s := range spellings {
		if equalFold(name, s) {
			return kind
		}
	}
	return unknown
}
