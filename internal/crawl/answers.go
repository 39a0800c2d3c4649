package crawl

import (
	"bytes"
	"time"
)

// The types in this file are the rows of answers, and the output of `--json`. Their keys are a
// contract. Durations are in seconds, and times in RFC 3339.

// Status is the accounting of a crawl, or of one shard. At any moment
// Discovered = Queued + InFlight + Stored + Redirected + Refused + Failed.
type Status struct {
	Discovered int64            `json:"discovered"`
	Queued     int64            `json:"queued"`
	InFlight   int64            `json:"in_flight"`
	Stored     int64            `json:"stored"`
	Redirected int64            `json:"redirected"`
	Refused    int64            `json:"refused"`
	Failed     int64            `json:"failed"`
	ByReason   map[string]int64 `json:"by_reason"`
	// ETA is the estimated number of seconds until the queue is empty; nil: unknown.
	ETA *float64 `json:"eta_s"`
	// AtLeast is the same without the URLs that are still to be found. It is set instead of ETA
	// while the queue grows.
	AtLeast float64 `json:"eta_at_least_s,omitempty"`
	// Bottleneck is what the end waits for; nil if nothing is left, or nothing runs.
	Bottleneck *Bottleneck `json:"bottleneck,omitempty"`
	// Outlook is only in the part of a shard.
	Outlook *Outlook `json:"outlook,omitempty"`
	Rate    float64  `json:"rate"` // finished URLs per second in the last minute
	Bytes   int64    `json:"bytes"`
	Hosts   int64    `json:"hosts"`
	// Again is how many of the finished URLs will be fetched again (--recrawl, --every).
	Again     int64      `json:"again,omitempty"`
	NextAgain *time.Time `json:"next_again,omitempty"` // when the first of these is due
	Round     *Round     `json:"round,omitempty"`      // nil: the crawl has no rounds
	State     string     `json:"state"`                // running, paused, done, stopped
	// Trouble is why the crawl is paused although nobody paused it, and what to do.
	Trouble string `json:"trouble,omitempty"`
	// PagesTrouble is why pages cannot be stored at the moment, and what to do. Fetching continues
	// until the queue of pages is full.
	PagesTrouble string `json:"pages_trouble,omitempty"`
	// Postponed are the hosts whose URLs are not due within hold_max.
	Postponed []PostponedHost `json:"held,omitempty"`
	// PausedHosts and PausedURLs are the hosts that the operator has paused, and their queued URLs.
	PausedHosts int64 `json:"paused_hosts,omitempty"`
	PausedURLs  int64 `json:"paused_urls,omitempty"`

	// UsageHosts is how many hosts state in their robots.txt what their pages may be used for. Only
	// `curtsy status` fills it in.
	UsageHosts int64 `json:"usage_hosts,omitempty"`

	Limit  string        `json:"limit,omitempty"`  // the limit that ended the crawl
	Shards []ShardStatus `json:"shards,omitempty"` // for the done check of design §9.1
	// Indexers are the states of all indexers.
	Indexers []IndexerStatus `json:"indexers,omitempty"`
}

