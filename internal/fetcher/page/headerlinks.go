package page

import (
	"net/http"
	"slices"

	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxHeaderLinks bounds the pages that the header of one page leads to.
const maxHeaderLinks = 100

// headerLinks returns the pages that a page's header leads to: by a Refresh, and by Link fields
// (RFC 8288) with relations that are followed in a <link> element. They are relative to the page's
// URL, whatever its <base> is.
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
	for l := range answer.Links(h) {
		if l.Anchor == "" && htmlscan.LeadsToPage(l.Rel, l.Type) {
			add(l.Target)
		}
	}
	return links
}

// headerCanonical returns the URL that a page calls its own by a Link field with rel=canonical
// (RFC 6596). It is empty if there is none, if there are several, or if it is the page's URL.
func headerCanonical(h http.Header, at canon.URL) (own canon.URL) {
	base, several := canon.NewBase(at), false
	for l := range answer.Links(h) {
		if l.Anchor != "" || !slices.Contains(l.Relations(), "canonical") {
			continue
		}
		if u, err := base.Join(l.Target); err == nil && l.Target != "" {
			several = several || own != "" && own != u
			own = u
		}
	}
	if several || own == at {
		return ""
	}
	return own
}

// feedLinks returns the feeds that a page's Link fields announce (RFC 8288), htmlscan.MaxFeeds at
// most.
func feedLinks(h http.Header, at canon.URL) (feeds []canon.URL) {
	base := canon.NewBase(at)
	for l := range answer.Links(h) {
		if len(feeds) >= htmlscan.MaxFeeds {
			break
		}
		if media := answer.MediaType(l.Type); media != "application/rss+xml" && media != "application/atom+xml" {
			continue
		}
		u, err := base.Join(l.Target)
		if err == nil && l.Target != "" && slices.Contains(l.Relations(), "alternate") && !slices.Contains(feeds, u) {
			feeds = append(feeds, u)
		}
	}
	return feeds
}
