package crawl

import (
	"errors"
	"time"
)

// MaxRanked is how many pages of an answer are in the order of all signals. Those behind them are
// in a simpler order.
const MaxRanked = 300

// MaxCursor is the maximum length of a Cursor in bytes.
const MaxCursor = 8 << 10

// ErrCursor is the error of a Cursor that is not from an answer.
var ErrCursor = errors.New("wrong cursor: use the one in the answer before, or leave it out to begin with the first hit")

// ErrLikeWords is the error of a SearchRequest that has words beside Like.
var ErrLikeWords = errors.New("a search for similar pages takes filters, for example site:docs.example.org, and no words: leave the words out")

// NoPageError is the error of a SearchRequest whose Like is no page that may be shown.
type NoPageError struct{ URL string }

// Error says which page it is.
func (e *NoPageError) Error() string {
	return "no page with the URL " + e.URL + " is stored, or it may not be shown"
}

// SearchRequest asks for hits of a query.
type SearchRequest struct {
	Query string `json:"query"` // as a person types it
	// Like is the URL of a stored page: pages that are similar to it are wanted, and Query has only
	// filters and excluded words. Empty: the hits answer Query.
	Like   string `json:"like,omitempty"`
	Offset int    `json:"offset,omitempty"` // how many hits to leave out at the beginning
	Limit  int    `json:"limit"`            // the maximum number of hits
	// Explain asks for the signals of each hit.
	Explain bool `json:"explain,omitempty"`
	// Sort is "date", or the name of a field of the site rules, of type keyword, number, date or
	// boolean: the lowest value is first. With a "-" before it the highest is. Empty: the best hit
	// is first, unless the query has sort:.
	Sort string `json:"sort,omitempty"`
	// Cursor is Next of an earlier answer to the same request: the hits after it are wanted, and
	// Offset is ignored. Empty: those from Offset on.
	Cursor string `json:"cursor,omitempty"`
	// Languages are those that the reader prefers, best first: ISO 639-1. Of the translations of a
	// page, the one in the first of these is the hit.
	Languages []string `json:"languages,omitempty"`
	// PerSite is the maximum number of hits from one host; 0 means that there is no limit.
	PerSite int `json:"per_site,omitempty"`
	// Verbatim asks for the words as they were typed: no other spelling is used instead.
	Verbatim bool `json:"verbatim,omitempty"`
}