// PostponedHost is a host whose queued URLs will not be fetched soon, with the reason.
type PostponedHost struct {
	Host   string    `json:"host"`
	Queued int64     `json:"queued"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

// ShardStatus is the state of one shard. The done check of design §9.1 uses it.
type ShardStatus struct {
	Shard       int    `json:"shard"`
	Epoch       uint64 `json:"epoch"`
	Owner       string `json:"owner"`
	Applied     uint64 `json:"applied"`     // sequence number of the last applied event
	Outstanding int    `json:"outstanding"` // visits without a final outcome
	Outbox      int    `json:"outbox"`
	Aux         int    `json:"errands"`  // auxiliary requests without an answer
	DueSoon     int64  `json:"due_soon"` // URLs due within hold_max
	// Paused: its current spec pauses the crawl.
	Paused bool `json:"paused,omitempty"`
	// Forgotten identifies the Spec.Forgotten that it uses (Spec.ForgottenText).
	Forgotten string `json:"forgotten,omitempty"`
	// Forgetting: not all URLs have been checked against a changed Spec.Forgotten yet.
	Forgetting bool `json:"forgetting,omitempty"`
	// Retrying: not all URLs that are to be tried again are queued yet.
	Retrying bool `json:"retrying,omitempty"`
	// Passing: a changed setting, or a loss of pages, has not been applied to all records yet.
	Passing bool `json:"passing,omitempty"`
}

// HostInfo is one line of `curtsy hosts`.
type HostInfo struct {
	Host   string  `json:"host"`
	State  string  `json:"state"` // one of HostStates
	DelayS float64 `json:"delay_s"`
	// DelaySource is default, configured, operator, crawl-delay, backoff, retry-after or address.
	DelaySource  string       `json:"delay_source"`
	Queued       int64        `json:"queued"`
	Fetched      int64        `json:"fetched"`
	Robots       []RobotsInfo `json:"robots_origins"`
	Robot        *RobotsInfo  `json:"robots"` // of the origin with most URLs
	MirrorOf     *string      `json:"mirror_of"`
	AgentServers []AgentInfo  `json:"agent_servers"`
	Reason       string       `json:"reason,omitempty"` // why it is postponed
	NextDue      *time.Time   `json:"next_due,omitempty"`
	Shard        int          `json:"shard"`
	// Paused: the operator has paused it. OperatorDelayS is the smallest delay that the operator
	// allows.
	Paused         bool    `json:"paused,omitempty"`
	OperatorDelayS float64 `json:"operator_delay_s,omitempty"`

	Sitemaps []SitemapInfo `json:"sitemaps"` // on this host, at most 100
}

// SitemapInfo is what is known of one sitemap.
type SitemapInfo struct {
	URL      string     `json:"url"`
	Origin   string     `json:"origin"` // whose robots.txt names it
	Queued   bool       `json:"queued"` // it is going to be read
	Status   int        `json:"status,omitempty"`
	Form     string     `json:"form,omitempty"` // urlset, index, text, feed
	Entries  int        `json:"entries"`
	Skipped  int        `json:"skipped"`
	ReadAt   *time.Time `json:"read_at"`
	Reason   string     `json:"reason,omitempty"`
	Requests int64      `json:"-"` // requests for it so far, for UpdatesInfo
}

// RobotsInfo is what is known of an origin's robots.txt.
type RobotsInfo struct {
	Origin    string     `json:"origin,omitempty"`
	State     string     `json:"state"` // unknown, parsed, unavailable, unreachable, pending
	FetchedAt *time.Time `json:"fetched_at"`
	Status    int        `json:"status,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	HostHint  string     `json:"host_hint,omitempty"` // the first correct Host line
	// Claim is what the Host lines name: self, or another origin.
	Claim string `json:"claim,omitempty"`
	// DataTxt is the state of /data.txt: read, absent, failed, refused or pending.
	DataTxt string `json:"data_txt,omitempty"`
	// Nested are the data.txt files of directories that it names.
	Nested   []NestedInfo `json:"data_txt_nested,omitempty"`
	MirrorOf string       `json:"mirror_of,omitempty"` // the origin it is a mirror of

	SecurityTxt *SecurityTxt `json:"security_txt,omitempty"` // nil: not requested yet
	LLMSTxt     *LLMSTxt     `json:"llms_txt,omitempty"`     // nil: not requested yet

	// Usage are the lines of the file about the use of the origin's pages, in the order of the
	// file. There are MaxUsageLines at most; UsageMore is the number of the others.
	Usage     []UsageLine `json:"usage,omitempty"`
	UsageMore int         `json:"usage_more,omitempty"`
}

// MaxUsageLines is the maximum length of RobotsInfo.Usage.
const MaxUsageLines = 32

