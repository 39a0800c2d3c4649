// Package robotstag reads what a page asks of those who index it: the
// Robots-Tag and X-Robots-Tag response headers and <meta name="robots">
// elements (draft-illyes-repext-00 and the practice around it).
//
// A [Set] gathers the header lines and meta elements of one response for one
// product token (the name a crawler goes by in robots.txt) and answers with
// [Directives]:
//
//	s := robotstag.New("ExampleBot")
//	s.AddHeaders(resp.Header)
//	s.AddMeta("robots", "noindex")
//	if s.Directives().At(now).NoIndex { … }
//
// Rules only ever add up. What is said to everybody and what is said to our
// token hold together, over all header lines and all meta elements, and
// nothing takes a rule away: no "all", no empty list for our token. This is
// the opposite of how robots.txt picks one group.
//
// Only meta elements in a page's head count. A crawler that makes one
// tokenizer pass over a page asks a [Head] about each meta it passes;
// [Set.ScanHTML] is that loop for those who have none of their own.
//
// Nothing here returns an error or panics: whatever cannot be read is skipped
// and reported by [Set.Diagnostics]. Nothing reads a clock. Clause numbers in
// comments without a name are those of docs/formats.md.
package robotstag

import "time"

// Directives is what is asked of one agent, everybody's rules and its own
// taken together (formats §4.2). The zero value asks nothing.
type Directives struct {
	// NoIndex: the fetched data stays out of the public index, and leaves it
	// if it is there. Links may still be followed.
	NoIndex bool
	// NoSnippet: stored text is never shown as an excerpt.
	NoSnippet bool
	// MaxSnippet is the most characters that an excerpt may have, more than zero; of several, the
	// smallest is kept. Zero means that no such number was given: a max-snippet of 0 is NoSnippet,
	// which goes before any number.
	MaxSnippet int
	// NoFollow: no link of the page is taken as a lead.
	NoFollow bool
	// NoArchive: no cached copy is shown.
	NoArchive bool
	// NoAI and NoImageAI: the page, or its images, are not meant for generative AI. What follows is
	// for package usage to say (formats §8.20).
	NoAI, NoImageAI bool
	// UnavailableAfter is the instant from which NoIndex holds too; see At.
	// Zero means no such instant was given; of several, the earliest is kept.
	UnavailableAfter time.Time
}

// Merge returns the strictest of both: a rule of either one holds, and the
// earlier of two UnavailableAfter and the smaller of two MaxSnippet are kept.
func (d Directives) Merge(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoSnippet = d.NoSnippet || o.NoSnippet
	d.MaxSnippet = smaller(d.MaxSnippet, o.MaxSnippet)
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoArchive = d.NoArchive || o.NoArchive
	d.NoAI = d.NoAI || o.NoAI
	d.NoImageAI = d.NoImageAI || o.NoImageAI
	d.UnavailableAfter = earlier(d.UnavailableAfter, o.UnavailableAfter)
	return d
}

// At returns the directives in force at now: NoIndex is set from the instant
// UnavailableAfter on (formats §4.1.4).
func (d Directives) At(now time.Time) Directives {
	if !d.UnavailableAfter.IsZero() && !now.Before(d.UnavailableAfter) {
		d.NoIndex = true
	}
	return d
}

// IsZero reports whether nothing at all is asked.
func (d Directives) IsZero() bool { return d == Directives{} }

// smaller returns the smaller of two limits, where zero means none.
func smaller(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// earlier returns the earlier of two instants, where zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
