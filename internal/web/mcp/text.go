package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/webtext"
)

// Limits of text from sites, in characters.
const (
	maxTitle   = 160
	maxSnippet = 400
	maxWhy     = 300 // of a reason
)

// line makes text from a site one line of at most so many characters, all of them visible.
func line(s string, most int) string {
	// A title may have megabytes. Only its beginning is read, which is long enough for `most`
	// characters.
	if enough := 64 * most; len(s) > enough {
		for enough > 0 && !utf8.RuneStart(s[enough]) {
			enough--
		}
		s = s[:enough]
	}
	return webtext.Short(strings.Join(strings.Fields(webtext.Clean(visible(s))), " "), most)
}

// lines makes text from a site harmless and keeps its lines.
func lines(s string) string {
	var b strings.Builder
	empty := 1 // no empty line at the beginning
	for l := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)) {
		l = strings.TrimRightFunc(webtext.Clean(visible(l)), unicode.IsSpace)
		if l == "" {
			if empty++; empty > 1 {
				continue
			}
		} else {
			empty = 0
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

// visible removes what no reader sees and a model would still read: tags, variation selectors,
// fillers, and joiners that join nothing. webtext.Clean, which is for pages that people read,
// removes the rest: control characters, those that change the direction of text, and stacks of
// accents.
func visible(s string) string {
	joined := true // by a joiner just before
	return strings.Map(func(r rune) rune {
		switch {
		case r == 0x200c || r == 0x200d:
			if joined {
				return -1
			}
			joined = true
			return r
		case unicode.IsControl(r) && !unicode.IsSpace(r):
			return -1
		case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // signs of Arabic, in Cf
		case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point, unicode.Cf):
			return -1
		}
		joined = unicode.IsSpace(r)
		return r
	}, s)
}

// shown is a wrong value; of a long one its beginning and end.
func shown(s string) string {
	const most = 120
	if n := utf8.RuneCountInString(s); n > 2*most {
		r := []rune(s)
		s = string(r[:most]) + " … " + string(r[n-most:])
	}
	return line(s, 2*most+3)
}

// part returns the characters [from, from+most) of a text, the length of the text, and where to
// continue; 0 means that this was the end.
func part(s string, from, most int) (part string, all, next int) {
	all = utf8.RuneCountInString(s)
	start, end, n := len(s), len(s), 0
	for i := range s {
		if n == from {
			start = i
		}
		if n == from+most {
			end = i
			break
		}
		n++
	}
	if from+most < all {
		next = from + most
	}
	return s[start:end], all, next
}
