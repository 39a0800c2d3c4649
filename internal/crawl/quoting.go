package crawl

import (
	"fmt"
	"strconv"
	"time"
)

// QuoteLimit is something by which a page limits what excerpts show of it.
type QuoteLimit struct {
	Rule  string    `json:"rule"` // one of those below
	From  QuoteFrom `json:"from"`
	Chars int       `json:"chars,omitempty"` // of RuleMaxSnippet: how many an excerpt may have
	// Of RuleDataNoSnippet: how many parts of the text say so, and whether that leaves nothing.
	Parts int  `json:"parts,omitempty"`
	All   bool `json:"all,omitempty"`
	// Of RuleUnavailable: since when the page is not shown at all.
	Since *time.Time `json:"since,omitempty"`
}

// The rules of a QuoteLimit, as pages write them.
const (
	RuleNoSnippet     = "nosnippet" // max-snippet:0 is the same
	RuleMaxSnippet    = "max-snippet"
	RuleDataNoSnippet = "data-nosnippet"
	RuleUnavailable   = "unavailable_after"
)

// QuoteFrom is where a QuoteLimit stands.
type QuoteFrom string

// Where limits stand. What stands in the page and in the header both is the page's.
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

// Means says in a few words what the limit leaves.
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

// Where says in a few words where the limit stands.
func (q QuoteLimit) Where() string {
	switch q.From {
	case FromHeader:
		return "its X-Robots-Tag or Robots-Tag header"
	case FromMeta:
		return "its robots meta"
	}
	return "its text"
}
