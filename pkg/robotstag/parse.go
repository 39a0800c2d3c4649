package robotstag

import "strings"

// blanks separate words. A header contains only the first two; the content of a meta element may
// have several lines.
const blanks = " \t\r\n\f"

// wordEnd are the bytes that end a word: blanks, the item separator, and the two that follow a
// scope or precede a value.
const wordEnd = blanks + ",=:"

// parser parses one value. It reads each part once from left to right; only the search for a date
// may read the same few bytes again.
type parser struct {
	set   *Set
	where string
	line  int
	own   bool // the current scope is our token
	other bool // the current scope is another token
	cut   bool // the end of the value is not the end of its last item
	rules []Rule
}

// headerValue parses a field value: parts between semicolons, each of which applies to everybody at
// its beginning (formats §4.1).
func (p *parser) headerValue(value string) {
	if p.asList(value) {
		return
	}
	for more := true; more; {
		var part string
		part, value, more = strings.Cut(value, ";")
		p.own, p.other = false, false
		p.part(part, p.cut && !more)
	}
}

// part parses the items of one part. It need not be split at commas before: no word contains one,
// and only a date may extend beyond one.
func (p *parser) part(s string, cut bool) {
	for {
		s = strings.TrimLeft(s, blanks+",")
		if s == "" {
			return
		}
		switch s[0] {
		case '*':
			p.own, p.other = false, false
			s, _ = cutSeparator(s[1:])
			continue
		case '=': // an empty token
			p.own, p.other = false, false
			s = s[1:]
			continue
		case ':':
			p.diagnose(":", "stray colon")
			s = s[1:]
			continue
		}
		word, rest := cutWord(s, wordEnd)
		rest, value := cutSeparator(rest)
		switch name, kind := lookup(word); {
		case kind == valueRule && value:
			s = p.value(name, rest, cut)
		case kind == noRule && value:
			p.scope(word)
			s = rest
		default: // a rule, whatever value follows it
			p.rule(word)
			s = rest
		}
	}
}

// metaValue parses a content attribute: only rules, separated by commas or semicolons, all in the
// scope of the element's name (formats §4.3).
func (p *parser) metaValue(s string) {
	if star, ok := strings.CutPrefix(strings.TrimLeft(s, blanks), "*"); ok {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(star, blanks), "="); ok {
			s = rest
		}
	}
	for more := true; more; {
		var part string
		part, s, more = strings.Cut(s, ";")
		p.metaPart(part, p.cut && !more)
	}
}

func (p *parser) metaPart(s string, cut bool) {
	for {
		s = strings.TrimLeft(s, blanks+",")
		if s == "" {
			return
		}
		word, rest := cutWord(s, wordEnd)
		if name, kind := lookup(word); kind == valueRule {
			if rest, ok := cutSeparator(rest); ok {
				s = p.value(name, rest, cut)
				continue
			}
		}
		// Without scopes, "=" and ":" have no meaning: they are part of an unknown word.
		word, s = cutWord(s, blanks+",")
		p.rule(word)
	}
}

// scope makes the following rules apply to the agent named by word.
func (p *parser) scope(word string) {
	everybody, own := addressee(word, p.set.token)
	p.own = own && !everybody
	p.other = !own && !everybody
}

// rule applies a rule without a value.
func (p *parser) rule(word string) {
	switch name, kind := lookup(word); name {
	case "noindex":
		p.ask("noindex")
	case "nosnippet":
		p.ask("nosnippet")
	case "nofollow":
		p.ask("nofollow")
	case "noarchive":
		p.ask("noarchive")
	case "noai", "noimageai":
		p.ask(name)
	case "none":
		p.ask("noindex")
		p.ask("nofollow")
	case "":
		p.diagnose(word, "unknown rule")
	default:
		// The remaining rules are known and have no effect on us: "all", "index" and "follow"
		// cancel no rule, and the others concern features that we do not have.
		if kind == valueRule {
			p.diagnose(word, "the value is missing")
		}
	}
}

// value applies a rule that takes a value and returns what follows it.
func (p *parser) value(name, s string, cut bool) (rest string) {
	s = strings.TrimLeft(s, blanks)
	if name == "unavailable_after" {
		return p.unavailable(s, cut)
	}
	v, rest := cutWord(s, blanks+",")
	if name != "max-snippet" {
		return rest
	}
	switch n, ok := count(v); {
	case ok && n == 0:
		p.ask("nosnippet") // an excerpt of no characters
	case ok:
		p.askFor(Rule{Name: name, Limit: n})
	case v != "-1": // which means that there is no limit
		p.diagnose(v, "max-snippet is not a number")
	}
	return rest
}

// count parses a number of characters, which has only digits. A number above maxCount, which no
// page's text reaches, becomes maxCount.
func count(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(s[i]-'0'), maxCount)
	}
	return n, s != ""
}

// maxCount and all intermediate results fit into 31 bits, so nothing overflows.
const maxCount = 100_000_000

// unavailable parses the date of unavailable_after at the beginning of s. It may contain one comma,
// after the weekday. Words after a valid date are left to the caller as separate rules; without a
// valid date the item is lost.
func (p *parser) unavailable(s string, cut bool) (rest string) {
	end := commaOrEnd(s, 0)
	if end < len(s) && isWeekday(strings.Trim(s[:end], blanks)) {
		end = commaOrEnd(s, end+1)
	}
	item, rest := s[:end], s[end:]
	if cut && rest == "" {
		p.diagnose(item, "the date was cut at the size limit")
		return ""
	}
	t, n := leadingDate(item)
	if n == 0 {
		p.diagnose(item, "the date cannot be read")
		return rest
	}
	p.askFor(Rule{Name: "unavailable_after", Until: t})
	return s[n:]
}

// commaOrEnd returns the index of the first comma at or after from, or len(s).
func commaOrEnd(s string, from int) int {
	if i := strings.IndexByte(s[from:], ','); i >= 0 {
		return from + i
	}
	return len(s)
}

func (p *parser) ask(name string) { p.askFor(Rule{Name: name}) }

// askFor records a rule if its scope applies to us, once per name and scope. Of two dates the
// earlier is kept, and of two limits the smaller.
func (p *parser) askFor(rule Rule) {
	if p.other {
		return
	}
	rule.Own = p.own
	for i := range p.rules {
		if r := &p.rules[i]; r.Name == rule.Name && r.Own == p.own {
			r.Until, r.Limit = earlier(r.Until, rule.Until), smaller(r.Limit, rule.Limit)
			return
		}
	}
	p.rules = append(p.rules, rule)
}

func (p *parser) diagnose(text, reason string) {
	if len(p.set.diags) < maxDiagnostics {
		p.set.diags = append(p.set.diags, Diagnostic{Where: p.where, Line: p.line, Text: text, Reason: reason})
	}
}

// cutWord splits s before the first byte of ends.
func cutWord(s, ends string) (word, rest string) {
	if i := strings.IndexAny(s, ends); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// cutSeparator removes a leading "=" or ":", including blanks before it.
func cutSeparator(s string) (rest string, found bool) {
	t := strings.TrimLeft(s, blanks)
	if t != "" && (t[0] == '=' || t[0] == ':') {
		return t[1:], true
	}
	return s, false
}
