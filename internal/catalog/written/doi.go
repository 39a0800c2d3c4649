package written

import (
	"net/url"
	"strings"
)

// doiForms are the beginnings of DOIs, in lower case: the addresses and the URIs of the DOI
// Handbook, and how publishers write them.
var doiForms = []string{
	"https://", "http://", "www.", "dx.doi.org/", "doi.org/", "info:doi/", "urn:doi:", "doi:", "doi ",
}

// DOI returns the address of a DOI in its canonical spelling, or "" if s is not a DOI. Letters are
// in lower case, and characters that an address must not contain are escaped.
func DOI(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "\u200b\ufeff\u00a0")
	if rest, ok := strings.CutPrefix(s, "<"); ok {
		s = strings.TrimSuffix(rest, ">")
	}
	s, address := withoutDOIForm(s)
	if !strings.HasPrefix(s, "10.") {
		return ""
	}
	if address {
		if i := strings.IndexAny(s, "?#"); i >= 0 {
			s = s[:i]
		}
		s = strings.TrimRight(s, "/")
	}
	if strings.Contains(s, "%") {
		if plain, err := url.PathUnescape(s); err == nil {
			s = plain
		}
	}
	s = withoutPunctuation(s)
	prefix, suffix, ok := strings.Cut(s, "/")
	if !ok || suffix == "" || len(prefix) < len("10.1234") || strings.Trim(prefix, "0123456789.") != "" || strings.ContainsAny(s, " \t\r\n") || len(s) > MaxAddress {
		return ""
	}
	return "https://doi.org/" + escaped(strings.ToLower(s), "\"<>`{}^|\\#?%[]")
}

// withoutDOIForm removes all beginnings of a DOI. It also reports whether one of them was that of
// an address.
func withoutDOIForm(s string) (rest string, address bool) {
	for found := true; found; {
		found = false
		for _, form := range doiForms {
			if HasPrefixFold(s, form) {
				s, found = strings.TrimSpace(s[len(form):]), true
				address = address || strings.HasSuffix(form, "/")
			}
		}
	}
	return s, address
}

// withoutPunctuation removes what ends a sentence with a DOI, and closing brackets and quotes that
// nothing in it opens.
func withoutPunctuation(s string) string {
	for s != "" {
		last := s[len(s)-1]
		open := strings.IndexByte(")(][}{><", last)
		switch {
		case strings.IndexByte(".,;:'\"", last) >= 0:
		case open >= 0 && open%2 == 0 && strings.Count(s, string(last)) > strings.Count(s, ")(][}{><"[open+1:open+2]):
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}