// UsageLine is a line of a robots.txt about the use of pages: Content-Usage, Content-Signal or
// License, or a rule from which a preference is inferred (formats §8).
type UsageLine struct {
	Line int    `json:"line"`
	Text string `json:"text"`           // as written, MaxDetail bytes at most
	Path string `json:"path,omitempty"` // of Content-Usage: the paths that it is about; empty: all
	// Preferences has allow or disallow for each purpose that the line is about. It is empty for a
	// License line, and for a line that cannot be read.
	Preferences map[string]string `json:"says,omitempty"`
	// Inferred: the line is a rule for robots that train models.
	Inferred bool `json:"inferred,omitempty"`
}

// NestedInfo is what is known of the data.txt of a directory.
type NestedInfo struct {
	URL    string `json:"url"`
	State  string `json:"state,omitempty"` // as RobotsInfo.DataTxt; empty: not requested yet
	Reason string `json:"reason,omitempty"`
}

// MirrorInfo is one line of `curtsy mirrors`: an origin that names a main mirror in its robots.txt,
// or was found to be another name of one.
type MirrorInfo struct {
	Host   string `json:"host"`
	Origin string `json:"origin"`
	// Main is the main mirror. Of an unconfirmed mirror it is what the origin names.
	Main  string `json:"main"`
	State string `json:"state"` // main, mirror, unconfirmed
	// Reason is set if State is unconfirmed: pending, target-unreachable, cycle, chain,
	// content-differs, no-evidence or out-of-scope.
	Reason   string    `json:"reason"`
	Detail   string    `json:"detail"`   // details of Reason, for people
	Evidence string    `json:"evidence"` // of mirror: robots.txt, pages 4/5, redirect, www 4/5
	Since    time.Time `json:"since"`
}

// UpdatesInfo is one line of `curtsy updates`: a site that reports its changes. It does not contain
// the key of a registration.
type UpdatesInfo struct {
	Site    string `json:"site"`    // its origin
	Source  string `json:"source"`  // rup, sitemap, feed, indexnow, websub
	Channel string `json:"channel"` // mail, poll, http, none
	// State is one of asking, registering, registered, recovering, polled, refused, unused,
	// unregistering, off, mirror; read, moved, gone; proved; subscribed.
	State        string         `json:"state"`
	Since        *time.Time     `json:"since,omitempty"`
	Latency      string         `json:"latency,omitempty"`        // day, week, month
	MaxQuerySpan string         `json:"max_query_span,omitempty"` // how far back it can report
	LastSequence uint64         `json:"last_sequence"`
	Missing      int64          `json:"missing"`  // reports that are missing now
	Gaps         int64          `json:"gaps"`     // all reports that were ever missing
	Recrawls     int64          `json:"recrawls"` // of the whole site, because reports were lost
	LastReport   *UpdatesReport `json:"last_report"`
	// Next is when it is asked again; nil: it reports by itself.
	Next     *time.Time `json:"next,omitempty"`
	Reports  int64      `json:"reports"`
	Reported int64      `json:"told"` // URLs in them
	// Requests is how many requests the reports cost: for /rupinfo.txt and RUP-CGI, sitemaps,
	// feeds, key files and hubs. Fetches of reported pages are not among them.
	Requests int64 `json:"requests"`
	// Sooner is how many of the reported URLs were queued earlier because of it, or were new.
	Sooner int64 `json:"sooner"`
	// Looked is how many pages were fetched after the report of a change. Confirmed had changed,
	// and Wrong had not.
	Looked    int64 `json:"looked"`
	Confirmed int64 `json:"confirmed"`
	Wrong     int64 `json:"wrong"`
	// Distrusted: so many of its recent reports were wrong that they are ignored.
	Distrusted bool `json:"distrusted,omitempty"`
	// Strange counts reports that were rejected, and URLs of other sites in them.
	Strange int64  `json:"strange"`
	Reason  string `json:"reason,omitempty"`
}

