package searchweb

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of a snippet; marked ones are what was asked for.
type span struct {
	Text   string
	Marked bool
}

// Limits of what is shown of a hit, in characters.
const (
	maxTitle   = 160
	maxSnippet = 600
	maxCrumb   = 40
	maxCrumbs  = 5
)

// spans cuts a snippet at its marks: [from, to) in bytes. Marks that overlap, are out of range or
// cut a character in two are passed over.
func spans(s string, marks [][2]int) (all []span) {
	done, room := 0, maxSnippet
	add := func(text string, marked bool) {
		text = short(clean(text), room)
		room -= utf8.RuneCountInString(text)
		if text != "" {
			all = append(all, span{text, marked})
		}
	}
	for _, m := range marks {
		from, to := m[0], m[1]
		if from < done || to <= from || to > len(s) || !utf8.RuneStart(s[from]) || to < len(s) && !utf8.RuneStart(s[to]) {
			continue
		}
		add(s[done:from], false)
		add(s[from:to], true)
		if done = to; room <= 0 {
			return all
		}
	}
	add(s[done:], false)
	return all
}

// maxPiled is how many combining marks may stand on one letter. More than any script needs would
// reach into the lines above and below.
const maxPiled = 5

// clean makes text from a site fit to stand on a page: on one line, without control characters,
// without those that turn the direction of what follows them, and without towers of accents.
func clean(s string) string {
	piled := 0
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			if piled++; piled > maxPiled {
				return -1
			}
			return r
		}
		piled = 0
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == 0x200c || r == 0x200d: // join and part letters of Persian and Hindi, and emoji
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// short cuts s after n characters.
func short(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	return string([]rune(s)[:n-1]) + "…"
}

// webURL parses a URL that a link on the page may lead to: http or https, nothing else.
func webURL(raw string) (*url.URL, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, false
	}
	return u, true
}

// crumbs are a URL as the way to it: the host, then the folders, readable. Of a long way the middle
// is left out.
func crumbs(raw string) []string {
	u, ok := webURL(raw)
	if !ok {
		return []string{short(clean(raw), maxCrumb)}
	}
	all := []string{short(clean(u.Host), 2*maxCrumb)}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		if part != "" {
			all = append(all, short(readable(part), maxCrumb))
		}
	}
	if u.RawQuery != "" {
		all[len(all)-1] += short("?"+readable(u.RawQuery), maxCrumb)
	}
	if n := len(all); n > maxCrumbs {
		all = append(append(all[:2:2], "…"), all[n-(maxCrumbs-3):]...)
	}
	return all
}

// readable is a part of a URL without its escapes, if what they stand for can be shown.
func readable(part string) string {
	plain, err := url.PathUnescape(part)
	if err != nil || !utf8.ValidString(plain) || clean(plain) != plain {
		return clean(part)
	}
	return plain
}
