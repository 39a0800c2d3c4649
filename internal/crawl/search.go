package crawl

import "time"

// SearchRequest is what search is asked.
type SearchRequest struct {
	Query  string `json:"query"`            // as a person types it
	Offset int    `json:"offset,omitempty"` // hits to leave out at the beginning
	Limit  int    `json:"limit"`            // hits wanted, at most
	// Explain asks for the signals of each hit.
	Explain bool `json:"explain,omitempty"`
}

// SearchAnswer is what a whole crawl answers to a SearchRequest.
type SearchAnswer struct {
	Hits []Hit `json:"hits"` // best first
	// Total is how many pages match, other addresses of the same page counted once where that is
	// known; AtLeast says that there may be more.
	Total   int64 `json:"total"`
	AtLeast bool  `json:"at_least,omitempty"`
	// Loosened says how the query was read less strictly than it was typed; a sentence for a
	// person. Empty: it was not.
	Loosened string `json:"loosened,omitempty"`
	// Suggestion is a query that differs by words the crawl knows better, "" when there is none.
	Suggestion string `json:"suggestion,omitempty"`
	// Facets count the pages that match by "site", "lang", "type" and "year", most first.
	Facets map[string][]FacetValue `json:"facets,omitempty"`
	Behind int64                   `json:"behind"` // page changes not yet indexed
	// Missing are the shards that did not answer, when Incomplete; what they hold is left out.
	Missing    []int `json:"missing,omitempty"`
	Incomplete bool  `json:"incomplete,omitempty"`
	// MissingPages is how many pages they are known to hold; -1: not known. 0 when nothing is
	// missing.
	MissingPages int64 `json:"missing_pages,omitempty"`
}

// FacetValue is a value by which an answer can be narrowed.
type FacetValue struct {
	Value string `json:"value"`
	Count int64  `json:"count"` // pages
}

// Hit is one line of `curtsy search`.
type Hit struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Snippet *string `json:"snippet,omitempty"` // absent where nosnippet
	// Marks are the words of Snippet that were asked for: [from, to) in bytes of its UTF-8.
	Marks [][2]int `json:"marks,omitempty"`
	Score float64  `json:"score"` // greater is better; to be compared within one answer only
	// Also are other addresses of what was found: mirrors, pages with the same content, pages that
	// name this one as canonical.
	Also []string `json:"also,omitempty"`
	Lang string   `json:"lang,omitempty"` // ISO 639-1, as declared or detected
	Type string   `json:"type,omitempty"` // media type
	Date Date     `json:"date,omitzero"`  // what the page says of its date, else its Last-Modified
	// FetchedAt is when the page was last asked for.
	FetchedAt time.Time `json:"fetched_at,omitzero"`
	Size      int64     `json:"size,omitempty"` // bytes of the page, content-decoded
	// Signals say why the hit stands where it stands; only where they were asked for.
	Signals []Signal `json:"signals,omitempty"`

	// Text names the words of the page: pages with the same text are one hit. 0: not known.
	Text uint64 `json:"-"`
	// Sim is the SimHash of the main text; 0: not known.
	Sim uint64 `json:"-"`
	// Near is how many of the query's words stand near one another in the main text; see
	// search.Plan.
	Near int `json:"-"`
	// NearAt is which word of the main text that is, about.
	NearAt int `json:"-"`
	// Level is how many of the query's words that say something it has.
	Level int `json:"-"`

	// By these the parts of an answer are collapsed when they are put together.
	SHA256 string `json:"sha256,omitempty"` // hex, of the page's body
	// What the page calls its own address, if that is another one.
	Canonical string `json:"canonical,omitempty"`
	// URL is a mirror's, and the page named here is not stored yet
	AliasOf string `json:"alias_of,omitempty"`
	Depth   int    `json:"depth"`
	// StoredSince is when the page was first fetched with the content it has; the zero time
	// when that is not known: since before it was noted. Of copies on several hosts the one
	// held for longest is shown.
	StoredSince time.Time `json:"held_since,omitzero"`
	Usage       Usage     `json:"usage"`
}

// Date is a day, UTC.
type Date struct{ time.Time }

// MarshalText writes it as 2006-01-02.
func (d Date) MarshalText() ([]byte, error) { return d.UTC().AppendFormat(nil, time.DateOnly), nil }

// UnmarshalText reads 2006-01-02.
func (d *Date) UnmarshalText(b []byte) (err error) {
	d.Time, err = time.Parse(time.DateOnly, string(b))
	return err
}

// Signal is one figure that a hit's place rests on.
type Signal struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`  // what was measured
	Weight float64 `json:"weight"` // what it counts for
	Points float64 `json:"points"` // what it adds to the score
}
