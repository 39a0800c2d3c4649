package pages

import (
	"bytes"
	"time"
)

// pageDate is the best of the dates that a page gives for itself.
type pageDate struct {
	at   time.Time
	rank dateRank
}

// dateRank orders dates by what they tell; the higher counts, and of equal ones the first.
type dateRank uint8

const (
	noDate    dateRank = iota
	timeInUse          // any <time>: often the page's own, sometimes that of what it speaks of
	published
	modified
)

// dateNames are the metas and itemprops for dates, in lower case.
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

// take notes a date if it tells more than what is known.
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

// parseDate reads a date of ISO 8601, with or without a time of day. Without a zone it is UTC. What
// is before the web or after the year 2199 is some program's way to say that it does not know.
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

// meta takes <meta>.
func (r *walk) meta(attrs []byte) {
	var content []byte
	rank, description, named := noDate, false, false
	for name, val, rest := nextAttr(attrs); name != nil; name, val, rest = nextAttr(rest) {
		switch {
		case is(name, "content"):
			if content == nil {
				content = val
			}
		case is(name, "name"), is(name, "property"), is(name, "itemprop"):
			rank = max(rank, dateNames(val))
			named = named || is(val, "description")
			description = description || named || is(val, "og:description")
		}
	}
	if rank != noDate {
		r.date.take(rank, content)
	}
	if description && (named && !r.named || len(r.description) == 0) {
		// What is cut off here would not fit, however its references are written.
		if val := unescape(cut(content, 8*maxTitle)); len(bytes.TrimSpace(val)) > 0 {
			r.description, r.named = fold(r.description[:0], val), named
		}
	}
}

// time takes <time>. One in a list or in the frame of the page is not about the page itself.
func (r *walk) time(attrs []byte) {
	rank := timeInUse
	var val []byte
	for name, v, rest := nextAttr(attrs); name != nil; name, v, rest = nextAttr(rest) {
		switch {
		case is(name, "datetime"):
			val = v
		case is(name, "pubdate"):
			rank = max(rank, published)
		case is(name, "itemprop"):
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