// UpdatesReport is the last report of a site.
type UpdatesReport struct {
	Number  uint64    `json:"number"` // 0: it has no number
	At      time.Time `json:"at"`
	Entries int64     `json:"entries"`
	Refused int64     `json:"refused"`
}

// AgentInfo is one Mobile-agent-server record.
type AgentInfo struct {
	Path   string `json:"path"`
	Target string `json:"target"` // "none" if there is none
	Line   int    `json:"line,omitempty"`
}

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
	// FetchedAt is when the last response came; nil: never.
	FetchedAt *time.Time `json:"fetched_at,omitempty"`
	// Life are the lines of the crawl log about the URL, the latest last. Only a limited part at
	// the end of the log is searched.
	Life           []LogLine `json:"life,omitempty"`
	NoIndex        bool      `json:"noindex"`
	SnippetAllowed *bool     `json:"snippet_allowed"`
	// Quoting has the limits to quotations from a stored page; empty: there are none.
	Quoting []QuoteLimit `json:"quoting,omitempty"`
	// Usage is what a stored page may be used for, as its site stated at the last fetch.
	Usage       *Usage  `json:"usage,omitempty"`
	Status      int     `json:"status,omitempty"`
	Location    string  `json:"location,omitempty"`
	Visit       string  `json:"visit,omitempty"`
	AgentServer *string `json:"agent_server"`
}

// ExplainRobots is what a robots.txt means for one URL.
type ExplainRobots struct {
	State     string     `json:"state"`
	Allowed   bool       `json:"allowed"`
	Line      int        `json:"line"`
	Rule      string     `json:"rule"` // if the file is unreachable: what happened
	FetchedAt *time.Time `json:"fetched_at"`
	// Status is the HTTP status of the last response; 0: there was none.
	Status int `json:"status,omitempty"`
	// Usage is what the URL may be used for according to the file: the strictest statement for each
	// purpose, and the lines that state it. It is nil if there is no file.
	Usage *Usage `json:"usage,omitempty"`
	// Licenses are the lines that name licence documents for the URL, 64 at most.
	Licenses []UsageLine `json:"licenses,omitempty"`
}

// PageInfo is one line of `curtsy pages`.
type PageInfo struct {
	URL            string    `json:"url"`
	Status         int       `json:"status"`
	FetchedAt      time.Time `json:"fetched_at"`
	ContentType    string    `json:"content_type"`
	Title          string    `json:"title"`
	Size           int64     `json:"size"`
	SHA256         string    `json:"sha256"` // hex, of the decoded body
	SnippetAllowed bool      `json:"snippet_allowed"`
	// MaxSnippet is the maximum number of characters of a quotation (max-snippet); 0: no limit.
	MaxSnippet int     `json:"max_snippet,omitempty"`
	Depth      int     `json:"depth"`
	FoundOn    *string `json:"found_on"` // null for a seed
	Truncated  bool    `json:"truncated,omitempty"`
	// Canonical is the address that the page gives for itself, if it is another one.
	Canonical string `json:"canonical,omitempty"`
	// Aliases are the addresses of this page on confirmed mirrors, a hundred at most.
	Aliases []string `json:"aliases,omitempty"`
	// AliasOf is set if URL is such an alias. It is the address of the page that is stored.
	AliasOf string `json:"alias_of,omitempty"`
	// Vary is the Vary header of the response, if the request accepted Markdown as well.
	Vary  string `json:"vary,omitempty"`
	Usage Usage  `json:"usage"`
}

