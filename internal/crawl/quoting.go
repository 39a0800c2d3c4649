package crawl

import (
	"fmt"
	"strconv"
	"time"
)

// QuoteLimit is a limit that a page sets to quotations from it.
type QuoteLimit struct {
	Rule  string    `json:"rule"` // one of those below
	From  QuoteFrom `json:"from"`
	Chars int       `json:"chars,omitempty"` // of RuleMaxSnippet: the maximum length of a quotation
	// Parts is, for RuleDataNoSnippet, the number of parts of the text that must not be quoted. All
	// says that nothing else is left.
	Parts int  `json:"parts,omitempty"`
	All   bool `json:"all,omitempty"`
	// Since is, for RuleUnavailable, the time from which the page is not shown at all.
	Since *time.Time `json:"since,omitempty"`
}

// The rules of a QuoteLimit, as pages write them.
const (
	RuleNoSnippet     = "nosnippet" // max-snippet:0 is the same
	RuleMaxSnippet    = "max-snippet"
	RuleDataNoSnippet = "data-nosnippet"
	RuleUnavailable   = "unavailable_after"
)

// QuoteFrom is where a page states a QuoteLimit.
type QuoteFrom string

// The places of limits. A limit that is in the page and in the header has the place of the page.
const (
	FromHeader QuoteFrom = "header" // Robots-Tag or X-Robots-Tag
	FromMeta   QuoteFrom = "meta"   // <meta name="robots">, or the crawler's own
	FromText   QuoteFrom = "text"   // attributes of elements
)

// Written is the rule as the page writes it.
func (q QuoteLimit) Written() string {
	if q.Rule == RuleMaxSnippet {
		return q.Rule + ":" + strconv.Itoa(q.Chars)
	}
	return q.Rule
}

// Means describes in a few words what may be quoted.
func (q QuoteLimit) Means() string {
	switch {
	case q.Rule == RuleUnavailable && q.Since != nil:
		return "none, because the page must not be shown after " + q.Since.UTC().Format("2006-01-02 15:04:05 MST")
	case q.Rule == RuleNoSnippet || q.All:
		return "not allowed"
	case q.Rule == RuleMaxSnippet:
		return fmt.Sprintf("at most %d characters", q.Chars)
	case q.Parts == 1:
		return "all but one part of the text"
	}
	return fmt.Sprintf("all but %d parts of the text", q.Parts)
}

// Where describes in a few words where the limit is.
func (q QuoteLimit) Where() string {
	switch q.From {
	case FromHeader:
		return "its X-Robots-Tag or Robots-Tag header"
	case FromMeta:
		return "its robots meta"
	}
	return "its text"
}
