package pagetext

import (
	"bytes"
	"time"

	"github.com/curtsy/curtsy/internal/html"
)

// pageDate is the best date that a page states about itself.
type pageDate struct {
	at   time.Time
	rank dateRank
}

// dateRank orders dates by how much they say about the page. The highest rank wins; among equal
// ranks, the first date.
type dateRank uint8

const (
	noDate    dateRank = iota
	timeInUse          // any <time>: often the date of the page, sometimes that of its subject
	published
	modified
)

// dateNames returns the rank of a meta or itemprop by its name, which may be in any case.
func dateNames(name []byte) dateRank {
	var lower [32]byte
	if len(name) > len(lower) {
		return noDate
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "dc.date.modified", "last-modified", "revised":
		return modified
	case "article:published_time", "datepublished", "dcterms.issued", "dcterms.created", "dcterms.date", "dc.date", "dc.date.issued",
		"dc.date.created", "date", "pubdate", "publish-date", "citation_publication_date":
		return published
	}
	return noDate
}

// take stores a date if its rank is higher than that of the current one.
func (d *pageDate) take(rank dateRank, val []byte) {
	if rank <= d.rank {
		return
	}
	if at, ok := parseDate(val); ok {
		d.at, d.rank = at, rank
	}
}

var dateLayouts = []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05Z0700",
	time.DateTime, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04"}

// parseDate reads a date of ISO 8601, with or without a time of day. Without a zone it is in UTC. A
// date before the web or after the year 2199 is how some programs state that they know none.
func parseDate(val []byte) (time.Time, bool) {
	val = bytes.TrimSpace(val)
	if len(val) < len(time.DateOnly) || len(val) > 40 || val[4] != '-' || val[7] != '-' {
		return time.Time{}, false
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, string(val)); err == nil {
			return t.UTC(), t.Year() >= 1990 && t.Year() < 2200
		}
	}
	return time.Time{}, false
}

// meta reads <meta>.
func (r *walk) meta(attrs []byte) {
	var content []byte
	rank, description, named := noDate, false, false
	for name, val, rest := html.NextAttr(attrs); name != nil; name, val, rest = html.NextAttr(rest) {
		switch {
		case html.Is(name, "content"):
			if content == nil {
				content = val
			}
		case html.Is(name, "name"), html.Is(name, "property"), html.Is(name, "itemprop"):
			rank = max(rank, dateNames(val))
			named = named || html.Is(val, "description")
			description = description || named || html.Is(val, "og:description")
		}
	}
	if rank != noDate {
		r.date.take(rank, content)
	}
	if description && (named && !r.named || len(r.description) == 0) {
		// What this cuts off would not fit, however its references are written.
		if val := html.Value(cut(content, 8*maxTitle)); len(bytes.TrimSpace(val)) > 0 {
			r.description, r.named = fold(r.description[:0], val), named
		}
	}
}

// time reads <time>. In a list or in boilerplate, it is not about the page itself.
func (r *walk) time(attrs []byte) {
	rank := timeInUse
	var val []byte
	for name, v, rest := html.NextAttr(attrs); name != nil; name, v, rest = html.NextAttr(rest) {
		switch {
		case html.Is(name, "datetime"):
			val = v
		case html.Is(name, "pubdate"):
			rank = max(rank, published)
		case html.Is(name, "itemprop"):
			rank = max(rank, dateNames(v))
		}
	}
	if val == nil || rank <= r.date.rank {
		return
	}
	for _, o := range r.open {
		if o.mark != plain {
			return
		}
	}
	r.date.take(rank, val)
}
