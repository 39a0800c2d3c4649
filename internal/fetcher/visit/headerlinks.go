package visit

import (
	"net/http"
	"slices"

	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxHeaderLinks is how many pages the header of one page leads to.
const maxHeaderLinks = 100

// headerLinks are the pages that a page's header leads to: a Refresh, and Link headers (RFC 8288)
// of the relations that are followed in a <link> element. They are relative to the page's address,
// whatever its <base> says.
func headerLinks(h http.Header, at canon.URL) (links []canon.URL) {
	base := canon.NewBase(at)
	add := func(address string) {
		if u, err := base.Join(address); err == nil && address != "" && u != at && len(links) < maxHeaderLinks && !slices.Contains(links, u) {
			links = append(links, u)
		}
	}
	for _, value := range h["Refresh"] {
		if address, ok := htmlscan.Refresh(value); ok {
			add(address)
		}
	}
	eachLink(h, func(l *link) {
		if l.anchor == "" && htmlscan.LeadsToPage(l.rel, l.kind) {
			add(l.target)
		}
	})
	return links
}

// headerCanonical is the address that a page calls its own by a Link header with rel=canonical
// (RFC 6596), if that is one, and another one than it has.
func headerCanonical(h http.Header, at canon.URL) (own canon.URL) {
	base, several := canon.NewBase(at), false
	eachLink(h, func(l *link) {
		if l.anchor != "" || !slices.Contains(l.relations(), "canonical") {
			return
		}
		if u, err := base.Join(l.target); err == nil && l.target != "" {
			several = several || own != "" && own != u
			own = u
		}
	})
	if several || own == at {
		return ""
	}
	return own
}

// eachLink calls do with the links of all Link headers.
func eachLink(h http.Header, do func(*link)) {
	for _, line := range h["Link"] {
		for len(line) > 0 {
			var l link
			if l, line = nextLink(line); l.target != "" || l.rel != "" {
				do(&l)
			}
		}
	}
}