// PageRecord is a page as `curtsy export pages` writes it: the line of `curtsy pages`, and as much
// of the content as the page allows to be shown.
type PageRecord struct {
	PageInfo
	Lang string `json:"lang,omitempty"` // ISO 639-1, as declared or detected
	// Charset is that of the page as it was fetched. The fields below are in UTF-8.
	Charset string `json:"charset,omitempty"`
	Text    string `json:"text,omitempty"` // the visible text
	HTML    string `json:"html,omitempty"` // the page itself, if it was asked for
	// Markdown is the main text, if it was asked for.
	Markdown string `json:"markdown,omitempty"`
	Cut      bool   `json:"cut,omitempty"` // Text, HTML or Markdown is only the beginning
	// Withheld is why there is no content: "nosnippet", "noarchive", "metadata", "alias",
	// "unreadable", or an error.
	Withheld string `json:"withheld,omitempty"`
}

// PageRemoved is a line of an export of changes: the page is no longer a part of the export.
type PageRemoved struct {
	URL       string    `json:"url"`
	FetchedAt time.Time `json:"fetched_at"`
	// Removed is the reason: a Reason, "unavailable_after", PageEmpty, or a key of LeftOut.
	Removed string `json:"removed"`
}

// PageEmpty means that a page has no text any more. The pieces of it in an earlier export are void.
const PageEmpty = "empty"

// PageRow is a row of an export of pages. If Removed is set, the row is a PageRemoved.
type PageRow struct {
	PageRecord
	Removed string `json:"removed,omitempty"`
}

// LinkRow is a line of `curtsy export links`: a link from a page to a URL. In an export of changes,
// a line without To makes all earlier links of the page void. The current links of the page follow,
// if the page is still a part of the export.
type LinkRow struct {
	From    string `json:"from"`
	To      string `json:"to,omitempty"`
	Removed string `json:"removed,omitempty"` // LinksChanged, or a reason of PageRemoved
}

// PageLinks are all links of a page, a row of the export of links in the format "grouped". Removed
// is as in a LinkRow, but a page that was stored again comes with its current links.
type PageLinks struct {
	From    string   `json:"from"`
	To      []string `json:"to,omitempty"`
	Cut     bool     `json:"cut,omitempty"` // there are more links than fit into a message
	Removed string   `json:"removed,omitempty"`
}

// PagesGone is the key in a LeftOut for pages that are no longer a part of an export whose format
// cannot name them.
const PagesGone = "gone"

// LinksChanged means that a page was stored again after ExportQuery.Since.
const LinksChanged = "changed"

// PageChunk is a piece of a page's main text, a row of `curtsy export pages --format chunks`.
type PageChunk struct {
	URL   string `json:"url"`
	N     int    `json:"n"`  // from 1, in the order of the page
	Of    int    `json:"of"` // the number of pieces
	Title string `json:"title,omitempty"`
	// Headings are the headings above it, the outermost first, with 200 bytes of each at most.
	Headings  []string  `json:"headings,omitempty"`
	Text      string    `json:"text,omitempty"` // Markdown
	Lang      string    `json:"lang,omitempty"`
	FetchedAt time.Time `json:"fetched_at"`
	SHA256    string    `json:"sha256,omitempty"` // of the page, as in PageInfo
	Usage     *Usage    `json:"usage,omitempty"`
}

// ExportQuery asks for an export.
type ExportQuery struct {
	What string `json:"what"` // pages or links
	// Format of pages is jsonl (rows with the text; the default), markdown (rows with the main
	// text), source (rows with the HTML), chunks, text or html. Format of links is jsonl or
	// grouped.
	Format string `json:"format"`
	// ChunkSize is the maximum number of characters of a chunk; 0: 2,000.
	ChunkSize int `json:"chunk_size,omitempty"`
	// Since leaves out pages that have not changed since then, by the clock of their indexer. Pages
	// that are gone come as a PageRemoved. Zero: all pages. It is not for the formats text and
	// html.
	Since time.Time `json:"since,omitzero"`
	// For are purposes (usage.Purpose). Only pages for which all of them are allowed are exported,
	// and only their links. Search needs no permission, so unknown is enough for it.
	For []string `json:"for,omitempty"`
	// UnknownToo includes pages of which nothing is known about these purposes.
	UnknownToo bool `json:"unknown_too,omitempty"`
	// All asks for the content even of pages that do not allow it to be shown.
	All bool `json:"all,omitempty"`
}

