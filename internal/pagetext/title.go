package pagetext

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Topic returns the specific part of the title, by the headings of the main text: see TrimTitle. It
// ignores a heading that consists of a link, because that is mostly the name of the site.
func (r *Reading) Topic() []byte {
	var heads [maxHeadings][]byte
	n, link, around := 0, 0, 0
	for _, s := range r.Spans {
		if s.Kind == Boilerplate {
			around = s.To
		}
		if s.Kind != Heading || s.From < around {
			continue
		}
		for link < len(r.Links) && r.Links[link].From < s.From {
			link++
		}
		if link < len(r.Links) && r.Links[link].From == s.From && r.Links[link].To >= s.To {
			continue
		}
		if heads[n] = r.Body[s.From:s.To]; n == maxHeadings-1 {
			break
		}
		n++
	}
	from, to := TrimTitle(r.Title, heads[:n]...)
	return r.Title[from:to]
}

// TrimTitle returns where the specific part of a title is, without the name of the site that most
// sites append: title[from:to] of "csv — CSV File Reading — Python 3.11 documentation" is "csv —
// CSV File Reading". It compares the title with the first eight headings, in the order of the page.
// What a page states in both places is its subject. The specific part is one that equals a heading,
// or the most specific part if it occurs in a heading. Without such evidence it is the whole title.
//
// The name of the site may be a heading as well. The part at the beginning therefore counts as the
// most specific, as in "page — site". If all separators are colons, it is the part at the end, as
// in "site: chapter: page".
func TrimTitle(title []byte, heads ...[]byte) (from, to int) {
	heads = heads[:min(len(heads), maxHeadings)]
	var cuts [maxParts]part
	parts := titleParts(title, cuts[:0])
	if len(parts) < 2 {
		return 0, len(title)
	}
	last := colons(title, parts)
	// run returns n parts in a row. k counts from the most specific end of the title.
	run := func(k, n int) part {
		if last {
			k = len(parts) - n - k
		}
		return part{parts[k].from, parts[k+n-1].to}
	}
	for k := range parts {
		for n := len(parts) - k; n > 0; n-- { // longer ones first: a heading may contain a dash
			p := run(k, n)
			for _, h := range heads {
				if sameLetters(title[p.from:p.to], h) {
					return p.from, p.to
				}
			}
		}
		for _, h := range heads {
			if p := run(0, 1); k == 0 && hasWords(h, title[p.from:p.to]) {
				return p.from, p.to
			}
		}
	}
	return 0, len(title)
}

// maxHeadings is how many headings are compared with a title.
const maxHeadings = 8

// maxParts is into how many parts a title is cut at most. The last part is the rest.
const maxParts = 8

// titleParts cuts a title at its separators: a dash, bar, dot, arrow or slash between blanks, and a
// colon before a blank.
func titleParts(title []byte, parts []part) []part {
	from := 0
	for i := 0; i < len(title) && len(parts) < maxParts-1; {
		r, n := utf8.DecodeRune(title[i:])
		end := i + n
		switch {
		case r == ':' && (end == len(title) || title[end] != ' '): // 12:30, std::string
		case r == ':' && i > 0 && title[i-1] != ' ':
			parts = append(parts, part{from, i})
			from = end + 1
		case separates(r) && i > 0 && title[i-1] == ' ' && end < len(title) && title[end] == ' ':
			if i-1 > from {
				parts = append(parts, part{from, i - 1})
			}
			from = end + 1
		}
		i = end
	}
	if from < len(title) {
		parts = append(parts, part{from, len(title)})
	}
	return parts
}

func separates(r rune) bool {
	switch r {
	case ':', '-', '–', '—', '|', '·', '•', '»', '«', '›', '‹', '/', '~', '<', '>', '\u2015', '\uFF5C':
		return true
	}
	return false
}

// colons reports whether all separators of a title are colons.
func colons(title []byte, parts []part) bool {
	for _, p := range parts[:len(parts)-1] {
		if p.to >= len(title) || title[p.to] != ':' {
			return false
		}
	}
	return true
}

// sameLetters compares letters and digits only, and ignores case. Two texts without any are not
// equal.
func sameLetters(a, b []byte) bool {
	some := false
	for {
		var x, y rune
		x, a = letter(a)
		y, b = letter(b)
		if x != y {
			return false
		}
		if x == 0 {
			return some
		}
		some = true
	}
}

// letter returns the next letter or digit of a text, in lower case, and what follows it; 0 at the
// end.
func letter(b []byte) (rune, []byte) {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r), b
		}
	}
	return 0, nil
}

// hasWords reports whether text contains part as consecutive whole words.
func hasWords(text, part []byte) bool {
	if len(part) < 3 || len(part) > len(text) {
		return false
	}
	for i := 0; i+len(part) <= len(text); i++ {
		if bytes.EqualFold(text[i:i+len(part)], part) && atWordEnd(text[:i], true) && atWordEnd(text[i+len(part):], false) {
			return true
		}
	}
	return false
}

// atWordEnd reports whether no word continues at the end of a text (before), or at its beginning.
func atWordEnd(text []byte, before bool) bool {
	r, _ := utf8.DecodeRune(text)
	if before {
		r, _ = utf8.DecodeLastRune(text)
	}
	return len(text) == 0 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
