package search

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/webtext"
)

// span is a piece of a snippet; words of the query are marked.
type span struct {
	Text   string
	Marked bool
}

// Limits of the parts of a hit, in characters.
const (
	maxTitle   = 160
	maxSnippet = 600
	maxCrumb   = 40
	maxCrumbs  = 5
)

// spans divides a snippet at its marks: [from, to) in bytes. Marks that overlap, are out of range
// or divide a character are ignored.
func spans(s string, marks [][2]int) (all []span) {
	done, room := 0, maxSnippet
	add := func(text string, marked bool) {
		text = webtext.Short(webtext.Clean(text), room)
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

// crumbs are the readable parts of a URL: the host, then the folders. The middle of a long URL is
// left out.
func crumbs(raw string) []string {
	u, ok := webtext.URL(raw)
	if !ok {
		return []string{webtext.Short(webtext.Clean(raw), maxCrumb)}
	}
	all := []string{webtext.Short(webtext.Clean(u.Host), 2*maxCrumb)}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		if part != "" {
			all = append(all, webtext.Short(readable(part), maxCrumb))
		}
	}
	if u.RawQuery != "" {
		all[len(all)-1] += webtext.Short("?"+readable(u.RawQuery), maxCrumb)
	}
	if n := len(all); n > maxCrumbs {
		all = append(append(all[:2:2], "…"), all[n-(maxCrumbs-3):]...)
	}
	return all
}

// readable is a part of a URL without its escapes, if the result can be shown.
func readable(part string) string {
	plain, err := url.PathUnescape(part)
	if err != nil || !utf8.ValidString(plain) || webtext.Clean(plain) != plain {
		return webtext.Clean(part)
	}
	return plain
}
