package pages

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Topic returns the specific part of the title, by the headings of the main text: see TrimTitle. A
// heading that is all link, as the name of the site mostly is, is left out.
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

// TrimTitle returns where in a title its specific part is, without the name of the site that most
// sites put into each: title[from:to] of "csv — CSV File Reading — Python 3.11 documentation" is
// "csv — CSV File Reading". It goes by the headings, in order of the page, of which the first eight
// are looked at: what a page says of itself in both places is what it is about. A part of the
// title that is a heading is taken, or the most specific part if a heading has it in it. Without
// such evidence it is all of the title.
//
// The site's name may be a heading as well. So the part at the beginning is taken to be the most
// specific, as in "page — site", but after colons the one at the end, as in "site: chapter: page".
func TrimTitle(title []byte, heads ...[]byte) (from, to int) {
	heads = heads[:min(len(heads), maxHeadings)]
	var cuts [maxParts]part
	parts := titleParts(title, cuts[:0])
	if len(parts) < 2 {
		return 0, len(title)
	}
	last := colons(title, parts)
	// run is the k-th run of n parts from where titles are most specific.
	run := func(k, n int) part {
		if last {
			k = len(parts) - n - k
		}
		return part{parts[k].from, parts[k+n-1].to}
	}
	for k := range parts {
		for n := len(parts) - k; n > 0; n-- { // longer ones first: a heading may have a dash in it
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

// maxHeadings is how many headings a title is compared with.
const maxHeadings = 8

// maxParts is how many parts of a title are told apart; the rest is one part.
const maxParts = 8

// titleParts cuts a title at what separates its parts: a dash, bar, dot, arrow or slash between
// blanks, and a colon before one.
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

// colons reports whether all parts of a title are separated by colons.
func colons(title []byte, parts []part) bool {
	for _, p := range parts[:len(parts)-1] {
		if p.to >= len(title) || title[p.to] != ':' {
			return false
		}
	}
	return true
}

// sameLetters compares letters and digits only, ignoring case. Two texts without any are not
// the same.
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

// letter cuts the next letter or digit off a text, in lower case; 0 at the end.
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

// hasWords reports whether all of part stands in text as whole words in a row.
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

// atWordEnd reports whether no word goes on at the end of text before, or at its beginning.
func atWordEnd(text []byte, before bool) bool {
	r, _ := utf8.DecodeRune(text)
	if before {
		r, _ = utf8.DecodeLastRune(text)
	}
	return len(text) == 0 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