// SearchAnswer is the answer of a whole crawl to a SearchRequest.
type SearchAnswer struct {
	Hits []Hit `json:"hits"` // best first
	// Total is how many pages match. Several addresses of the same page are counted once where this
	// is known. AtLeast: there may be more.
	Total   int64 `json:"total"`
	AtLeast bool  `json:"at_least,omitempty"`
	// Loosened describes, for people, how the query was read less strictly than it was typed.
	// Empty: it was not.
	Loosened string `json:"loosened,omitempty"`
	// Notes are sentences, for people, about syntax in the query that has no meaning here: how it
	// was read, and what to type.
	Notes []string `json:"notes,omitempty"`
	// Suggestion is a similar query with words that are more frequent in the crawl; it may be
	// empty.
	Suggestion string `json:"suggestion,omitempty"`
	// Corrected is the query that was answered, if words of the one that was typed were taken for
	// typing errors; Verbatim asks for the query as it was typed. Empty: they were not.
	Corrected string `json:"corrected,omitempty"`
	// Next is the Cursor with which the following hits can be asked for. Empty: there are none.
	Next string `json:"next,omitempty"`
	// Facets count the pages that match by "site", "lang", "type" and "year", and by fields of the
	// site rules that have few values, most first.
	Facets map[string][]FacetValue `json:"facets,omitempty"`
	Behind int64                   `json:"behind"` // page changes not yet indexed
	// Missing are the shards that did not answer, if Incomplete is set. Their pages are left out.
	Missing    []int `json:"missing,omitempty"`
	Incomplete bool  `json:"incomplete,omitempty"`
	// MissingPages is how many pages these shards store; -1: not known. It is 0 if no shard is
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
	// Marks are the words of the query in Snippet: [from, to) in bytes of its UTF-8.
	Marks [][2]int `json:"marks,omitempty"`
	Score float64  `json:"score"` // greater is better; only comparable within one answer
	// Also are other addresses of the hit: mirrors, pages with the same content, and pages that
	// name this one as canonical.
	Also []string `json:"also,omitempty"`
	// Section is the section of the page that answers the query best, if the page has sections that
	// can be linked to, and one of them is better than the rest.
	Section *Section `json:"section,omitempty"`
	// Translations are the same page in other languages.
	Translations []Translation `json:"translations,omitempty"`
	// Pinned says that the search settings put the hit in its place.
	Pinned bool   `json:"pinned,omitempty"`
	Lang   string `json:"lang,omitempty"` // ISO 639-1, as declared or detected
	Type   string `json:"type,omitempty"` // media type
	Date   Date   `json:"date,omitzero"`  // of the page, or else its Last-Modified
	// FetchedAt is when the page was last fetched.
	FetchedAt time.Time `json:"fetched_at,omitzero"`
	Size      int64     `json:"size,omitempty"` // bytes of the page, content-decoded
	// Description and Fields are those that the site rules found; absent where nosnippet.
	Description string `json:"description,omitempty"`
	Fields      Fields `json:"fields,omitempty"`
	// Signals explain the score, if they were asked for.
	Signals []Signal `json:"signals,omitempty"`

	// Text identifies the words of the page: pages with the same text are one hit. 0 means not
	// known.
	Text uint64 `json:"-"`
	// Sim is the SimHash of the main text; 0 means not known.
	Sim uint64 `json:"-"`
	// Near is how many words of the query are near each other in the main text; see search.Plan.
	Near int `json:"-"`
	// NearAt is the approximate number of the first of these words in the main text.
	NearAt int `json:"-"`
	// SectionNth is the number of the heading of the best section, from 1; 0 means none.
	SectionNth uint32 `json:"-"`
	// Level is how many of the query's significant words the page has.
	Level int `json:"-"`

	// The fields below are for collapsing hits when the answers of shards are merged.

	SHA256 string `json:"sha256,omitempty"` // hex, of the page's body
	// Canonical is the address that the page gives for itself, if it is another one.
	Canonical string `json:"canonical,omitempty"`
	// AliasOf is set if URL is that of a mirror, and the page AliasOf is not stored yet.
	AliasOf string `json:"alias_of,omitempty"`
	Depth   int    `json:"depth"`
	// StoredSince is when the page was first fetched with its current content. Zero means that this
	// was not recorded then. Of several copies on different hosts the oldest is shown.
	StoredSince time.Time `json:"held_since,omitzero"`
	Usage       Usage     `json:"usage"`
}

// Section is a part of a page below a heading with an address.
type Section struct {
	Title string `json:"title"` // of the heading, as plain text
	URL   string `json:"url"`   // of the page, with the heading's fragment
}

// Translation is the address of a page in another language.
type Translation struct {
	Lang string `json:"lang"` // ISO 639-1
	URL  string `json:"url"`
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

// Signal is one number that contributes to the score of a hit.
type Signal struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`  // as measured
	Weight float64 `json:"weight"` // its factor
	Points float64 `json:"points"` // its contribution to the score
}

// SuggestRequest asks for what somebody may be about to type, and for pages that he may look for.
type SuggestRequest struct {
	Typed string `json:"typed"` // the query so far; its last word may be incomplete
	Limit int    `json:"limit"` // the maximum number of queries, and of pages
}

// SuggestAnswer is the answer of a whole crawl to a SuggestRequest.
type SuggestAnswer struct {
	// Queries are what was typed with its last word completed; the word of most pages is first.
	Queries []string `json:"queries"`
	// Pages have titles with the words that were typed, best first. No two have the same title.
	Pages []SuggestedPage `json:"pages"`
	// Missing are the shards that did not answer, if Incomplete is set. Their pages are left out.
	Missing    []int `json:"missing,omitempty"`
	Incomplete bool  `json:"incomplete,omitempty"`
}

// SuggestedPage is a page whose title has the words that were typed.
type SuggestedPage struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}
