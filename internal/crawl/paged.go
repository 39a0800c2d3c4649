package crawl

import "time"

// Paging says which rows of a list are wanted, and in what order.
type Paging struct {
	// By what the rows are ordered: one of the list's own words; empty: its first.
	Sort       string `json:"sort,omitempty"`
	Descending bool   `json:"descending,omitempty"`
	// The rows after that of a cursor, Paged.Next; empty: from the first on.
	After string `json:"after,omitempty"`
	// So many of them are left out; at most MaxOffset, since lists are paged by After.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"` // 0: DefaultLimit; at most MaxLimit
}

// The bounds of a Paging.
const (
	DefaultLimit = 50
	MaxLimit     = 500
	MaxOffset    = 1000
)

// Paged is a part of a list that may be long.
type Paged[T any] struct {
	Rows    []T   `json:"rows"`
	Total   int64 `json:"total"`   // rows of the whole list
	Matched int64 `json:"matched"` // of them, those that the filters let through
	// Of those that all filters but the one by this word let through, how many have each: of hosts
	// and mirrors the state, of updates the source, of datasets the licence.
	Counts map[string]int64 `json:"counts,omitempty"`
	Next   string           `json:"next,omitempty"` // Paging.After of what follows, if any
}

// HostsQuery asks for some of the hosts.
type HostsQuery struct {
	Paging
	Filter string `json:"filter,omitempty"` // a part of the name, or a pattern with *, ? or [
	State  string `json:"state,omitempty"`  // one of HostStates
	Reason string `json:"reason,omitempty"` // a part of HostRow.Reason
	// Only hosts with it: one of HostHas.
	Has string `json:"has,omitempty"`
}

// HostSorts are the words that hosts are ordered by.
var HostSorts = []string{"host", "state", "queued", "fetched", "stored", "failed", "delay", "source", "next_due", "reason", "left"}

// HostStates are the words of HostInfo.State.
var HostStates = []string{"idle", "due", "visiting", "waiting", "held", "paused", "robots-pending"}

// HostHas are the words of HostsQuery.Has.
var HostHas = []string{"robots", "data", "agents", "updates", "sitemaps", "mirror", "usage"}

// HostRow is a line of a long list of hosts: what can be said without reading what they have sent.
// HostInfo says more.
type HostRow struct {
	Host        string     `json:"host"`
	State       string     `json:"state"` // as in HostInfo, like all that has a name from there
	Reason      string     `json:"reason,omitempty"`
	Queued      int64      `json:"queued"`
	Fetched     int64      `json:"fetched"` // requests
	Stored      int64      `json:"stored"`  // pages
	Failed      int64      `json:"failed"`  // URLs, since that is counted
	DelayS      float64    `json:"delay_s"`
	DelaySource string     `json:"delay_source"`
	NextDue     *time.Time `json:"next_due,omitempty"`
	MirrorOf    string     `json:"mirror_of,omitempty"`
	Shard       int        `json:"shard"`
	Robots      bool       `json:"robots,omitempty"`   // it has a robots.txt
	DataTxt     bool       `json:"data_txt,omitempty"` // a /data.txt
	// Agents: its robots.txt names servers for mobile agents.
	Agents   bool `json:"agents,omitempty"`
	Updates  bool `json:"updates,omitempty"`  // a /rupinfo.txt
	Sitemaps int  `json:"sitemaps,omitempty"` // how many are requested, whether they exist or not
	// Usage: its robots.txt says something of the use of its pages.
	Usage bool `json:"usage,omitempty"`
}

// LeftS is how many seconds the queue takes at least, by the delay alone. It is 0 for a host that
// is not visited at the moment: nobody knows when its queue goes on.
func (r *HostRow) LeftS() float64 {
	if r.State == "held" || r.State == "paused" {
		return 0
	}
	return float64(r.Queued) * r.DelayS
}

// MirrorsQuery asks for some of the origins that name a main host, or were found to be mirrors.
type MirrorsQuery struct {
	Paging
	Filter string `json:"filter,omitempty"` // a part of the origin or of its main host's
	State  string `json:"state,omitempty"`  // as MirrorInfo.State
}

// MirrorSorts are the words that mirrors are ordered by.
var MirrorSorts = []string{"origin", "main", "state", "since"}

// UpdatesQuery asks for some of the sites that tell what changed on them.
type UpdatesQuery struct {
	Paging
	Host   string `json:"host,omitempty"`   // only sites on it
	Filter string `json:"filter,omitempty"` // a part of the site's origin
	Source string `json:"source,omitempty"` // as UpdatesInfo.Source
	State  string `json:"state,omitempty"`  // as UpdatesInfo.State
}

// UpdatesSorts are the words that such sites are ordered by.
var UpdatesSorts = []string{"site", "state", "told", "confirmed", "last"}

// PagesQuery asks for some of the stored pages.
type PagesQuery struct {
	Paging
	Host string `json:"host,omitempty"` // a part of the host's name
	// One of the words of --types, PageTypeOther, or a media type.
	Type string `json:"type,omitempty"`
	Lang string `json:"lang,omitempty"` // PageLine.Lang, or PageLangNone
	// Title has words that the title or the address contains, all of them.
	Title string `json:"title,omitempty"`
	// Brief leaves the counts out: the shard stops as soon as it has the rows.
	Brief bool `json:"brief,omitempty"`
}

// PageSorts are the words that pages are ordered by: when their content was stored as it is.
var PageSorts = []string{"stored"}

// Values of PagesQuery.Type and Lang for pages that have none of the others.
const (
	PageTypeOther = "other"
	PageLangNone  = "none"
)

// MaxPagesListed is how many pages of a shard, the newest, a list of pages is made of.
const MaxPagesListed = 100_000

// CountPartial is the count, among those of a list of pages, of the shards that have more pages
// than MaxPagesListed: the list lacks their oldest ones.
const CountPartial = "partial"

// PageLine is a line of a long list of pages.
type PageLine struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Type  string `json:"type,omitempty"` // the media type
	Lang  string `json:"lang,omitempty"` // ISO 639-1, as the page declares it
	Size  int64  `json:"size"`
	// StoredAt is when the content was stored as it is now.
	StoredAt  time.Time `json:"stored_at"`
	FetchedAt time.Time `json:"fetched_at"` // last
}
