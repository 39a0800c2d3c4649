// Package robotstag reads the directives of a page for those who index it: the Robots-Tag and
// X-Robots-Tag response headers and <meta name="robots"> elements (draft-illyes-repext-00 and
// related practice).
//
// A [Set] collects the header lines and meta elements of one response for one product token (the
// name of a crawler in robots.txt) and returns [Directives]:
//
//	s := robotstag.New("ExampleBot")
//	s.AddHeaders(resp.Header)
//	s.AddMeta("robots", "noindex")
//	if s.Directives().At(now).NoIndex { … }
//
// Rules only add up. The rules for everybody and the rules for our token apply together, from all
// header lines and all meta elements, and nothing cancels a rule: no "all", no empty list for our
// token. This is the opposite of robots.txt, where one group is chosen.
//
// Only meta elements in a page's head count. A crawler that makes one tokenizer pass over a page
// uses a [Head] to check each meta element; [Set.ScanHTML] is that loop for other callers.
//
// Nothing here returns an error or panics: input that cannot be parsed is skipped and reported by
// [Set.Diagnostics]. Nothing reads a clock. In comments, "formats" is docs/formats.md.
package robotstag

import "time"

// Directives are the directives for one agent, everybody's rules and its own combined (formats
// §4.2). The zero value has none.
type Directives struct {
	// NoIndex: the page must not be in the public index, and is removed from it. Its links may
	// still be followed.
	NoIndex bool
	// NoSnippet: stored text is never shown as an excerpt.
	NoSnippet bool
	// MaxSnippet is the largest number of characters of an excerpt, more than zero; of several, the
	// smallest is kept. Zero means that no such number was given: a max-snippet of 0 is NoSnippet,
	// which takes precedence.
	MaxSnippet int
	// NoFollow: no link of the page is followed.
	NoFollow bool
	// NoArchive: no cached copy is shown.
	NoArchive bool
	// NoAI and NoImageAI: the page, or its images, are not meant for generative AI. Package usage
	// decides what follows (formats §8.20).
	NoAI, NoImageAI bool
	// UnavailableAfter is the time from which NoIndex applies too; see At. Zero means that no such
	// time was given; of several, the earliest is kept.
	UnavailableAfter time.Time
}

// Merge returns the strictest of both: a rule of either one applies, and the earlier of two
// UnavailableAfter and the smaller of two MaxSnippet are kept.
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

// At returns the directives in force at now: NoIndex is set from the time UnavailableAfter on
// (formats §4.1.4).
func (d Directives) At(now time.Time) Directives {
	if !d.UnavailableAfter.IsZero() && !now.Before(d.UnavailableAfter) {
		d.NoIndex = true
	}
	return d
}

// IsZero reports whether there are no directives.
func (d Directives) IsZero() bool { return d == Directives{} }

// smaller returns the smaller of two limits; zero means no limit.
func smaller(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// earlier returns the earlier of two times; zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
