package crawl

import "time"

// Paging selects rows of a list and their order.
type Paging struct {
	// Sort is the word of an order of the list (paging.Sorts); empty: the first order.
	Sort       string `json:"sort,omitempty"`
	Descending bool   `json:"descending,omitempty"`
	// After is a cursor, Paged.Next: the rows follow those of the page before. Empty: they begin at
	// the first row.
	After string `json:"after,omitempty"`
	// Offset is how many rows are left out, at most MaxOffset. Longer lists are paged by After.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"` // 0: DefaultLimit; at most MaxLimit
}

// Bounds returns p. All requests that embed a Paging have this method.
func (p Paging) Bounds() Paging { return p }

// The limits of a Paging.
const (
	DefaultLimit = 50
	MaxLimit     = 500
	MaxOffset    = 1000
)

// Paged is one page of a list that may be long.
type Paged[T any] struct {
	Rows    []T   `json:"rows"`
	Total   int64 `json:"total"`   // rows of the whole list
	Matched int64 `json:"matched"` // rows that pass the filters
	// Counts counts rows by a word: hosts and mirrors by state, updates by source, datasets by
	// licence. The rows pass all filters except the one by this word.
	Counts map[string]int64 `json:"counts,omitempty"`
	Next   string           `json:"next,omitempty"` // Paging.After of what follows, if any
}

// HostsQuery asks for some of the hosts.
type HostsQuery struct {
	Paging
	Filter string `json:"filter,omitempty"` // a part of the name, or a pattern with *, ? or [
	State  string `json:"state,omitempty"`  // one of HostStates
	Reason string `json:"reason,omitempty"` // a part of HostRow.Reason
	// Has is a feature of the wanted hosts, one of HostHas.
	Has string `json:"has,omitempty"`
}

// HostStates are the values of HostInfo.State.
var HostStates = []string{"idle", "due", "visiting", "waiting", "held", "paused", "robots-pending"}

// HostHas are the values of HostsQuery.Has.
var HostHas = []string{"robots", "data", "agents", "updates", "sitemaps", "mirror", "usage"}

// HostRow is a row of the list of hosts. It has only what the host record contains; HostInfo has
// more.
type HostRow struct {
	Host        string     `json:"host"`
	State       string     `json:"state"` // one of HostStates
	Reason      string     `json:"reason,omitempty"`
	Queued      int64      `json:"queued"`
	Fetched     int64      `json:"fetched"` // requests
	Stored      int64      `json:"stored"`  // pages
	Failed      int64      `json:"failed"`  // URLs
	DelayS      float64    `json:"delay_s"`
	DelaySource string     `json:"delay_source"`
	NextDue     *time.Time `json:"next_due,omitempty"`
	MirrorOf    string     `json:"mirror_of,omitempty"`
	Shard       int        `json:"shard"`
	Robots      bool       `json:"robots,omitempty"`   // it has a robots.txt
	DataTxt     bool       `json:"data_txt,omitempty"` // a /data.txt
	// Agents: its robots.txt names servers for mobile robots.
	Agents   bool `json:"agents,omitempty"`
	Updates  bool `json:"updates,omitempty"`  // a /rupinfo.txt
	Sitemaps int  `json:"sitemaps,omitempty"` // that are requested, even if they do not exist
	// Usage: its robots.txt states what its pages may be used for.
	Usage bool `json:"usage,omitempty"`
}

// LeftS is the smallest number of seconds that the queue can take, because of the delay. It is 0
// for a postponed or paused host, because nobody knows when its visits continue.
func (r *HostRow) LeftS() float64 {
	if r.State == "held" || r.State == "paused" {
		return 0
	}
	return float64(r.Queued) * r.DelayS
}

// MirrorsQuery asks for some of the origins that name a main host, or were found to be mirrors.
type MirrorsQuery struct {
	Paging
	Filter string `json:"filter,omitempty"` // a part of the origin, or of its main mirror
	State  string `json:"state,omitempty"`  // as MirrorInfo.State
}

// UpdatesQuery asks for some of the sites that report their changes.
type UpdatesQuery struct {
	Paging
	Host   string `json:"host,omitempty"`   // only sites on it
	Filter string `json:"filter,omitempty"` // a part of the site's origin
	Source string `json:"source,omitempty"` // as UpdatesInfo.Source
	State  string `json:"state,omitempty"`  // as UpdatesInfo.State
}

// PagesQuery asks for some of the stored pages.
type PagesQuery struct {
	Paging
	Host string `json:"host,omitempty"` // a part of the host's name
	// Type is one of the words of --types, PageTypeOther, or a media type.
	Type string `json:"type,omitempty"`
	Lang string `json:"lang,omitempty"` // PageLine.Lang, or PageLangNone
	// Title are words. The title and the address together contain all of them.
	Title string `json:"title,omitempty"`
	// Brief leaves out the counts, so that a shard stops as soon as it has enough rows.
	Brief bool `json:"brief,omitempty"`
}

// Values of PagesQuery.Type and Lang for pages that have none of the other values.
const (
	PageTypeOther = "other"
	PageLangNone  = "none"
)

// MaxPagesListed is the maximum number of pages of a shard in a list of pages: the newest ones.
const MaxPagesListed = 100_000

// CountPartial is the name of a count of a list of pages. It counts the shards with more pages than
// MaxPagesListed, whose oldest pages are not in the list.
const CountPartial = "partial"

// PageLine is a row of the list of pages.
type PageLine struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Type  string `json:"type,omitempty"` // the media type
	Lang  string `json:"lang,omitempty"` // ISO 639-1, as the page declares it
	Size  int64  `json:"size"`
	// StoredAt is when the current content was stored.
	StoredAt  time.Time `json:"stored_at"`
	FetchedAt time.Time `json:"fetched_at"` // the last time
	// Fields are the beginning of what site rules gave the page (Fields.Brief), as far as the page
	// may be quoted.
	Fields Fields `json:"fields,omitempty"`
}