// LeftOut is the last object of an export, and not a part of it. It counts the pages that came
// without their content or were left out, by the directive of their sites: "nosnippet" or
// "noarchive".
type LeftOut struct {
	Pages map[string]int64 `json:"left_out"`
	// Usage counts the pages that were left out because of ExportQuery.For. The keys are a purpose
	// and a value, such as "ai-train disallow".
	Usage map[string]int64 `json:"usage,omitempty"`
}

// Add adds the counts of another part of the export.
func (l *LeftOut) Add(o LeftOut) {
	for why, n := range o.Pages {
		l.Pages[why] += n
	}
	for why, n := range o.Usage {
		if l.Usage == nil {
			l.Usage = map[string]int64{}
		}
		l.Usage[why] += n
	}
}

// IsLeftOut reports whether an object of an export is a LeftOut.
func IsLeftOut(raw []byte) bool { return bytes.HasPrefix(raw, []byte(`{"left_out":`)) }

// IndexerStatus is the state of an indexer and its shards.
type IndexerStatus struct {
	Instance string `json:"instance,omitempty"` // empty for a stopped crawl
	// DiskFree and DiskTotal are those of the disk with its files, in bytes; 0: not known.
	DiskFree  int64 `json:"disk_free,omitempty"`
	DiskTotal int64 `json:"disk_total,omitempty"`

	Shards  []int `json:"shards"`
	Pages   int64 `json:"pages"`   // stored pages
	Bytes   int64 `json:"bytes"`   // of these pages, decoded
	Pending int64 `json:"pending"` // pages that were received and are not stored yet
	Behind  int64 `json:"behind"`  // changes of pages that are not indexed yet
	// Types counts the indexed pages by type (the words of --types, or other). The counts are a
	// little old. It is empty while search is off.
	Types map[string]int64 `json:"types,omitempty"`
	// Langs counts them by language, as declared or detected. PageLangNone is an unknown language.
	Langs map[string]int64 `json:"langs,omitempty"`
	// WARCFiles and WARCBytes are the size of its archive. They are ten seconds old at most.
	WARCFiles int64 `json:"warc_files,omitempty"`
	WARCBytes int64 `json:"warc_bytes,omitempty"`
	// Forgotten identifies the Spec.Forgotten whose pages are hidden (Spec.ForgottenText).
	// Forgetting: not all of these pages are deleted yet.
	Forgotten  string `json:"forgotten,omitempty"`
	Forgetting bool   `json:"forgetting,omitempty"`
	// These count what takedowns have removed from the archive since the process began: records,
	// and links in the metadata of other pages. ArchiveFiles is how many files were rewritten.
	ArchiveRecords  int64 `json:"archive_records,omitempty"`
	ArchiveOutlinks int64 `json:"archive_outlinks,omitempty"`
	ArchiveFiles    int64 `json:"archive_files,omitempty"`
	// Paused is why nothing is stored at the moment, and what to do: there is too little disk
	// space.
	Paused string `json:"paused,omitempty"`
	// Indexes are the states of the search indexes. It is empty before the first Spec.Reindex.
	Indexes []IndexBuild `json:"indexes,omitempty"`
	// Datasets identifies the state of the stored claims about datasets. While it and Forgotten are
	// the same, the answer about datasets is the same, except for claims that expire.
	Datasets []string `json:"datasets,omitempty"`
}

// IndexBuild is the progress of rebuilding the search index of a shard.
type IndexBuild struct {
	Shard   int    `json:"shard"`
	Mark    string `json:"mark"`              // the Spec.Reindex of the index in use
	Done    int64  `json:"done"`              // pages in the new index
	Left    int64  `json:"left"`              // pages that are not in it yet
	Trouble string `json:"trouble,omitempty"` // why the last attempt failed; there will be another
}
