package crawl

import (
	"fmt"
	"strconv"
	"time"
)

// Explanation is the output of `curtsy explain`.
type Explanation struct {
	URL       string         `json:"url"`
	Canonical string         `json:"canonical"`
	InScope   bool           `json:"in_scope"`
	ScopeRule string         `json:"scope_rule"`
	Robots    *ExplainRobots `json:"robots"`
	Seen      bool           `json:"seen"`
	FoundOn   *string        `json:"found_on"`
	Depth     *int           `json:"depth"`
	// FoundAfter and FoundBy are the earliest and the latest time at which the URL can have been
	// found. They are nil if no sample of the crawl's history limits them.
	FoundAfter *time.Time `json:"found_after,omitempty"`
	FoundBy    *time.Time `json:"found_by,omitempty"`

	State    string     `json:"state"` // unknown, queued, in_flight, stored, …
	Reason   string     `json:"reason"`
	Detail   string     `json:"detail,omitempty"`
	Attempts int        `json:"attempts"`
	NextDue  *time.Time `json:"next_due"`
	// FetchedAt is when the last response came; nil means never.
	FetchedAt *time.Time `json:"fetched_at,omitempty"`
	// Life are the lines of the crawl log about the URL, the latest last. Only a limited part at
	// the end of the log is searched.
	Life           []LogLine `json:"life,omitempty"`
	NoIndex        bool      `json:"noindex"`
	SnippetAllowed *bool     `json:"snippet_allowed"`
	// Rendering is needed, done or failed; empty: the page has text without its scripts, or none is
	// stored. RenderNote is what the rendering left out, or why it failed.
	Rendering  string `json:"rendering,omitempty"`
	RenderNote string `json:"render_note,omitempty"`
	// Quoting has the limits to quotations from a stored page; empty: there are none.
	Quoting []QuoteLimit `json:"quoting,omitempty"`
	// Usage is what a stored page may be used for, as its site stated at the last fetch.
	Usage       *Usage  `json:"usage,omitempty"`
	Status      int     `json:"status,omitempty"`
	Location    string  `json:"location,omitempty"`
	Visit       string  `json:"visit,omitempty"`
	AgentServer *string `json:"agent_server"`
	// Robot is set if the last response was brought by a mobile robot.
	Robot *ExplainRobot `json:"mobile_robot,omitempty"`
}

// ExplainRobot is the mobile robot that brought a page.
type ExplainRobot struct {
	Server string    `json:"server"` // atp://host:port
	At     time.Time `json:"at"`     // when it was sent
	// Verified: enough of its pages were the same as those that the site serves.
	Verified bool `json:"verified"`
	// DroppedUntil: the server is not used until then, because of DropReason, and what it brought
	// is fetched again.
	DroppedUntil *time.Time `json:"dropped_until,omitempty"`
	DropReason   string     `json:"drop_reason,omitempty"`
}

// ExplainRobots is what a robots.txt means for one URL.
type ExplainRobots struct {
	State     string     `json:"state"`
	Allowed   bool       `json:"allowed"`
	Line      int        `json:"line"`
	Rule      string     `json:"rule"` // if the file is unreachable: what happened
	FetchedAt *time.Time `json:"fetched_at"`
	// Status is the HTTP status of the last response; 0 means that there was none.
	Status int `json:"status,omitempty"`
	// Usage is what the URL may be used for according to the file: the strictest statement for each
	// purpose, and the lines that state it. It is nil if there is no file.
	Usage *Usage `json:"usage,omitempty"`
	// Licenses are the lines that name licence documents for the URL, 64 at most.
	Licenses []UsageLine `json:"licenses,omitempty"`
}

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
